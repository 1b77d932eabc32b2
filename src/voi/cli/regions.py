"""`voi data regions`: images -> regions with features, in one file."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from voi.cli.app import Device
from voi.cli.console import plain_console
from voi.cli.data import data_app
from voi.cli.drawing import say
from voi.vision.extract import BACKBONES, Extraction, extract, make_backbone
from voi.vision.joining import join_stores

_SHOWN_BROKEN = 20


@data_app.command()
def regions(
    images: Annotated[Path, typer.Argument(help="A folder of images, searched to any depth.")],
    out: Annotated[Path, typer.Option(help="The file to write.")],
    boxes: Annotated[
        Path | None,
        typer.Option(help="Boxes that are given: COCO annotations (.json) or lines (.jsonl)."),
    ] = None,
    backbone: Annotated[
        str,
        typer.Option(help=f"{', '.join(BACKBONES)}; default pooled with --boxes, else the last."),
    ] = "",
    max_regions: Annotated[int, typer.Option(min=1, help="Most regions of one image.")] = 36,
    weights: Annotated[
        Path | None, typer.Option(help="Of faster-rcnn; default: torchvision's cache.")
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Images at once.")] = 8,
    device: Device = "cpu",
    part: Annotated[
        str, typer.Option(help="I/N: every N-th image from the I-th on; `voi data join` follows.")
    ] = "1/1",
) -> None:
    """Find the regions of images and describe each by a vector; go on if interrupted before.

    Example: voi data regions val2017 --out val2017.regions

    With given boxes: voi data regions images --boxes instances.json --out small.regions

    On two GPUs: voi data regions val2017 --part 1/2 --device cuda:0 --out regions.1
    """
    made = make_backbone(backbone or ("pooled" if boxes else "faster-rcnn"), weights, device)
    errors = plain_console(stderr=True)
    with Progress(console=errors, disable=not errors.is_terminal) as bar:
        task = bar.add_task("regions", total=None)
        done = extract(
            images,
            out,
            made,
            boxes,
            max_regions=max_regions,
            batch_size=batch_size,
            part=part,
            told=lambda _, done, total: bar.update(task, completed=done, total=total),
        )
    _print(done, errors, out)


@data_app.command()
def join(
    parts: Annotated[list[Path], typer.Argument(help="Files of `voi data regions --part`.")],
    out: Annotated[Path, typer.Option(help="The file to write.")],
) -> None:
    """Join files of regions that were made in parts, with the same settings.

    Example: voi data join regions.1 regions.2 --out regions
    """
    store = join_stores(parts, out)
    text = f"wrote {out}: {len(store):,} images, {len(store.boxes):,} regions"
    say(text, plain_console())


def _print(done: Extraction, errors: Console, out: Path) -> None:
    """Print what was made; broken images are named on standard error."""
    for name, reason in list(done.broken.items())[:_SHOWN_BROKEN]:
        say(f"left out {name}: {reason}", errors)
    if len(done.broken) > _SHOWN_BROKEN:
        errors.print(f"left out {len(done.broken) - _SHOWN_BROKEN} more broken images")
    store = done.store
    size = f"{len(store):,} images, {len(store.boxes):,} regions of {store.features.shape[1]}"
    parts = [f"wrote {out}: {size} numbers each ({store.settings['backbone']})"]
    if done.num_resumed:
        parts.append(f"{done.num_resumed:,} images were done before")
    if done.num_without_boxes:
        parts.append(f"{done.num_without_boxes:,} images have no boxes: the whole is their region")
    if done.broken:
        parts.append(f"{len(done.broken):,} images cannot be read and are left out")
    say("; ".join(parts), plain_console())
