import gzip
import json

import pytest

from shared_data import shared_data
from talks import iwslt14, talks
from voi.data import prepare as prepare_module
from voi.data.prepare import LAYOUTS, prepare
from voi.data.tasks import TASKS, make_task
from voi.errors import DataError

SGM = '<refset>\n<doc>\n<seg id="1">{}</seg>\n<seg id="2">{}</seg>\n</doc></refset>\n'
TMX = """<?xml version="1.0"?><tmx><body>
<tu><tuv xml:lang="en"><seg>sea</seg></tuv><tuv xml:lang="ro"><seg>mare</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>no Romanian</seg></tuv></tu>
</body></tmx>"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("VOI_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def published(tmp_path):
    """Return a function that writes files of a data set and names their folder."""

    def write(**files):
        folder = tmp_path / "published"
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            data = text.encode() if isinstance(text, str) else text
            path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return folder

    return write


def pairs(out, split):
    sides = ((out / f"{split}.{side}").read_text("utf-8").splitlines() for side in ("src", "tgt"))
    return list(zip(*sides, strict=True))


def test_the_django_corpus(published, tmp_path, monkeypatch):
    assert prepare_module.DJANGO_LINES["valid"] == (16000, 17000)
    bounds = {"train": (0, 16), "valid": (16, 17), "test": (17, None)}
    monkeypatch.setattr(prepare_module, "DJANGO_LINES", bounds)
    lines = [f"call f{i}.g with string 's'." for i in range(19)]
    code = [f"f{i}.g('s')" for i in range(19)]
    folder = published(**{"django/all.anno": "\n".join(lines), "django/all.code": "\n".join(code)})
    made = prepare("django", folder, tmp_path / "data" / "django")
    counts = {name: split.num_pairs for name, split in made.splits.items()}
    assert counts == {"train": 16, "valid": 1, "test": 2}
    assert pairs(tmp_path / "data" / "django", "test")[0] == (
        "call f17.g [ f17 . g ] with string _STR:0_ .",
        "f17 . g ( '_STR:0_' )",
    )
    assert not made.note
    monkeypatch.chdir(tmp_path)
    assert len(make_task("django", {"folder": "data/django"}).split("train")) == 16


def test_django_as_the_paper_published_it(published, tmp_path):
    files = {f"{side}_raw_{p}.txt": f"{side}  {p}\n" for side in ("src", "tgt")
             for p in ("train", "dev", "test")}  # fmt: skip
    prepare("django", published(**files), tmp_path / "out")
    assert pairs(tmp_path / "out", "valid") == [("src dev", "tgt dev")]


@pytest.mark.parametrize("layout", ["org_data", "sumdata"])
def test_gigaword(published, tmp_path, layout):
    sources, titles = "a <unk> b .\n\nc .\n", "<unk> a\nd\nc\n"
    if layout == "org_data":
        names = [f"org_data/{s}.{e}.txt" for s in ("train", "dev", "test") for e in ("src", "tgt")]
    else:
        names = ["train/train.article.txt.gz", "train/train.title.txt.gz",
                 "train/valid.article.filter.txt", "train/valid.title.filter.txt",
                 "Giga/input.txt", "Giga/task1_ref0.txt"]  # fmt: skip
        published(**{"DUC2003/input.txt": "x\n"})
    files = dict(zip(names, [sources, titles] * 3, strict=True))
    made = prepare("gigaword", published(**files), tmp_path / "out")
    assert pairs(tmp_path / "out", "train") == [("a UNK b .", "UNK a"), ("c .", "c")]
    assert pairs(tmp_path / "out", "test")[0] == ("a <unk> b .", "<unk> a")
    assert made.splits["train"].num_dropped == 1
    assert not made.note


@pytest.mark.parametrize("setimes", ["tmx", "moses"])
@pytest.mark.parametrize("news", ["sgm", "plain"])
def test_wmt16(published, tmp_path, setimes, news):
    files = {
        "training/europarl-v8.ro-en.ro": "casă\n\n",
        "training/europarl-v8.ro-en.en": "house\nx\n",
    }
    if setimes == "tmx":
        files["en-ro.tmx.gz"] = TMX
    else:
        files |= {"SETIMES.en-ro.ro": "mare\n", "SETIMES.en-ro.en": "sea\n"}
    for name in ("newsdev2016", "newstest2016"):
        if news == "sgm":
            files[f"dev/{name}-roen-src.ro.sgm"] = SGM.format("unu &amp; doi", "trei")
            files[f"dev/{name}-roen-ref.en.sgm"] = SGM.format("one &amp; two", "three")
        else:
            files |= {f"{name}.ro": "unu & doi\ntrei\n", f"{name}.en": "one & two\nthree\n"}
    made = prepare("wmt16-ro-en", published(**files), tmp_path / "out")
    assert pairs(tmp_path / "out", "train") == [("casă", "house"), ("mare", "sea")]
    assert pairs(tmp_path / "out", "test") == [("unu & doi", "one & two"), ("trei", "three")]
    assert made.splits["train"].num_dropped == 1


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize("sides", [("de", "en"), ("en", "de")])
def test_iwslt14(published, tmp_path, sides, ending):
    """Lines 23 and 46 of the talks are held out; the test sets follow one another."""
    files = {**iwslt14(), "de-en/train.en": "other text\n"}
    folder = published(**{f"{name}{ending}": text for name, text in files.items()})
    out = tmp_path / "out"
    made = prepare(f"iwslt14-{sides[0]}-{sides[1]}", folder, out)
    lines = [tuple(f"{side} line {i}" for side in sides) for i in range(1, 51)]
    assert pairs(out, "train") == lines[:22] + lines[23:45] + lines[46:]
    assert pairs(out, "valid") == [lines[22], lines[45]]
    names = ["TED.dev2010"] + ["TEDX.dev2012"] * 2 + ["TED.tst2010"] * 3
    names += ["TED.tst2011"] * 4 + ["TED.tst2012"] * 5
    numbers = [1, 1, 2, 1, 2, 3, 1, 2, 3, 4, 1, 2, 3, 4, 5]
    assert pairs(out, "test") == [
        tuple(f"{side} {name} & {number}" for side in sides)
        for name, number in zip(names, numbers, strict=True)
    ]
    assert not made.note


def test_pairs_of_iwslt14_are_counted_before_empty_ones_are_dropped(published, tmp_path):
    files = iwslt14()
    name = "de-en/train.tags.de-en.de"
    files[name] = files[name].replace("de line 5\n", "\n").replace("de line 46\n", "\n")
    made = prepare("iwslt14-de-en", published(**files), tmp_path / "out")
    assert pairs(tmp_path / "out", "valid") == [("de line 23", "en line 23")]
    assert [split.num_dropped for split in made.splits.values()] == [1, 1, 0]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("train.tags.de-en.de", talks("de", 49), "49 and 50 lines without those of markup"),
        ("IWSLT14.TEDX.dev2012.de-en.en.xml", '<seg id="1">a</seg>', "2 and 1 <seg> elements"),
        ("IWSLT14.TED.tst2011.de-en.de.xml", "<html>gone</html>", "tst2011.*holds no <seg>"),
        ("IWSLT14.TED.tst2012.de-en.en.xml", None, "lacks IWSLT14.TED.tst2012.de-en.en.xml"),
        ("train.tags.de-en.en", None, "lacks train.tags.de-en.en"),
        ("train.tags.de-en.de", None, "does not hold the files of iwslt14-de-en: expected train"),
    ],
)
def test_incomplete_files_of_iwslt14_are_named(published, tmp_path, name, text, message):
    files = iwslt14()
    if text is None:
        del files[f"de-en/{name}"]
    else:
        files[f"de-en/{name}"] = text
    with pytest.raises(DataError, match=message):
        prepare("iwslt14-de-en", published(**files), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_other_files_are_said_to_be_other_files(published, tmp_path):
    folder = published(**{"train.ro": "a\nb\n", "train.en": "c\nd\n"})
    made = prepare("wmt16-ro-en", folder, tmp_path / "out")
    assert "never report scores on it as wmt16-ro-en" in made.note
    assert json.loads((tmp_path / "out" / "prepared.json").read_text())["note"] == made.note
    assert made.note in make_task("wmt16-ro-en", {"folder": str(tmp_path / "out")}).notes


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.txt": "x"}, "does not hold the files of gigaword: expected train.src.txt"),
        ({"train.src.txt": "a\n"}, "lacks train.tgt.txt"),
        ({"train.src.txt": "a\n", "x/train.src.txt": "a\n"}, "keep one"),
        (
            {f"{s}.{e}.txt": "a\n" * (1 + (e == "tgt")) for s in ("train", "dev", "test")
             for e in ("src", "tgt")},
            "have 1 and 2 lines",
        ),
        (
            {f"{s}.{e}.txt": b"a\n\xff\n" for s in ("train", "dev", "test")
             for e in ("src", "tgt")},
            r"train.src.txt: line 2 is not UTF-8",
        ),
        (
            {f"{s}.{e}.txt": "\n" for s in ("train", "dev", "test") for e in ("src", "tgt")},
            "the train split holds no pairs",
        ),
    ],
)  # fmt: skip
def test_wrong_files_leave_nothing_behind(published, tmp_path, files, message):
    folder = published(**files)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(DataError, match=message):
        prepare("gigaword", folder, tmp_path / "out")
    assert sorted(tmp_path.iterdir()) == before


def test_a_damaged_archive_is_named(published, tmp_path):
    folder = published(**{"europarl-v8.ro-en.ro": "a\n", "europarl-v8.ro-en.en": "a\n"})
    (folder / "en-ro.tmx.gz").write_bytes(gzip.compress(TMX.encode())[:-30])
    for name in ("newsdev2016", "newstest2016"):
        (folder / f"{name}.ro").write_text("a\n")
        (folder / f"{name}.en").write_text("a\n")
    with pytest.raises(DataError, match=r"en-ro.tmx.gz cannot be read"):
        prepare("wmt16-ro-en", folder, tmp_path / "out")


def test_only_folders_of_its_own_are_replaced(published, tmp_path):
    folder = published(**{"train.src": "a\nb\n", "train.tgt": "a\nb\n"})
    with pytest.raises(DataError, match="holds the files to be read"):
        prepare("django", folder, folder)
    with pytest.raises(DataError, match="holds the files to be read"):
        prepare("django", folder, tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(DataError, match="was not made by"):
        prepare("django", folder, tmp_path / "mine")
    prepare("django", folder, tmp_path / "out")
    prepare("django", folder, tmp_path / "out")
    assert pairs(tmp_path / "out", "train") == [("b", "b")]
    assert pairs(tmp_path / "out", "valid") == [("a", "a")]  # held out, not lost


def test_unknown_names():
    with pytest.raises(DataError, match='did you mean "django"'):
        prepare("djagno", shared_data(), shared_data() / "out")


@pytest.mark.parametrize("name", sorted(LAYOUTS.keys() & TASKS.keys()))
def test_missing_folders_name_the_commands(name, tmp_path):
    task = make_task(name, {"folder": str(tmp_path / "none")})
    with pytest.raises(DataError, match=f"voi data prepare {name} --from DIR.*download {name}"):
        task.split("train")


@pytest.mark.parametrize(
    ("name", "parts", "counts"),
    [
        ("django", ("django",), (16000, 1000, 1801)),
        ("gigaword", ("debian_synopsis",), (29605, 1000, 1000)),
        ("wmt16-ro-en", ("ro_en", "rosts"), (11498, 3000, 2758)),
        ("wmt16-ro-en", ("ro_en", "mlqe_pe"), (7000, 1000, 1000)),
        ("wmt16-ro-en", ("ro_en", "wmt16_sample"), (11, 16, 20)),
    ],
)
def test_real_files_have_their_published_counts(name, parts, counts, tmp_path):
    made = prepare(name, shared_data(*parts), tmp_path / "out")
    assert tuple(split.num_pairs for split in made.splits.values()) == counts
    assert all(split.num_dropped == 0 for split in made.splits.values())
    assert bool(made.note) == (name != "django")
