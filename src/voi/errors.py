"""Errors that a user can mend; the command line prints them as one line and exits with 2."""

import errno


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


class DataWarning(UserWarning):
    """What a user should know of data that is used all the same; a command prints it as a line."""


def unwritten(error: Exception) -> str:
    """Return why something could not be written, and what to do about it.

    >>> unwritten(OSError(28, "No space left on device")), unwritten(OSError(13, "Not allowed"))
    ('No space left on device; free space', 'Not allowed; allow writing there')
    """
    reason, number = getattr(error, "strerror", None) or str(error), getattr(error, "errno", None)
    if number in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"{reason}; allow writing there"
    is_full = number in (None, errno.ENOSPC, errno.EDQUOT)
    return f"{reason}; {'free space' if is_full else 'check the path'}"
