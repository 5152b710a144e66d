"""What is asked, as the library reads it: keywords of Python become the fields of a job."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any, Mapping, Optional, Sequence, Union

import numpy as np

from . import _arrays
from .errors import UsageError

Seconds = Union[float, str, None]
Seeds = Union[int, Sequence[int], None]

# The name that data have that are in memory alone: the folder of a run keeps them.
KEPT_DATA = "run:data.npz"

# What the number behind a criterion's name is, as in "kmnc:10".
_BEHIND_COLON = {"kmnc": ("sections", int), "tknc": ("top", int), "nc": ("threshold", float)}

_PARAMETERS = (
    "threshold",
    "scaled",
    "with_logits",
    "sections",
    "top",
    "sigma",
    "ssc_scope",
    "constant",
    "lipschitz_output",
    "ratio_norm",
)


def criteria(names: Union[str, Sequence[str]]) -> tuple[list[str], dict[str, Any]]:
    """Criteria by name, and the parameters that stand behind their names.

    >>> criteria(["nc", "kmnc:10"])
    (['nc', 'kmnc'], {'sections': 10})
    """
    found: list[str] = []
    parameters: dict[str, Any] = {}
    for text in [names] if isinstance(names, str) else names:
        name, colon, number = text.partition(":")
        if colon:
            if name not in _BEHIND_COLON:
                known = ", ".join(f"{name}:{field}" for name, (field, _) in _BEHIND_COLON.items())
                raise UsageError(f"criterion {text!r}: {name} takes no number behind a colon; these do: {known}")
            field, kind = _BEHIND_COLON[name]
            try:
                value = kind(number)
            except ValueError:
                raise UsageError(f"criterion {text!r}: {number!r} is no number of {field}") from None
            if parameters.get(field, value) != value:
                raise UsageError(f"criterion {text!r}: {field} was {parameters[field]} before; measure one after the other")
            parameters[field] = value
        found.append(name)
    return found, parameters


def number(value: Union[float, str], what: str) -> float:
    """A number, or a fraction as text.

    >>> round(number("8/255", "radius"), 4)
    0.0314
    """
    if isinstance(value, str):
        try:
            return float(Fraction(value.replace(" ", "")))
        except (ValueError, ZeroDivisionError):
            raise UsageError(f"{what} {value!r} is no number; for example 0.1 or '8/255'") from None
    return float(value)


def radius(value: Union[float, str, None]) -> Any:
    """How far from its seed a test may lie: none for what is usual for the norm, ``"none"`` for the domain."""
    if value is None:
        return "usual"
    if value == "none" or value == math.inf:
        return "anywhere"
    return {"within": number(value, "radius")}


def seconds(value: Seconds) -> Optional[float]:
    """A time in seconds; none for no limit.

    >>> seconds("10m"), seconds(5), seconds("none")
    (600.0, 5.0, None)
    """
    if value is None or value == "none":
        return None
    if isinstance(value, str):
        match = re.fullmatch(r"\s*([0-9.]+)\s*([smh]?)\s*", value)
        try:
            if match is None:
                raise ValueError
            value = float(match.group(1)) * {"": 1, "s": 1, "m": 60, "h": 3600}[match.group(2)]
        except ValueError:
            raise UsageError(f"{value!r} is no time; for example 90, '60s', '10m', '2h', or 'none'") from None
    if not (0 < value < 1e9):
        raise UsageError(f"{value!r} is no time; give seconds, more than 0")
    return float(value)


def seeds(value: Seeds) -> Any:
    """Which inputs to start from: the first so many that the network gets right, or these by number."""
    if value is None:
        return None
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        if value < 1:
            raise UsageError(f"seeds must be at least 1, not {value}")
        return {"first": int(value)}
    numbers = [int(index) for index in np.asarray(value).ravel()]
    if any(index < 0 for index in numbers):
        raise UsageError("seeds are numbers of samples from 0; one is negative")
    return {"given": numbers}


def domain(value: Union[str, Sequence[float], None]) -> Optional[str]:
    """The range of every input element."""
    if value is None or isinstance(value, str):
        return value
    low, high = value
    return f"{float(low)!r}..{float(high)!r}"


def features(columns: Optional[Sequence[Union[str, int]]]) -> Optional[list[str]]:
    """Columns by name or number, as the library takes them."""
    if isinstance(columns, str):
        raise UsageError(f"columns are a list: [{columns!r}]")
    return None if columns is None else [str(column) for column in columns]


def parameters(norm: Optional[str], layers: Optional[Sequence[str]], neurons: Optional[Sequence[str]],
               given: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of criteria; those that nobody gave are left to the library."""
    unknown = set(given) - set(_PARAMETERS)
    if unknown:
        raise UsageError(f"there is no keyword {sorted(unknown)[0]!r}; criteria have {', '.join(_PARAMETERS)}")
    chosen = {name: value for name, value in given.items() if value is not None}
    if norm is not None:
        chosen["norm"] = norm
    if layers is not None:
        chosen["layers"] = [str(layer) for layer in layers]
    if neurons is not None:
        chosen["neurons"] = [neurons] if isinstance(neurons, str) else list(neurons)
    return chosen


def data_settings(data: _arrays.Data, scale: Optional[float]) -> dict[str, Any]:
    """The data and how they are read."""
    return {"data": str(data.path) if data.path is not None else KEPT_DATA, "scale": scale, "limit": None}


def text_or_file(value: Any, folder: Path, name: str) -> Optional[str]:
    """A file that holds this: the file it names, or a new one with the text."""
    if value is None:
        return None
    if isinstance(value, str) and _is_text(value):
        path = folder / name
        path.write_text(value if value.endswith("\n") else value + "\n", encoding="utf-8")
        return str(path)
    if _arrays.is_path(value):
        return str(Path(value))
    raise UsageError(f"{name}: give a path, or the text itself")


def _is_text(value: str) -> bool:
    """Whether this is requirements and no file: every requirement has a colon or a parenthesis."""
    if "\n" in value:
        return True
    try:
        return (":" in value or "(" in value) and not Path(value).exists()
    except OSError:
        # Too long for a name.
        return True


def array_or_file(value: Any, folder: Path, name: str) -> Optional[str]:
    """A file that holds these samples: the file that is named, or a new one with the array or the pair (x, y)."""
    if value is None:
        return None
    if _arrays.is_path(value):
        return str(Path(value))
    x, y = value if isinstance(value, tuple) else (value, None)
    found = _arrays.data(x, y)
    path = folder / f"{name}.npz"
    arrays: dict[str, Any] = {"x": found.x}
    if y is not None:
        arrays["y"] = np.asarray(found.labels if found.labels is not None else found.quantities)
    np.savez(path, **arrays)
    return str(path)
