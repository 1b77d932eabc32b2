"""How a target was written, as a figure: its source, and the partial sentence after every step."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from voi.analysis import Trace
from voi.plots.canvas import new_figure, write_figure
from voi.plots.inputs import Boxes, Image, Opacities
from voi.plots.lettering import Ruler, is_right_to_left, lettering_for, visible
from voi.plots.regions import Picture, checked_picture
from voi.plots.theme import Theme, theme_named

MARGIN = 0.25  # all lengths in inches
TEXT_WIDTH, LEAST_TEXT_WIDTH = 6.5, 1.0  # of a line
COMFORTABLE_HEIGHT = 9.0  # letters shrink to stay below it, down to the smallest
POINTS = (11.0, 10.0, 9.0, 8.0, 7.0)
THUMBNAIL = (1.7, 1.3)
WIDE_IMAGE = (4.0, 3.0)
LINE = 1.5  # in ems, from one line to the next
GAP = 0.45  # in ems, between steps

NOTHING = "nothing was written"


def draw_generation(
    trace: Trace,
    path: str | os.PathLike[str],
    *,
    theme: str = "light",
    image: Image | None = None,
    boxes: Boxes | None = None,
    opacities: Opacities | None = None,
) -> None:
    """Draw one line per step, the new token highlighted, as a .png, .svg or .pdf file.

    The source is the trace's text, or an image (pixels or a file) with `boxes [m, 4]`; with
    `opacities [n, m]` the image is drawn at every step, its boxes as opaque as they say. Boxes
    without an image stand on an empty panel. A character that no installed font has is drawn as
    a box in .png and .pdf; an .svg keeps it as text for the viewer's fonts.
    """
    write_figure(
        path, generation_figure, trace, theme=theme, image=image, boxes=boxes, opacities=opacities
    )


def generation_figure(
    trace: Trace,
    *,
    theme: str = "light",
    image: Image | None = None,
    boxes: Boxes | None = None,
    opacities: Opacities | None = None,
) -> Figure:
    """Return the figure that `draw_generation` writes."""
    colours = theme_named(theme)
    picture = checked_picture(image, boxes, opacities, len(trace.order))
    sheet = _sheet(trace, picture)
    figure = new_figure(sheet.width, sheet.height, colours)
    top = MARGIN
    for block in sheet.blocks:
        _draw_block(figure, sheet, block, top, colours)
        top += sheet.height_of(block)
    return figure


@dataclass(frozen=True)
class Block:
    """Lines that belong together, with a label to their left."""

    label: str
    lines: list[list[tuple[str, bool]]]  # words, each with whether it is highlighted
    is_faint: bool = False
    is_mirrored: bool = False  # read from the right
    picture: Picture | None = None
    step: int = 0  # whose opacities the picture takes


@dataclass(frozen=True)
class Sheet:
    """Where everything stands. From left to right: thumbnail, label, text."""

    ruler: Ruler
    blocks: list[Block]
    thumbnail: tuple[float, float]
    gutter: float  # width of the labels
    text_width: float

    @property
    def text_left(self) -> float:
        return MARGIN + self.thumbnail[0] + self.gutter + self.ruler.em

    @property
    def width(self) -> float:
        return self.text_left + self.text_width + MARGIN

    @property
    def height(self) -> float:
        return sum(map(self.height_of, self.blocks)) + 2 * MARGIN - GAP * self.ruler.em

    def height_of(self, block: Block) -> float:
        """Return the height of a block and of the gap below it."""
        text = LINE * self.ruler.em * len(block.lines)
        return max(text, self.size_of_picture(block)[1]) + GAP * self.ruler.em

    def size_of_picture(self, block: Block) -> tuple[float, float]:
        if block.picture is None:
            return 0.0, 0.0
        return self.thumbnail if self.thumbnail[0] else block.picture.size_within(*WIDE_IMAGE)


def _sheet(trace: Trace, picture: Picture | None) -> Sheet:
    """Return the layout with the largest letters that keep the figure comfortably short."""
    lettering = lettering_for(visible(" ".join([*trace.tokens, trace.source or ""])))
    ruler = Ruler(lettering, POINTS[0])
    for points in POINTS:
        sheet = _sheet_of_size(ruler.resized(points), trace, picture)
        if sheet.height <= COMFORTABLE_HEIGHT:
            break
    return sheet


def _sheet_of_size(ruler: Ruler, trace: Trace, picture: Picture | None) -> Sheet:
    blocks = [*_source_blocks(ruler, trace, picture), *_step_blocks(ruler, trace, picture)]
    thumbnail, image_width = (0.0, 0.0), 0.0
    if picture is not None and picture.changes:
        thumbnail = picture.size_within(*THUMBNAIL)
    elif picture is not None:
        image_width = picture.size_within(*WIDE_IMAGE)[0]
    labels = max(ruler.width(block.label) for block in blocks)
    lines = [[word for word, _ in line] for block in blocks for line in block.lines]
    widest = max(map(ruler.width_of_words, lines))
    return Sheet(
        ruler,
        blocks,
        thumbnail=thumbnail,
        gutter=labels + (ruler.em if thumbnail[0] else 0.0),
        text_width=max(widest, image_width, LEAST_TEXT_WIDTH),
    )


def _source_blocks(ruler: Ruler, trace: Trace, picture: Picture | None) -> Iterator[Block]:
    words = (trace.source or "").split()
    if words:
        lines = ruler.lines([(visible(word), False) for word in words], TEXT_WIDTH)
        yield Block("source", lines, is_mirrored=is_right_to_left("".join(words)))
    if picture is not None and not picture.changes:
        yield Block("", [], picture=picture)


def _step_blocks(ruler: Ruler, trace: Trace, picture: Picture | None) -> Iterator[Block]:
    is_mirrored = is_right_to_left("".join(trace.tokens))
    shown = picture if picture is not None and picture.changes else None
    for number, (tokens, new) in enumerate(trace.steps()):
        words = [(visible(token), i == new) for i, token in enumerate(tokens)]
        lines = ruler.lines(words, TEXT_WIDTH)
        yield Block(str(number + 1), lines, is_mirrored=is_mirrored, picture=shown, step=number)
    if not trace.order:
        yield Block("", [[(NOTHING, False)]], is_faint=True)


def _runs(line: Sequence[tuple[str, bool]]) -> list[tuple[list[str], bool]]:
    """Return neighbouring words with the same mark together."""
    groups = groupby(line, key=lambda word: word[1])
    return [([word for word, _ in words], mark) for mark, words in groups]


def _draw_block(figure: Figure, sheet: Sheet, block: Block, top: float, theme: Theme) -> None:
    """Draw the label, the lines and the picture of a block that begins `top` below the edge."""
    ruler = sheet.ruler
    baseline = sheet.height - top - 1.1 * ruler.em
    if block.label:
        right = sheet.text_left - ruler.em
        _write(figure, ruler, (right, baseline), block.label, theme.faint, align="right")
    for line in block.lines:
        _draw_line(figure, sheet, block, line, baseline, theme)
        baseline -= LINE * ruler.em
    if block.picture is not None:
        width, height = sheet.size_of_picture(block)
        left = MARGIN if sheet.thumbnail[0] else sheet.text_left
        place = (left, sheet.height - top - height, width, height)
        block.picture.draw(figure, place, block.step, theme)


def _draw_line(
    figure: Figure,
    sheet: Sheet,
    block: Block,
    line: Sequence[tuple[str, bool]],
    baseline: float,
    theme: Theme,
) -> None:
    ruler, x = sheet.ruler, 0.0
    for words, is_new in _runs(line):
        width = ruler.width_of_words(words)
        left = sheet.text_left + (sheet.text_width - x - width if block.is_mirrored else x)
        colour = theme.faint if block.is_faint else theme.text
        if is_new:
            colour = theme.on_highlight
            corner = (left - 0.1 * ruler.em, baseline - 0.27 * ruler.em)
            _draw_highlight(figure, corner, width + 0.2 * ruler.em, ruler.em, theme)
        _write(figure, ruler, (left, baseline), " ".join(words), colour)
        x += width + ruler.space


def _draw_highlight(
    figure: Figure, corner: tuple[float, float], width: float, em: float, theme: Theme
) -> None:
    box = FancyBboxPatch(corner, width, 1.24 * em, boxstyle=f"round,pad=0,rounding_size={em / 6}")
    box.set(facecolor=theme.highlight, linewidth=0, transform=figure.dpi_scale_trans)
    figure.add_artist(box)


def _write(
    figure: Figure,
    ruler: Ruler,
    place: tuple[float, float],
    text: str,
    colour: str,
    align: str = "left",
) -> None:
    figure.text(
        *place,
        text,
        transform=figure.dpi_scale_trans,
        fontproperties=ruler.font,
        color=colour,
        horizontalalignment=align,
        verticalalignment="baseline",
        parse_math=False,
    )
