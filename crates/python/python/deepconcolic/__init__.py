"""Concolic testing for trained neural networks.

``load`` a model, measure what data cover of it (``coverage``), make the tests that are missing (``run``), decide
properties (``verify``), and have everything judged again (``check``, ``replay``).

>>> import deepconcolic as dc
>>> dc.coverage(model, x, y, criteria=["nc"])["nc"].covered
1812
"""

from __future__ import annotations

from . import errors, events
from ._native import __version__
from .coverage import Coverage, CriterionCoverage, coverage
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
from .folders import Answer, Check, Replay, check, merge, replay, verify
from .model import Layer, Model, load
from .result import Run, Suite, open_run
from .session import Session, resume, run

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
