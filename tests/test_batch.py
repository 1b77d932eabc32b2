"""Batches of corpora: every row once, within the budgets, little padding; padded tensors."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from voi.batch import Batch, collate, make_batches
from voi.tokens import PAD, Corpus, Ragged

NOTHING = np.zeros(0, np.int64)


def lengths(num_rows, seed=0, longest=40):
    return np.random.default_rng(seed).integers(1, longest + 1, num_rows)


def rows_of(batches):
    return sorted(np.concatenate(batches).tolist())


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("max_tokens", [0, 60, 500])
@pytest.mark.parametrize(("num_rows", "batch_size"), [(1, 4), (4, 4), (257, 8), (5, 1)])
def test_every_row_once_within_the_budgets(num_rows, batch_size, max_tokens, shuffled):
    targets, sources = lengths(num_rows), lengths(num_rows, 1)
    rng = np.random.default_rng(0) if shuffled else None
    batches = make_batches(targets, sources, batch_size, max_tokens, rng)
    assert rows_of(batches) == list(range(num_rows))
    for rows in batches:
        assert 1 <= len(rows) <= batch_size
        cost = len(rows) * (targets[rows].max() + 1)  # padding and END counted
        assert not max_tokens or cost <= max_tokens or len(rows) == 1


def test_batches_are_as_full_as_the_budget_allows():
    """Sorted rows are cut greedily: the next row would not have fitted."""
    targets = lengths(300)
    batches = make_batches(targets, targets, 16, 200)
    for rows, following in pairwise(batches):
        cost = (len(rows) + 1) * (targets[following[0]] + 1)
        assert len(rows) == 16 or cost > 200


def test_a_row_over_the_budget_has_a_batch_of_its_own():
    batches = make_batches(np.array([3, 99, 4]), np.array([1, 1, 1]), 8, 20)
    assert sorted(map(sorted, (rows.tolist() for rows in batches))) == [[0, 2], [1]]


def test_the_generator_decides():
    targets = lengths(500)

    def batches(seed):
        made = make_batches(targets, targets, 8, 0, np.random.default_rng(seed))
        return [rows.tolist() for rows in made]

    first, again, other = map(batches, (1, 1, 2))
    assert first == again
    assert first != other
    assert [targets[rows].max() for rows in first] != sorted(targets[rows].max() for rows in first)


def test_little_padding():
    """Shuffled batches of similar length: under 5% padding, where batches at random have 40%."""
    targets = lengths(2000)
    batches = make_batches(targets, targets, 16, 0, np.random.default_rng(0))
    padded = sum(len(rows) * targets[rows].max() for rows in batches)
    assert targets.sum() / padded > 0.95


def test_equal_targets_are_sorted_by_source():
    sources = np.array([9, 1, 8, 2])
    batches = make_batches(np.array([5, 5, 5, 5]), sources, 2)
    assert [sorted(sources[rows].tolist()) for rows in batches] == [[1, 2], [8, 9]]


def test_no_rows():
    assert make_batches(NOTHING, NOTHING, 8) == []
    assert make_batches(NOTHING, NOTHING, 8, 10, np.random.default_rng(0)) == []


def test_collate_text():
    corpus = Corpus(Ragged.of([[5, 6], [7], [4, 4, 4]]), Ragged.of([[8], [9, 9], [5]]))
    batch = collate(corpus, np.array([2, 0]))
    assert batch.target.tolist() == [[4, 4, 4], [5, 6, PAD]]
    assert batch.lengths.tolist() == [3, 2]
    assert batch.source.tolist() == [[5], [8]]
    assert batch.source_lengths.tolist() == [1, 1]
    assert batch.rows.tolist() == [2, 0]
    assert batch.features is None
    assert batch.target.dtype == batch.source.dtype == batch.lengths.dtype == torch.int64
    assert batch.target_mask.tolist() == [[True] * 3, [True, True, False]]
    assert len(batch) == 2


def test_collate_without_source():
    batch = collate(Corpus(Ragged.of([[5, 6], [7]])), np.array([0, 1]))
    assert batch.source is batch.features is batch.source_lengths is None
    assert batch.source_mask.shape == (2, 0)
    assert batch.source_mask.dtype == torch.bool


@pytest.mark.parametrize("image_index", [None, np.array([1, 1, 0])])
def test_collate_regions(image_index):
    """Captions of one image share its row; images without regions are all padding."""
    numbers = np.arange(6, dtype=np.float32).reshape(3, 2)
    boxes = np.arange(12, dtype=np.float32).reshape(3, 4) / 12
    offsets = np.array([0, 1, 3, 3])
    corpus = Corpus(
        Ragged.of([[5], [6, 6], [7]]),
        features=Ragged(numbers, offsets),
        boxes=Ragged(boxes, offsets),
        image_index=image_index,
    )
    batch = collate(corpus, np.array([0, 2]))
    images = [0, 2] if image_index is None else [1, 0]
    found = [range(offsets[i], offsets[i + 1]) for i in images]
    assert batch.source_lengths.tolist() == [len(regions) for regions in found]
    assert batch.features.dtype == batch.boxes.dtype == torch.float32
    for row, regions in enumerate(found):
        assert batch.features[row, : len(regions)].tolist() == numbers[list(regions)].tolist()
        assert batch.boxes[row, : len(regions)].tolist() == boxes[list(regions)].tolist()
        assert not batch.features[row, len(regions) :].any()
        assert batch.source_mask[row].sum() == len(regions)


def test_selected_and_moved_batches():
    batch = Batch(torch.tensor([[4, 5], [6, PAD], [7, 7]]), torch.tensor([2, 1, 2]))
    assert batch.target_mask.sum() == 5  # the mask is kept and must not be taken along
    some = batch.select(torch.tensor([2, 1]))
    assert some.target.tolist() == [[7, 7], [6, PAD]]
    assert some.target_mask.tolist() == [[True, True], [True, False]]
    moved = batch.to("cpu")
    assert torch.equal(moved.target, batch.target)
    assert moved.source is None
