"""Concolic testing for trained neural networks.

``load`` a model, measure what data cover of it (``coverage``), make the tests that are missing (``run``), decide
properties (``verify``), and have everything judged again (``check``, ``replay``).

>>> import deepconcolic as dc
>>> dc.coverage(model, x, y, criteria=["nc"])["nc"].covered
1812
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._native import __version__
from .errors import (
    ClusterError,
    DataError,
    Error,
    FolderError,
    InternalError,
    MissingPackage,
    ModelError,
    RequirementsError,
    UsageError,
)

if TYPE_CHECKING:
    from . import errors, events
    from .folders import Answer, Check, Replay, check, merge, replay, verify
    from .measurement import Coverage, CriterionCoverage, coverage
    from .model import Layer, Model, load
    from .plots import Plot
    from .result import Run, Suite, open_run
    from .session import Session, resume, run

# Where a name is, for the first who asks for it: the command and pytest import the package and need none of numpy.
_PLACES = {
    "folders": ("Answer", "Check", "Replay", "check", "merge", "replay", "verify"),
    "measurement": ("Coverage", "CriterionCoverage", "coverage"),
    "model": ("Layer", "Model", "load"),
    "plots": ("Plot",),
    "result": ("Run", "Suite", "open_run"),
    "session": ("Session", "resume", "run"),
}
_PLACE_OF = {name: place for place, names in _PLACES.items() for name in names}

__all__ = [
    "__version__",
    "Answer",
    "Check",
    "ClusterError",
    "Coverage",
    "CriterionCoverage",
    "DataError",
    "Error",
    "FolderError",
    "InternalError",
    "Layer",
    "MissingPackage",
    "Model",
    "ModelError",
    "Plot",
    "Replay",
    "RequirementsError",
    "Run",
    "Session",
    "Suite",
    "UsageError",
    "check",
    "coverage",
    "errors",
    "events",
    "load",
    "merge",
    "open_run",
    "replay",
    "resume",
    "run",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in ("errors", "events"):
        return importlib.import_module(f".{name}", __name__)
    place = _PLACE_OF.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{place}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
