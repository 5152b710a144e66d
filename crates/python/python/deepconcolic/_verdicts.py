"""What a caller's own oracle says of the tests of a run. It is kept in the folder, beside the run's own verdicts, which
``check`` can repeat."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Optional

import numpy as np
import numpy.typing as npt

from .errors import FolderError, UsageError

if TYPE_CHECKING:
    from .result import Suite

Oracle = Callable[["npt.NDArray[np.float32]", "npt.NDArray[np.int64]"], Any]

FILE = "oracle.npz"
# Tests that an oracle is asked about at a time.
_BATCH = 256


def ask(oracle: Oracle, suite: "Suite", folder: Path) -> None:
    """Asks about all tests, batch by batch, and keeps the answers."""
    batches = range(0, len(suite), _BATCH)
    verdicts = [_of_batch(oracle, suite.x[first : first + _BATCH], suite.labels[first : first + _BATCH]) for first in batches]
    adversarial = np.concatenate(verdicts) if verdicts else np.zeros(0, bool)
    np.savez(folder / FILE, adversarial=adversarial & ~suite.seeds)


def _of_batch(oracle: Oracle, inputs: "npt.NDArray[np.float32]", labels: "npt.NDArray[np.int64]") -> "npt.NDArray[np.bool_]":
    return bools(oracle(inputs, labels), len(inputs), "the oracle", "takes (inputs, labels) and gives one bool a test: whether the label is wrong")


def bools(given: Any, count: int, who: str, way_out: str) -> "npt.NDArray[np.bool_]":
    """What a function of the caller's answered, one bool for each of so many inputs.

    >>> bools([True, 0], 2, "the oracle", "gives one bool a test")
    array([ True, False])
    >>> bools(None, 2, "the oracle", "gives one bool a test")
    Traceback (most recent call last):
    deepconcolic.errors.UsageError: the oracle gave None for 2 inputs; it gives one bool a test
    """
    try:
        found = np.asarray(given)
    except ValueError:
        found = np.zeros(0, object)
    if found.dtype.kind in "biu" and found.shape == (count,):
        return found.astype(bool)
    what = f"verdicts of shape {found.shape} and dtype {found.dtype}" if isinstance(given, np.ndarray) else repr(given)
    raise UsageError(f"{who} gave {what if len(what) < 80 else what[:80] + '...'} for {count} inputs; it {way_out}")


def kept(folder: Path, count: int) -> Optional["npt.NDArray[np.bool_]"]:
    """Which of so many tests are adversarial by the oracle that was asked; none if there was none."""
    path = folder / FILE
    if not path.exists():
        return None
    with np.load(path) as arrays:
        found = np.asarray(arrays["adversarial"], dtype=bool)
    if found.shape != (count,):
        raise FolderError(
            f"{path} has the verdicts of {len(found)} tests, and the suite has {count}: the run went on without its oracle; "
            "resume(folder, oracle=...) asks it again, and without the file the run's own verdicts count"
        )
    return found
