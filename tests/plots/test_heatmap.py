"""Heat maps of orders: values, dots and names stand where they belong."""

import numpy as np
import pytest

from drawn import HOSTILE, SIXTY, check_layout, texts
from voi.plots.canvas import drawing, write_figure
from voi.plots.heatmap import attention_figure, permutation_figure

MATRIX = np.arange(16.0).reshape(4, 4)


def permutation(matrix, **options):
    with drawing():
        figure = permutation_figure(matrix, **options)
        check_layout(figure)
    return figure


def test_values_and_order_are_the_ones_given():
    figure = permutation(MATRIX, order=[2, 0, 3, 1], value_name="logits")
    axes = figure.axes[0]
    np.testing.assert_array_equal(axes.images[0].get_array(), MATRIX)
    np.testing.assert_array_equal(
        axes.collections[0].get_offsets(), [[2, 0], [0, 1], [3, 2], [1, 3]]
    )
    words = [text.get_text() for text in texts(figure)]
    assert {"step", "final position", "logits", "1", "4"} <= set(words)


def test_shades_run_from_the_smallest_value_to_the_largest_unless_said():
    shades = permutation(MATRIX).axes[0].images[0]
    assert (shades.norm.vmin, shades.norm.vmax) == (0, 15)
    shades = permutation(MATRIX / 30, value_range=(0.0, 1.0)).axes[0].images[0]
    assert (shades.norm.vmin, shades.norm.vmax) == (0, 1)


def test_step_one_is_at_the_top():
    axes = permutation(MATRIX).axes[0]
    assert axes.yaxis_inverted()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["1", "2", "3", "4"]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("tokens", [SIXTY, HOSTILE, ["one"]], ids=["sixty", "hostile", "one"])
def test_tokens_stand_below_their_columns(tokens, theme):
    n = len(tokens)
    matrix = np.random.default_rng(0).normal(size=(n, n))
    title = "An order that has been inferred for a sentence, and its logits"
    figure = permutation(matrix, tokens=tokens, title=title, value_name="log q", theme=theme)
    labels = figure.axes[0].get_xticklabels()
    assert [label.get_position()[0] for label in labels] == list(range(n))
    assert len({label.get_fontsize() for label in labels}) == 1
    assert labels[0].get_fontsize() >= 5
    for label, token in zip(labels, tokens, strict=True):
        shown = label.get_text()
        assert shown == token or shown.startswith(("\\", '"', "␣")) or shown.endswith("…")


def test_where_there_is_no_room_for_tokens_positions_are_numbered():
    figure = permutation(np.eye(150), tokens=[f"token{i}" for i in range(150)])
    words = [text.get_text() for text in texts(figure)]
    assert "final position" in words
    assert not any(word.startswith("token") for word in words)


def test_entries_that_are_not_finite_are_left_empty():
    matrix = MATRIX.copy()
    matrix[0, 1], matrix[2, 2] = -np.inf, np.nan
    shown = permutation(matrix).axes[0].images[0].get_array()
    np.testing.assert_array_equal(shown.mask, ~np.isfinite(matrix))


@pytest.mark.parametrize(
    ("matrix", "options", "message"),
    [
        (MATRIX, {"order": [0, 1, 1, 2]}, r"permutation of 0\.\.3"),
        (MATRIX, {"tokens": ["a"]}, "one name per column, 4, got 1"),
        (np.full((2, 2), -np.inf), {}, "finite"),
        (np.zeros((0, 0)), {}, "finite"),
    ],
)
def test_wrong_arguments_are_refused(matrix, options, message):
    with pytest.raises(ValueError, match=message):
        permutation_figure(matrix, **options)


@pytest.mark.parametrize(
    ("tokens", "parts"),
    [(["b", "a"], ["x", "y", "z"]), (HOSTILE, SIXTY), (["one"], SIXTY), (SIXTY, ["one"])],
    ids=["small", "hostile", "wide", "tall"],
)
def test_attention_has_a_name_for_each_row_and_column(tokens, parts):
    weights = np.random.default_rng(0).random((len(tokens), len(parts)))
    with drawing():
        figure = attention_figure(weights, tokens=tokens, parts=parts, title="Where it looks")
        check_layout(figure)
    axes = figure.axes[0]
    np.testing.assert_array_equal(axes.images[0].get_array(), weights)
    assert axes.yaxis_inverted()
    for labels, names in ((axes.get_yticklabels(), tokens), (axes.get_xticklabels(), parts)):
        shown = [label.get_text() for label in labels]
        assert len(shown) == len(names)
        for label, name in zip(shown, names, strict=True):
            assert label == name or label.startswith(("\\", '"', "␣")) or label.endswith("…")


def test_attention_needs_a_name_for_each_row_and_column():
    with pytest.raises(ValueError, match="one name per row, 4, got 1"):
        attention_figure(MATRIX, tokens=["a"], parts=list("abcd"))
    with pytest.raises(ValueError, match="one name per column, 4, got 5"):
        attention_figure(MATRIX, tokens=list("abcd"), parts=list("abcde"))


@pytest.mark.parametrize("dtype", [np.float32, np.int64, bool])
def test_any_kind_of_number_is_drawn(tmp_path, dtype):
    matrix = np.eye(3, dtype=dtype)
    write_figure(tmp_path / "p.png", permutation_figure, matrix, order=[0, 1, 2])
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
