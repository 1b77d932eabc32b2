import statistics
from dataclasses import dataclass

import numpy as np
import pytest

from shared_data import shared_data
from voi.config import DataConfig
from voi.data.example import Example, Regions
from voi.data.files import FileTask
from voi.data_report import check, report_rows
from voi.errors import DataError


@dataclass(frozen=True)
class Pairs:
    splits: dict

    def split(self, name):
        return self.splits[name]

    def known_orders(self, example):
        return ()


TINY = Pairs(
    {
        "train": [Example("a b", "x"), Example("a  b", "x "), Example("c", "x y z")],
        "valid": [Example("c d", "x q q y")],
        "test": [
            Example("a b", "x"),
            Example("a b", "y"),
            Example("c", "x y z"),
            Example("d", "q"),
        ],
    }
)


def test_a_report_counted_by_hand():
    report = check(TINY, DataConfig(max_target_length=2))
    train, valid, test = report.splits
    assert report.vocabulary_size == 4 + 6
    assert [split.num_examples for split in report.splits] == [3, 1, 4]
    assert (train.target.mean, train.target.median, train.target.longest) == (5 / 3, 1, 3)
    assert (train.target.longest_place, train.target.num_over) == ("example 2", 1)
    assert "train: 1 of 3 examples is longer than data.max_target_length=2" in report.notes[0]
    assert train.source.mean == 5 / 3
    assert (train.num_repeated, valid.num_repeated, test.num_repeated) == (1, 0, 0)
    assert (train.seen_in_train, valid.seen_in_train, test.seen_in_train) == (1, 0, 0.5)
    assert (valid.unknown_sources, valid.unknown_targets) == (1 / 2, 1 / 2)
    assert (valid.targets_with_unknown, test.targets_with_unknown) == (1, 1 / 4)
    assert train.unknown_targets == 0
    assert check(TINY, DataConfig(max_target_length=3)).splits[0].target.num_over == 0


@pytest.mark.parametrize("name", ["train", "valid", "test"])
def test_an_empty_split_is_named(name):
    with pytest.raises(DataError, match=f"the {name} split is empty"):
        check(Pairs({**TINY.splits, name: []}), DataConfig())


def test_words_that_can_be_copied_are_known():
    pairs = Pairs({"train": [Example("a", "a")], "valid": [Example("a b", "b c")], "test": []})
    pairs.splits["test"] = pairs.splits["valid"]
    report = check(pairs, DataConfig(tokens={"copy": True}))
    assert report.splits[1].unknown_targets == 1 / 2
    assert report.splits[1].unknown_sources == 1 / 2, "b is only copied"
    assert [split.targets_with_copies for split in report.splits] == [0, 1, 1]
    plain = check(pairs, DataConfig())
    assert [split.targets_with_copies for split in plain.splits] == [0, 0, 0]


def test_splits_without_source_and_with_images():
    rng = np.random.default_rng(0)
    regions = [Regions(rng.normal(size=(m, 2)), rng.uniform(size=(m, 4))) for m in (3, 5)]
    train = [Example(image, "x") for image in regions]
    report = check(Pairs(dict.fromkeys(("train", "valid", "test"), train)), DataConfig())
    assert report.splits[0].source.mean == 4
    assert report.splits[0].num_repeated == 0
    assert report.splits[2].seen_in_train == 1
    plain = [Example(None, "x y")]
    report = check(Pairs(dict.fromkeys(("train", "valid", "test"), plain)), DataConfig())
    assert report.splits[0].source is None
    assert ("source length, mean", "none", "none", "none") in report_rows(report)


def test_shares_are_of_what_training_reads():
    """A pair over the limit is counted as such; its unknown words are not training's."""
    fine, long = [Example("a", "x y")] * 2, [Example("a", " ".join(map(str, range(9))))]
    pairs = Pairs({"train": fine, "valid": fine + long, "test": long})
    report = check(pairs, DataConfig(max_target_length=3, long_examples="skip"))
    assert [split.unknown_targets for split in report.splits] == [0, 0, 1]
    assert [split.targets_with_unknown for split in report.splits] == [0, 0, 1]
    assert [split.target.num_over for split in report.splits] == [0, 1, 1]


@pytest.mark.parametrize("what", ["error", "skip"])
def test_long_test_examples_are_scored_whole(what):
    report = check(TINY, DataConfig(max_target_length=2, long_examples=what))
    train, test = (split.too_long for split in (report.splits[0], report.splits[2]))
    assert test.startswith("1 of 4 examples is longer than data.max_target_length=2: example 2 (3)")
    assert test.endswith(": test examples are scored whole, none is left out")
    assert "scored whole" not in train


def test_files_without_test_split(tmp_path):
    (tmp_path / "train.tsv").write_text("a\tb\nc\td\ne\tf\n")
    report = check(FileTask(folder=str(tmp_path)), DataConfig())
    assert [split.name for split in report.splits] == ["train", "valid"]
    assert "valid: 1 of 3 training examples" in report.notes[0]


def test_rows_are_a_full_table():
    rows = report_rows(check(TINY, DataConfig()))
    assert {len(row) for row in rows} == {4}
    assert rows[0] == ("", "train", "valid", "test")
    assert ("pairs seen in train", "", "0.0%", "50.0%") in rows
    assert ("target length, longest", "3 (example 2)", "4 (example 0)", "3 (example 2)") in rows


def django_pairs(split):
    sides = (
        [" ".join(line.split()) for line in path.read_text("utf-8").split("\n")[:-1]]
        for path in (shared_data("django", f"{split}.{side}") for side in ("src", "tgt"))
    )
    return list(zip(*sides, strict=True))


def _percentile(values, percent):
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


@pytest.fixture(scope="module")
def django():
    """Without training pairs longer than the limits of the preset."""
    short = [
        pair
        for pair in django_pairs("train")
        if len(pair[0].split()) <= 70 and len(pair[1].split()) <= 50
    ]
    pairs = {"train": short, "valid": django_pairs("dev"), "test": django_pairs("test")}
    task = Pairs({name: [Example(*pair) for pair in rows] for name, rows in pairs.items()})
    return pairs, check(task, DataConfig())


def test_django_is_as_the_page_of_the_task_says(django):
    """Whole splits of 16000, 1000 and 1801 pairs; 14.5 % of the test pairs stand in train."""
    train, valid, test = django[1].splits
    sizes = len(django_pairs("train")), valid.num_examples, test.num_examples
    assert sizes == (16000, 1000, 1801)
    assert train.num_examples == 16000 - 61  # within the limits
    assert round(test.seen_in_train, 3) == 0.145
    assert 0.5 < test.targets_with_unknown < 0.55


def test_django_counted_another_way(django):
    pairs, report = django
    words = {word for pair in pairs["train"] for text in pair for word in text.split()}
    assert report.vocabulary_size == len({"<pad>", "<unk>", "<s>", "</s>"}) + len(words)
    for split in report.splits:
        rows = pairs[split.name]
        lengths = sorted(len(target.split()) for _, target in rows)
        assert (split.num_examples, split.target.longest) == (len(rows), lengths[-1])
        assert split.target.mean == pytest.approx(statistics.mean(lengths))
        assert split.target.median == statistics.median(lengths)
        assert split.target.p95 == pytest.approx(_percentile(lengths, 95))
        sources = [len(source.split()) for source, _ in rows]
        assert split.source.mean == pytest.approx(statistics.mean(sources))
        unknown = [[word not in words for word in target.split()] for _, target in rows]
        assert split.targets_with_unknown == sum(map(any, unknown)) / len(rows)
        assert split.unknown_targets == sum(map(sum, unknown)) / sum(map(len, unknown))
        assert split.num_repeated == len(rows) - len(set(rows))
        assert split.seen_in_train == sum(map(set(pairs["train"]).__contains__, rows)) / len(rows)
