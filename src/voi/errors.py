"""Errors that a user can mend; the command line prints them as one line and exits with 2."""


class VoiError(Exception):
    """What was expected, what came, and what to do, in one line.

    >>> import voi
    >>> voi.load("nowhere")                                       # doctest: +ELLIPSIS
    Traceback (most recent call last):
    voi.errors.CheckpointError: no model in nowhere: expected a run folder of `voi train` or a ...
    """


class ConfigError(VoiError):
    """Settings, options or arguments that cannot be used, alone or together."""


class DataError(VoiError):
    """A file or example that cannot be used."""


class CheckpointError(VoiError):
    """A run folder or checkpoint that cannot be read or written."""


class MissingExtraError(VoiError):
    """An optional dependency that is not installed; the message names the extra."""
