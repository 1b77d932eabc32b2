import re

import numpy as np
import pytest

from voi.config import DataConfig
from voi.data.example import Example, Picked, Regions
from voi.data.readers import Fields, read_tsv
from voi.errors import DataError
from voi.tokens.codec import build_codec
from voi.tokens.corpus import Corpus, build_corpus
from voi.tokens.ragged import Ragged

PAIRS = [Example("a b", "x"), Example("c", "y z w v"), Example("a z q", "x y")]


def build(examples, folder=None, train=PAIRS, **limits):
    return build_corpus(examples, build_codec({}, train), DataConfig(**limits), folder)


def image(seed, regions=3, width=5):
    rng = np.random.default_rng(seed)
    return Regions(
        rng.normal(size=(regions, width)).astype(np.float32),
        rng.uniform(size=(regions, 4)).astype(np.float32),
    )


@pytest.mark.parametrize("in_files", [False, True])
def test_rows_are_the_encoded_examples(in_files, tmp_path):
    corpus, report = build(PAIRS, tmp_path if in_files else None)
    codec = build_codec({}, PAIRS)
    assert len(corpus) == 3
    for row, pair in enumerate(PAIRS):
        encoded = codec.encode(pair)
        assert corpus.targets[row].tolist() == encoded.target
        assert corpus.sources[row].tolist() == encoded.source
    assert corpus.origin.tolist() == [0, 1, 2]
    assert corpus.features is corpus.boxes is corpus.image_index is None
    assert (report.longest_source, report.longest_target, report.num_skipped_long) == (3, 4, 0)
    assert corpus.source_lengths.tolist() == [2, 1, 3]
    assert isinstance(corpus.targets.values, np.memmap) == in_files


@pytest.mark.parametrize(
    "sources", [["a b", "c", "a z q"], [image(0), image(1, regions=2), image(2)], [None] * 3]
)
def test_sources_alone_are_those_of_the_examples(sources):
    examples = [Example(source, pair.target) for source, pair in zip(sources, PAIRS, strict=True)]
    codec = build_codec({}, examples)
    corpus, _ = build_corpus(examples, codec, DataConfig())
    alone = Corpus.of_sources(sources, codec, corpus.targets)
    for name in ("sources", "features", "boxes"):
        expected, found = getattr(corpus, name), getattr(alone, name)
        assert (found is None) == (expected is None)
        if expected is not None:
            assert [row.tolist() for row in found] == [row.tolist() for row in expected]


def test_unknown_shares():
    _, report = build(PAIRS, train=PAIRS[:2])
    assert report.unknown_sources == 1 / 6  # q
    assert report.unknown_targets == 0
    _, report = build([Example("a", "x n n y")])
    assert report.unknown_targets == 1 / 2
    assert "50.00% of target tokens unknown" in str(report)


def test_examples_without_source():
    corpus, report = build([Example(None, "x"), Example(None, "y z")])
    assert corpus.sources is None
    assert corpus.source_lengths.tolist() == [0, 0]
    assert report.longest_source == 0


def test_long_examples_are_an_error_that_names_the_first():
    message = (
        r"^1 of 3 examples is longer than data.max_source_length=2: example 2 \(3\), "
        r"2 of 3 examples are longer than data.max_target_length=1: example 1 \(4\); example 2 "
        r"\(2\): leave them out with --set data.long_examples=skip, or allow them with "
        r"--set data.max_source_length=3 --set data.max_target_length=4$"
    )
    with pytest.raises(DataError, match=message):
        build(PAIRS, max_source_length=2, max_target_length=1)


def test_long_lines_of_a_file_are_named(tmp_path):
    lines = ["a\tx", "", *["b\tx y z"] * 7, "c\tx"]
    (tmp_path / "a.tsv").write_text("\n".join(lines))
    pairs = read_tsv(tmp_path / "a.tsv", Fields(), "skip")
    where = rf"7 of 9 .*{tmp_path}/a\.tsv, line 3 \(3\); .*line 7 \(3\); and 2 more"
    with pytest.raises(DataError, match=where):
        build(pairs, max_target_length=2)
    _, report = build(Picked(pairs, [0, 4]), max_target_length=2, long_examples="skip")
    assert re.search(r"1 of 2 examples used.*left out: 1 of 2 .*, line 6 \(3\)$", str(report))


def test_skipped_examples_are_counted_and_the_rest_keep_their_origin(tmp_path):
    corpus, report = build(PAIRS, tmp_path, max_target_length=3, long_examples="skip")
    assert corpus.origin.tolist() == [0, 2]
    assert (report.num_examples, report.num_skipped_long, report.longest_target) == (3, 1, 2)
    assert corpus.sources.lengths.tolist() == [2, 3]
    with pytest.raises(DataError, match="no examples are left"):
        build(PAIRS[1:2], max_target_length=3, long_examples="skip")


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (Example("a", " "), r"example 1 has a target without tokens \(' '\)"),
        (Example("", "x"), r"example 1 has a source without tokens \(''\)"),
        (Example(None, "x"), "example 1 has a source of type NoneType, .* of type str"),
    ],
)
def test_unusable_examples_are_named_and_leave_no_files(bad, message, tmp_path):
    with pytest.raises(DataError, match=message):
        build([PAIRS[0], bad], tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("in_files", [False, True])
def test_captions_of_one_image_share_its_regions(in_files, tmp_path):
    images = [image(0), image(1, regions=2), image(0)]  # the last is an equal copy
    captions = [Example(regions, "x") for regions in images]
    corpus, report = build(captions, tmp_path if in_files else None)
    assert corpus.image_index.tolist() == [0, 1, 0]
    assert len(corpus.features) == len(corpus.boxes) == 2
    np.testing.assert_array_equal(corpus.features[1], images[1].features)
    np.testing.assert_array_equal(corpus.boxes[0], images[0].boxes)
    assert corpus.source_lengths.tolist() == [3, 2, 3]
    assert report.longest_source == 3


def test_images_of_another_kind():
    with pytest.raises(DataError, match=r"example 1 .* width 4"):
        build([Example(image(0), "x"), Example(image(1, width=4), "x")])


def test_an_image_without_regions_is_kept():
    corpus, _ = build([Example(image(0, regions=0), "x")])
    assert corpus.source_lengths.tolist() == [0]


def test_a_corpus_made_by_hand_has_its_rows_as_origin():
    assert Corpus(Ragged.of([[4], [5]])).origin.tolist() == [0, 1]
