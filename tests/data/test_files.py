import gzip
import json
import sys
from types import ModuleType

import pytest

from shared_data import shared_data
from voi.data.example import Example
from voi.data.files import FileTask
from voi.errors import ConfigError, DataError, MissingExtraError
from voi.tables import from_table

ROMANIAN = {"source_suffix": "ro", "target_suffix": "en"}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("VOI_CACHE", str(tmp_path / "cache"))


def tsv(number, start=0):
    return "".join(f"s {i}\tt {i}\n" for i in range(start, start + number))


def examples(number, start=0):
    return [Example(f"s {i}", f"t {i}") for i in range(start, start + number)]


def test_names_of_splits_may_have_capitals(tmp_path):
    for name in ("Train.src", "Train.tgt", "VALID.src", "VALID.tgt.gz", "Test.TSV"):
        text = b"a\tb\n" if name == "Test.TSV" else name.encode() + b"\n"
        (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    task = FileTask(folder=str(tmp_path))
    assert list(task.split("train")) == [Example("Train.src", "Train.tgt")]
    assert list(task.split("valid")) == [Example("VALID.src", "VALID.tgt.gz")]
    assert list(task.split("test")) == [Example("a", "b")]
    for name in ("train.src", "train.tgt"):
        (tmp_path / name).write_text("x\n")
    with pytest.raises(DataError, match=r"could be the train split: .*/Train, .*/train: keep one"):
        FileTask(folder=str(tmp_path)).split("train")


@pytest.mark.parametrize("gz", ["", ".gz", ".GZ"])
@pytest.mark.parametrize("name", ["tsv", "jsonl", "pair"])
@pytest.mark.parametrize("valid", ["valid", "dev", "validation", "val"])
def test_folders_in_every_format(tmp_path, gz, name, valid):
    def write(file, content):
        data = content.encode()
        (tmp_path / (file + gz)).write_bytes(gzip.compress(data) if gz else data)

    for split, rows in {
        "train": examples(5),
        valid: examples(2, 5),
        "test": examples(3, 7),
    }.items():
        if name == "tsv":
            write(f"{split}.tsv", "".join(f"{row.source}\t{row.target}\n" for row in rows))
        elif name == "jsonl":
            write(
                f"{split}.jsonl",
                "".join(json.dumps({"a": r.source, "b": r.target}) + "\n" for r in rows),
            )
        else:
            write(f"{split}.ro", "\n".join(row.source for row in rows))
            write(f"{split}.en", "\n".join(row.target for row in rows))
    keys = {"source_key": "a", "target_key": "b"} if name == "jsonl" else {}
    task = FileTask(folder=str(tmp_path), source_suffix="ro", target_suffix="en", **keys)
    assert list(task.split("train")) == examples(5)
    assert list(task.split("valid")) == examples(2, 5)
    assert list(task.split("test")) == examples(3, 7)
    assert task.split("train") is task.split("train")
    assert task.notes == ()
    assert task.known_orders(task.split("test")[0]) == ()


def test_single_files_and_settings_as_an_experiment_gives_them(tmp_path):
    for name, content in (("a.tsv", tsv(4)), ("b.txt", tsv(2, 4))):
        (tmp_path / name).write_text(content)
    (tmp_path / "c.src").write_text("s 6\n")
    (tmp_path / "c.tgt").write_text("t 6\n")
    task = from_table(
        FileTask,
        {
            "train": str(tmp_path / "a.tsv"),
            "valid": str(tmp_path / "b.txt"),
            "test": str(tmp_path / "c"),
            "columns": ["source", "target"],
        },
    )
    assert [len(task.split(name)) for name in ("train", "valid", "test")] == [4, 2, 1]
    assert task.split("test")[0] == Example("s 6", "t 6")


@pytest.mark.parametrize(("number", "held"), [(2, 1), (60, 12), (250, 20), (1000, 50)])
def test_without_valid_some_of_train_is_held_out(tmp_path, number, held):
    (tmp_path / "train.tsv").write_text(tsv(number))
    task = FileTask(folder=str(tmp_path))
    train, valid = list(task.split("train")), list(task.split("valid"))
    assert len(valid) == held
    assert sorted(map(repr, train + valid)) == sorted(map(repr, examples(number)))
    (note,) = task.notes
    are = "is" if held == 1 else "are"
    assert note.startswith(f"valid: {held} of {number:,} training examples {are} held out")
    again = FileTask(folder=str(tmp_path))
    assert list(again.split("valid")) == valid


def test_bad_lines_of_all_splits_are_noted(tmp_path):
    (tmp_path / "train.tsv").write_text(tsv(3) + "bad\n" + tsv(2, 3))
    (tmp_path / "test.tsv").write_text(tsv(1) + "\n" + tsv(2, 3))
    with pytest.raises(DataError, match=r"train\.tsv: 1 of 6 lines cannot be used: line 4"):
        FileTask(folder=str(tmp_path)).split("valid")
    task = FileTask(folder=str(tmp_path), bad_lines="skip")
    assert len(task.split("train")) + len(task.split("valid")) == 5
    _, train, test = task.notes
    assert "train.tsv: 1 of 6 lines cannot be used: line 4 has 1 column" in train
    assert "test.tsv: 1 of 4 lines cannot be used: line 2 is blank: left out" in test
    with pytest.raises(ConfigError, match="bad_lines"):
        from_table(FileTask, {"folder": str(tmp_path), "bad_lines": "ignore"}, "data.options.")


def test_one_example_cannot_be_shared(tmp_path):
    (tmp_path / "train.tsv").write_text(tsv(1))
    with pytest.raises(DataError, match=r"too few different pairs.*--valid"):
        FileTask(folder=str(tmp_path)).split("train")


def test_missing_and_doubtful_splits(tmp_path):
    (tmp_path / "train.tsv").write_text(tsv(3))
    task = FileTask(folder=str(tmp_path))
    with pytest.raises(DataError, match=r"no test split in .*: looked for test with \.tsv"):
        task.split("test")
    with pytest.raises(DataError, match=r'unknown split "tests": did you mean "test"'):
        task.split("tests")
    with pytest.raises(DataError, match=r"no test split: give it as data.options.test, or"):
        FileTask(train=str(tmp_path / "train.tsv")).split("test")
    (tmp_path / "train.json").write_text("{}")
    with pytest.raises(DataError, match=r"several files could be the train split: .*: keep one"):
        FileTask(folder=str(tmp_path)).split("train")


def test_files_of_no_known_kind(tmp_path):
    (tmp_path / "train.xyz").write_text("a,b\n")
    with pytest.raises(
        DataError, match=r"train\.xyz is neither .* nor the start of train\.xyz\.src"
    ):
        FileTask(train=str(tmp_path / "train.xyz")).split("train")


def test_comma_separated_files(tmp_path):
    (tmp_path / "train.csv").write_text("a,b\n")
    with pytest.raises(DataError, match=r"comma-separated files are not read: convert it to tabs"):
        FileTask(train=str(tmp_path / "train.csv")).split("train")


@pytest.mark.parametrize("name", ["valid.csv", "dev.CSV", "val.csv.gz", "test.csv"])
def test_comma_separated_splits_of_a_folder_are_not_passed_over(tmp_path, name):
    (tmp_path / "train.tsv").write_text(tsv(30))
    (tmp_path / name).write_text("a,b\n")
    with pytest.raises(DataError, match=rf"{name}: comma-separated files are not read: convert it"):
        _ = FileTask(folder=str(tmp_path)).notes


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["train.csv"], r"train\.csv: comma-separated files are not read"),
        (["train.src"], r"train\.src is one of two parallel files, and train\.tgt is not there"),
        (["train.tgt.gz"], r"train\.tgt\.gz is one of .*, and train\.src is not there"),
        (
            ["train.de", "train.en"],
            r"train\.de, .*train\.en: .* or set data\.options\.source_suffix",
        ),
        (["train.xlsx"], r"train\.xlsx: the train split is read from a file that ends in \.tsv"),
        (
            ["train.py", "trainer.csv"],
            r"there is no train split in .*: looked for train with \.tsv",
        ),
    ],
)
def test_a_folder_whose_files_are_not_read_names_them(tmp_path, names, message):
    for name in names:
        (tmp_path / name).write_text("a\n")
    task = FileTask(folder=str(tmp_path))
    assert not task.has("train")
    with pytest.raises(DataError, match=message):
        task.split("train")


def test_other_files_may_stand_beside_those_that_are_read(tmp_path):
    for name in ("train.tsv", "valid.tsv"):
        (tmp_path / name).write_text(tsv(3))
    for name in ("train.csv", "valid.xlsx", "test.py", "testing.csv"):
        (tmp_path / name).write_text("a,b\n")
    task = FileTask(folder=str(tmp_path))
    assert (task.split_names, task.notes) == (("train", "valid"), ())


def test_a_file_that_is_no_gzip(tmp_path):
    (tmp_path / "train.tsv.gz").write_text(tsv(3))
    with pytest.raises(DataError, match=r"is no gzip file, or a damaged one") as caught:
        FileTask(train=str(tmp_path / "train.tsv.gz")).split("train")
    assert "VOI_CACHE" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give one of .*, got none"),
        ({"train": "a.tsv", "folder": "b"}, r"got data\.options\.train and data\.options\.folder"),
        ({"folder": "b", "test": "c"}, "go with data.options.train, not folder"),
        ({"train": "a.tsv", "holdout": 0.0}, "holdout must be in"),
    ],
)
def test_impossible_options(options, message):
    with pytest.raises(ConfigError, match=message):
        FileTask(**options)


def test_the_hub_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'voi\[hub\]'"):
        FileTask(hub="some/set").split("train")


def test_data_sets_of_the_hub(monkeypatch):
    rows = [{"translation": {"ro": f"s {i}", "en": f"t {i}"}} for i in range(5)]
    asked = []

    def load_dataset(name, config):
        asked.append((name, config))
        if name != "wmt16":
            raise ValueError("no such data set")
        return {"train": rows[:3], "validation": rows[3:]}

    library = ModuleType("datasets")
    library.load_dataset = load_dataset
    monkeypatch.setitem(sys.modules, "datasets", library)
    keys = {"source_key": "translation.ro", "target_key": "translation.en"}
    task = FileTask(hub="wmt16", hub_config="ro-en", **keys)
    assert list(task.split("train")) == examples(3)
    assert list(task.split("valid")) == examples(2, 3)
    assert asked == [("wmt16", "ro-en")]
    with pytest.raises(DataError, match="no test split in wmt16: looked for test"):
        task.split("test")
    with pytest.raises(DataError, match=r"wmt16 \(train\): 3 of 3 lines .*row 0 lacks the key"):
        FileTask(hub="wmt16").split("train")
    with pytest.raises(DataError, match="'other' cannot be loaded: no such data set"):
        FileTask(hub="other").split("train")


@pytest.mark.filterwarnings("ignore")  # those of the library itself
def test_a_data_set_saved_on_disk(tmp_path):
    datasets = pytest.importorskip("datasets")
    rows = [json.dumps({"source": row.source, "target": row.target}) for row in examples(4)]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows))
    files = {"train": str(tmp_path / "rows.jsonl")}
    made = datasets.load_dataset("json", data_files=files, cache_dir=str(tmp_path / "hub"))
    made.save_to_disk(str(tmp_path / "saved"))
    task = FileTask(hub=str(tmp_path / "saved"), holdout=0.25)
    assert (len(task.split("train")), len(task.split("valid"))) == (3, 1)
    assert set(task.split("valid")) <= set(examples(4))


@pytest.mark.parametrize(
    ("parts", "options", "sizes"),  # sizes as listed beside the files
    [
        (["django"], {}, {"train": 16000, "valid": 1000, "test": 1801}),
        (["ro_en", "rosts"], ROMANIAN, {"valid": 3000, "test": 2758}),
        (["ro_en", "mlqe_pe"], ROMANIAN, {"valid": 1000, "test": 1000}),
        (
            ["ro_en", "wmt16_sample"],
            {"source_key": "translation.ro", "target_key": "translation.en"},
            {"train": 11, "valid": 16, "test": 20},
        ),
        (
            ["debian_synopsis"],
            {
                "columns": ("package", "text", "synopsis"),
                "source_key": "text",
                "target_key": "synopsis",
            },
            {"valid": 1000, "test": 1000},
        ),
    ],
)
def test_real_folders(parts, options, sizes):
    task = FileTask(folder=str(shared_data(*parts)), **options)
    assert {name: len(task.split(name)) for name in sizes} == sizes


def test_real_captions_have_no_source(tmp_path):
    with gzip.open(shared_data("coco_captions", "captions_30k.tsv.gz")) as captions:
        some = b"".join(line for line, _ in zip(captions, range(2000), strict=False))
    (tmp_path / "captions.tsv.gz").write_bytes(gzip.compress(some))
    task = FileTask(
        train=str(tmp_path / "captions.tsv.gz"),
        columns=("image", "split", "caption"),
        source_key="",
        target_key="caption",
    )
    assert (len(task.split("train")), len(task.split("valid"))) == (1900, 100)
    assert task.split("train")[0].source is None
