"""The paper's data sets of text, as `voi data prepare` writes them."""

from dataclasses import dataclass
from typing import ClassVar

from voi.data.example import TargetKind
from voi.data.files import FileTask


def made_by(task: str) -> str:
    """Return how the files of a data set are made."""
    return (
        f"make it with `voi data prepare {task} --from DIR` "
        f"(`voi data download {task}` fetches the files)"
    )


@dataclass(frozen=True)
class Django(FileTask):
    """Descriptions in English and lines of Python."""

    target_kind: ClassVar[TargetKind] = "code"

    hint: str = made_by("django")


@dataclass(frozen=True)
class Gigaword(FileTask):
    """First sentences of articles and their headlines."""

    target_kind: ClassVar[TargetKind] = "summaries"

    hint: str = made_by("gigaword")


@dataclass(frozen=True)
class Wmt16RoEn(FileTask):
    """Romanian sentences and their English translations."""

    target_kind: ClassVar[TargetKind] = "translation"

    hint: str = made_by("wmt16-ro-en")
