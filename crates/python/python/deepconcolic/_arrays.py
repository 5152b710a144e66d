"""What users have as arrays, in the form that the compiled half takes: checked, and copied only where it must be."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt

from .errors import DataError

PathLike = Union[str, "os.PathLike[str]"]
ArrayLike = Any


@dataclass(frozen=True)
class Data:
    """Samples with their labels: a file, or arrays."""

    path: Optional[Path] = None
    x: Optional["npt.NDArray[Any]"] = None
    labels: Optional[list[int]] = None
    quantities: Optional[list[float]] = None

    def arguments(self) -> dict[str, Any]:
        """As the compiled half takes them."""
        return {"x": self.x, "labels": self.labels, "quantities": self.quantities}


def is_path(value: object) -> bool:
    """Whether this names a file."""
    return isinstance(value, (str, os.PathLike))


def data(x: ArrayLike, y: Optional[ArrayLike] = None) -> Data:
    """Samples with labels, from arrays or from a file.

    >>> data(np.zeros((2, 3), np.float32), [0, 1]).labels
    [0, 1]
    """
    if is_path(x):
        if y is not None:
            raise DataError(f"x is the file {os.fspath(x)}, whose labels are in it: leave y out, or give both as arrays")
        return Data(path=Path(x))
    samples = array(x)
    if y is None:
        return Data(x=samples)
    return _labelled(samples, y)


def array(x: ArrayLike, name: str = "x") -> "npt.NDArray[Any]":
    """Samples as uint8 or float32 in one piece. What has this form already is not copied.

    >>> kept = np.ones((4, 2), np.float32)
    >>> array(kept) is kept
    True
    >>> array(np.ones((4, 2), np.int64))
    Traceback (most recent call last):
    deepconcolic.errors.DataError: x has dtype int64, whose scale is not known; give x.astype("float32") in ...
    """
    values = _plain(x, name)
    kind = values.dtype.kind
    if isinstance(values, np.ma.MaskedArray):
        raise DataError(f"{name} is a masked array; give its values, for example {name}.filled(0)")
    if values.dtype == object or kind in "USVMmc":
        raise DataError(f"{name} has dtype {values.dtype}, which is no number; give an array of float32 or uint8")
    if kind in "bi" or (kind == "u" and values.dtype != np.uint8):
        raise DataError(
            f"{name} has dtype {values.dtype}, whose scale is not known; give {name}.astype(\"float32\") in the units "
            "that the model takes, or uint8 for images (divided by 255)"
        )
    if values.ndim == 0:
        raise DataError(f"{name} is a single number; give samples along the first axis")
    if values.size == 0:
        raise DataError(f"{name} has shape {values.shape}: there are no samples in it")
    wanted = np.uint8 if values.dtype == np.uint8 else np.float32
    with np.errstate(over="ignore"):
        narrow = np.require(values, wanted, ["C", "A"])
    if narrow is not values and kind == "f" and not np.isfinite(narrow).all() and np.isfinite(values).all():
        raise DataError(f"{name} has values beyond what single precision holds ({np.abs(values).max():g} at most)")
    return narrow


def _plain(x: ArrayLike, name: str) -> "npt.NDArray[Any]":
    """A tensor of torch or TensorFlow, a frame of pandas or a list, as an array."""
    try:
        if hasattr(x, "detach"):
            x = x.detach().cpu()
        if hasattr(x, "numpy") and not isinstance(x, np.ndarray):
            x = x.numpy()
    except (TypeError, RuntimeError) as why:
        # A type that numpy does not have, or a layout.
        raise DataError(f"{name} cannot be had as an array: {why}; give {name}.float().to_dense()") from None
    if isinstance(x, np.ndarray):
        return x
    try:
        return np.asarray(x)
    except ValueError as why:
        raise DataError(f"{name} is no array: {why}; samples must all have one shape") from None


def _labelled(samples: "npt.NDArray[Any]", y: ArrayLike) -> Data:
    labels = _plain(y, "y")
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        way_out = "; for one-hot rows give y.argmax(axis=1)" if labels.ndim == 2 else ""
        raise DataError(f"y has shape {labels.shape}; give one label a sample{way_out}")
    if len(labels) != len(samples):
        raise DataError(f"y has {len(labels)} labels and x has {len(samples)} samples; give one label a sample")
    kind = labels.dtype.kind
    if kind in "biu":
        return Data(x=samples, labels=labels.astype(np.int64).tolist())
    if kind == "f":
        return Data(x=samples, quantities=labels.astype(np.float64).tolist())
    raise DataError(f"y has dtype {labels.dtype}; give class numbers, or floats for a regression")
