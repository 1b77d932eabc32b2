"""What the command line says of a source that is answered like the others, but may be a mistake."""

from voi.data.tasks import has_sources
from voi.errors import VoiError
from voi.model import Model

NO_SOURCE = "no source is given"
UNKNOWN_SOURCE = "no word of the source is in the model's vocabulary"


def reads_sources(model: Model) -> bool:
    """Was a model trained with sources, as far as its data is still there to tell?"""
    try:
        return has_sources(model.task())
    except VoiError:
        return True


def oddity(model: Model, source: str) -> str:
    """Return what is odd about a source text; nothing if it is like those of training."""
    if not source.strip():
        return NO_SOURCE if reads_sources(model) else ""
    return "" if model.codec.knows_any(source) else UNKNOWN_SOURCE
