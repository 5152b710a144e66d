"""What can go wrong: one class a kind, all of them :class:`Error`. Each message says what, where, and the way out."""

from __future__ import annotations

import re

__all__ = [
    "Error",
    "ModelError",
    "DataError",
    "RequirementsError",
    "FolderError",
    "UsageError",
    "InternalError",
    "ClusterError",
    "MissingPackage",
]


class Error(Exception):
    """Anything that this package raises on purpose."""


class ModelError(Error, ValueError):
    """The model cannot be read, or has an operator that is not supported."""


class DataError(Error, ValueError):
    """The data cannot be read, or do not fit the model."""


class RequirementsError(Error, ValueError):
    """A requirement or property is not well formed, or does not fit the model."""


class FolderError(Error, OSError):
    """The folder of a run is missing, taken, damaged or of another job."""


class UsageError(Error, ValueError):
    """What was asked for does not fit the model, the data or itself."""


class InternalError(Error, RuntimeError):
    """The program is at fault and not its input."""


class ClusterError(Error, RuntimeError):
    """The cluster does not answer, or not as it should."""


class MissingPackage(Error, ImportError):
    """A package is needed for this that is not installed."""


_KINDS: dict[str, type[Error]] = {
    "model": ModelError,
    "data": DataError,
    "requirements": RequirementsError,
    "folder": FolderError,
    "usage": UsageError,
    "internal": InternalError,
}

# Options of the command whose keyword here is not the same word.
_KEYWORDS = {
    "seed-index": "seeds=[...]",
    "fail-on-adversarial": "passed()",
    "no-proofs": "proofs=False",
    "no-noise": "noise=False",
    "criterion": "criteria",
    "resume": "deepconcolic.resume()",
}


def _keyword(match: re.Match[str]) -> str:
    option = match.group(1)
    return _KEYWORDS.get(option, option.replace("-", "_"))


def of_kind(kind: str, message: str) -> Error:
    """The exception of a kind of error. Options of the command are called by their keywords here.

    >>> of_kind("usage", "--adversarial-radius must be a number of at least 0, not -1")
    UsageError('adversarial_radius must be a number of at least 0, not -1')
    """
    # A job is one line that no caller wrote: where in it says nothing.
    message = re.sub(r" at line 1 column \d+$", "", message)
    words = re.sub(r"(?<![\w-])--([a-z][a-z-]*[a-z])", _keyword, message)
    return _KINDS.get(kind, Error)(words)
