import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from voi.tokens import ragged
from voi.tokens.ragged import Ragged, RaggedWriter

rows = st.lists(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=9), max_size=9)


@given(rows)
@settings(deadline=None)
def test_rows_come_back(lists):
    made = Ragged.of(lists)
    assert len(made) == len(lists)
    assert [made[i].tolist() for i in range(len(lists))] == lists
    assert made.lengths.tolist() == [len(row) for row in lists]
    assert made.values.dtype == np.int32


@given(rows)
@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_files_hold_the_same_as_memory(tmp_path, monkeypatch, lists):
    monkeypatch.setattr(ragged, "_BUFFER", 4)  # several writes
    with RaggedWriter("int32", tmp_path, "targets") as writer:
        for row in lists:
            writer.append(row)
        mapped = writer.finish()
    expected = Ragged.of(lists)
    np.testing.assert_array_equal(mapped.values, expected.values)
    np.testing.assert_array_equal(mapped.offsets, expected.offsets)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["targets.int32", "targets.offsets"]


def test_rows_are_views_and_negative_rows_count_from_the_end():
    made = Ragged.of([[1, 2], [3]])
    assert made[1].base is not None
    assert made[-1].tolist() == [3]
    for row in (2, -3):
        with pytest.raises(IndexError, match="of 2"):
            made[row]


def test_matrices_of_different_height():
    matrices = [np.arange(6.0).reshape(2, 3), np.zeros((0, 3)), np.ones((1, 3))]
    with RaggedWriter("float32", width=3) as writer:
        for matrix in matrices:
            writer.append(matrix)
        made = writer.finish()
    assert made.lengths.tolist() == [2, 0, 1]
    for i, matrix in enumerate(matrices):
        np.testing.assert_array_equal(made[i], matrix)


def test_an_interrupted_build_leaves_no_files_and_spares_old_ones(tmp_path):
    with RaggedWriter("int32", tmp_path) as writer:
        writer.append([1, 2, 3])
        writer.finish()

    with RaggedWriter("int32", tmp_path) as writer:
        writer.append([9])  # and no finish
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.int32", "rows.offsets"]
    assert np.fromfile(tmp_path / "rows.int32", np.int32).tolist() == [1, 2, 3]
