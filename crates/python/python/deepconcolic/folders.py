"""What is done with folders of runs, and properties: verify, check, replay, merge."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional, Sequence

import numpy as np
import numpy.typing as npt

from . import _arrays, _job, _native
from .errors import UsageError
from .model import load
from .result import Run

__all__ = ["Answer", "Check", "Replay", "verify", "check", "replay", "merge"]


@dataclass(frozen=True)
class Answer:
    """The answer to a property."""

    verdict: str
    """``sat``, ``unsat`` or ``unknown``."""
    input: Optional["npt.NDArray[np.float64]"]
    """Of a ``sat``: an input that meets the property, in the order of X_0, X_1, ..."""
    output: Optional["npt.NDArray[np.float64]"]
    """What the model says of it: Y_0, Y_1, ..."""
    notes: list[str] = field(default_factory=list)
    """What must be said with the verdict."""
    reason: Optional[str] = None
    """Why it is ``unknown``, where that is not time."""

    def passed(self) -> bool:
        """Whether the property, which says what is unsafe, is shown to be impossible."""
        return self.verdict == "unsat"


@dataclass(frozen=True)
class Check:
    """What came of judging a folder again."""

    holds: bool
    """Whether everything was checked and holds."""
    scope: list[str]
    """What was checked, from what."""
    done: list[str]
    """What was found to hold."""
    findings: list[str]
    """What the folder says and is not so."""
    unverified: list[str]
    """What is taken as the folder says it."""
    left_out: list[str]
    """What there was no time to check."""
    other_files: list[str]
    """Files in the folder that the check has no use for, ten at most."""

    def passed(self) -> bool:
        """Whether everything was checked and holds."""
        return self.holds


@dataclass(frozen=True)
class Replay:
    """What a suite shows now, beside what was claimed."""

    lines: list[str]
    """What was compared, then and now."""
    findings: list[str]
    """What differs."""

    def passed(self) -> bool:
        """Whether nothing differs."""
        return not self.findings


def verify(
    model: Any,
    property: _arrays.PathLike,
    *,
    timeout: _job.Seconds = 116,
    out: Optional[_arrays.PathLike] = None,
    threads: int = 0,
) -> Answer:
    """Decides a VNN-LIB property, a file or its text: is there an input in its box that meets its conditions?

    >>> import deepconcolic as dc
    >>> box = "".join(f"(declare-const X_{i} Real)(assert (>= X_{i} 0))(assert (<= X_{i} 0.01))" for i in range(784))
    >>> outputs = "".join(f"(declare-const Y_{i} Real)" for i in range(10))
    >>> dc.verify(model, box + outputs + "(assert (>= Y_0 1000))").verdict
    'unsat'
    """
    if property is None:
        raise UsageError("property: give a VNN-LIB file, or its text")
    loaded = load(model)
    limit = _job.seconds(timeout)
    if limit is None:
        raise UsageError("timeout must be a time; verify stops by itself only when it has an answer")
    folder = None if out is None else Path(out)
    native = loaded._native
    content = native.content()
    if folder is not None and content is not None:
        # The answer names its model, and there is no other file.
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "model.onnx"
        path.write_bytes(content)
        native = native.in_file(path)
    with tempfile.TemporaryDirectory(prefix="deepconcolic-") as scratch:
        path = Path(_job.text_or_file(property, Path(scratch), "property.vnnlib") or "")
        answer = json.loads(_native.verify(native, path, limit, out=folder, threads=_job.whole(threads, "threads")))
    numbers = _counterexample(answer["counterexample"])
    return Answer(answer["verdict"], numbers[0], numbers[1], answer["notes"], answer["reason"])


def _counterexample(text: Optional[str]) -> tuple[Any, Any]:
    """Inputs and outputs as the verification competition writes them."""
    if text is None:
        return None, None
    words = text.replace("(", " ").replace(")", " ").split()
    values: dict[str, list[float]] = {"X": [], "Y": []}
    for name, value in zip(words[::2], words[1::2]):
        values[name[0]].append(float(value))
    return np.array(values["X"]), np.array(values["Y"])


def check(
    folder: _arrays.PathLike, model: Optional[_arrays.PathLike] = None, *, budget: _job.Seconds = "1h", threads: int = 0
) -> Check:
    """Judges everything in a folder of ``run`` or ``verify`` again, independently, from its files. What ``budget`` is too
    short for is left out, and the folder then does not hold.

    >>> dc.check(result.folder).holds
    True
    """
    file = None if model is None else Path(model)
    limit, cores = _job.seconds(budget), _job.whole(threads, "threads")
    return Check(**json.loads(_native.check(Path(folder), file, limit, threads=cores)))


def replay(folder: _arrays.PathLike, model: Optional[_arrays.PathLike] = None, *, threads: int = 0) -> Replay:
    """Runs a saved suite again, on its own model or another file, and says what changed.

    >>> dc.replay(result.folder).passed()
    True
    """
    found = json.loads(_native.replay(Path(folder), None if model is None else Path(model), threads=_job.whole(threads, "threads")))
    return Replay(**found)


def merge(
    out: _arrays.PathLike,
    parts: Sequence[_arrays.PathLike],
    *,
    model: Optional[_arrays.PathLike] = None,
    threads: int = 0,
) -> Run:
    """Joins runs of one job, say of ``partition="i/n"``, into one folder. Every test is run again, every certificate
    judged again."""
    if isinstance(parts, (str, os.PathLike)):
        raise UsageError(f"parts are a list of folders: [{os.fspath(parts)!r}]")
    paths = [Path(part) for part in parts]
    named = None if model is None else Path(model)
    _native.merge(Path(out), paths, model=named, command=["deepconcolic.merge (Python)"], threads=_job.whole(threads, "threads"))
    return Run(out)
