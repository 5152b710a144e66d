"""What is asked, as the library reads it: keywords of Python become the fields of a job."""

from __future__ import annotations

import json
import math
import operator
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


# Fields that are whole numbers, from 0, and fields that are numbers of any kind.
_WHOLE = {"max_executions", "rng_seed", "quantise", "sections", "top", "open"}
_NUMBERS = {"scale", "threshold", "sigma", "validity"}
_FLAGS = {"minimise", "proofs", "no_noise", "scaled", "with_logits"}
_TEXTS = {"norm", "strategy", "decision", "partition", "ssc_scope", "lipschitz_output", "ratio_norm"}
# Whole numbers beyond this are none of the library's.
_LARGEST = 2**63 - 1


def text(job: Mapping[str, Any]) -> str:
    """A job as the library reads it. What it could not read is said by its name.

    >>> text({"max_executions": np.int64(5), "data": {"scale": None}})
    '{"max_executions": 5, "data": {"scale": null}}'
    """
    return json.dumps({name: _readable(name, value) for name, value in job.items()})


def _readable(name: str, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, dict):
        return {field: _readable(field, part) for field, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_readable(name, part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if name in _WHOLE:
        return whole(value, name)
    if name in _FLAGS:
        if not isinstance(value, bool):
            raise UsageError(f"{name} is True or False, not {value!r}")
    elif name in _NUMBERS:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise UsageError(f"{name} is a number, not {value!r}")
    elif name in _TEXTS and not isinstance(value, str):
        raise UsageError(f"{name} is text, not {value!r}")
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"{name} is {value}; give a finite number")
    if not isinstance(value, (str, int, float)):
        raise UsageError(f"{name}: a {type(value).__name__} cannot be used here; give text or a number")
    return value


def whole(value: Any, what: str) -> int:
    """A whole number that is not negative.

    >>> whole(np.int32(3), "threads")
    3
    """
    try:
        found = operator.index(value)
    except TypeError:
        found = -1
    if isinstance(value, bool) or not 0 <= found <= _LARGEST:
        raise UsageError(f"{what} is a whole number, at least 0, not {value!r}") from None
    return found


def names(value: Any, what: str) -> list[str]:
    """A list of names; one name is a list of one."""
    if isinstance(value, str):
        return [value]
    try:
        return [str(name) for name in value]
    except TypeError:
        raise UsageError(f"{what} is a list of names, not {value!r}") from None


def criteria(names: Union[str, Sequence[str]]) -> tuple[list[str], dict[str, Any]]:
    """Criteria by name, and the parameters that stand behind their names.

    >>> criteria(["nc", "kmnc:10"])
    (['nc', 'kmnc'], {'sections': 10})
    """
    found: list[str] = []
    parameters: dict[str, Any] = {}
    for text in _listed(names):
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
            if value != value:
                raise UsageError(f"criterion {text!r}: {number!r} is no number of {field}")
            if parameters.get(field, value) != value:
                raise UsageError(f"criterion {text!r}: {field} was {parameters[field]} before; measure one after the other")
            parameters[field] = value
        found.append(name)
    return found, parameters


def _listed(names: Union[str, Sequence[str]]) -> list[str]:
    """Names of criteria as a list."""
    found: list[Any]
    try:
        found = [names] if isinstance(names, str) else list(names)
    except TypeError:
        found = [names]
    for name in found:
        if not isinstance(name, str):
            raise no_criterion(repr(name))
    return found


def no_criterion(what: str) -> UsageError:
    """That this is none."""
    return UsageError(f"{what} is no criterion; give its name, for example 'nc', or a list of names; `deepconcolic criteria` has all")


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
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise UsageError(f"{what} {value!r} is no number; for example 0.1 or '8/255'") from None
    if isinstance(value, (bool, np.bool_)) or math.isnan(found):
        raise UsageError(f"{what} {value!r} is no number; for example 0.1 or '8/255'")
    return found


def radius(value: Union[float, str, None]) -> Any:
    """How far from its seed a test may lie: none for what is usual for the norm, ``"none"`` for the domain."""
    if value is None:
        return "usual"
    if isinstance(value, str) and value == "none":
        return "anywhere"
    found = number(value, "radius")
    return "anywhere" if found == math.inf else {"within": found}


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
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = math.nan
    if isinstance(value, (bool, np.bool_)) or not 0 < found < 1e9:
        raise UsageError(f"{value!r} is no time; give seconds, more than 0")
    return found


def seeds(value: Seeds) -> Any:
    """Which inputs to start from: the first so many that the network gets right, or these by number."""
    if value is None:
        return None
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        if value < 1:
            raise UsageError(f"seeds must be at least 1, not {value}")
        return {"first": int(value)}
    given = np.asarray(value)
    if given.dtype.kind not in "iu" or given.size == 0:
        raise UsageError(f"seeds are a number, or a list of numbers of samples, not {value!r}")
    numbers = [int(index) for index in given.ravel()]
    if any(index < 0 for index in numbers):
        raise UsageError("seeds are numbers of samples from 0; one is negative")
    return {"given": numbers}


def domain(value: Union[str, Sequence[float], None]) -> Optional[str]:
    """The range of every input element."""
    if value is None or isinstance(value, str):
        return value
    try:
        low, high = value
    except (TypeError, ValueError):
        raise UsageError(f"domain is two numbers, lowest and highest, or 'LO..HI', not {value!r}") from None
    return f"{number(low, 'domain')!r}..{number(high, 'domain')!r}"


def features(columns: Optional[Sequence[Union[str, int]]]) -> Optional[list[str]]:
    """Columns by name or number, as the library takes them."""
    if isinstance(columns, str):
        raise UsageError(f"columns are a list: [{columns!r}]")
    return None if columns is None else names(columns, "columns")


# What people write, and what it is called here.
_ELSEWHERE = {"criteria": "criterion", "criterion": "criteria", "epsilon": "radius", "eps": "radius", "timeout": "budget", "seed": "rng_seed"}


def _unknown(name: str) -> str:
    meant = _ELSEWHERE.get(name)
    hint = f" (is {meant} meant?)" if meant else ""
    return f"there is no keyword {name!r}{hint}; besides those of this call, criteria have {', '.join(_PARAMETERS)}"


def parameters(norm: Optional[str], layers: Optional[Sequence[str]], neurons: Optional[Sequence[str]],
               given: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of criteria; those that nobody gave are left to the library."""
    unknown = set(given) - set(_PARAMETERS)
    if unknown:
        raise UsageError(_unknown(sorted(unknown)[0]))
    chosen = {name: value for name, value in given.items() if value is not None}
    if norm is not None:
        chosen["norm"] = norm
    if layers is not None:
        chosen["layers"] = names(layers, "layers")
    if neurons is not None:
        chosen["neurons"] = names(neurons, "neurons")
    return chosen


def data_settings(data: _arrays.Data, scale: Optional[float]) -> dict[str, Any]:
    """The data and how they are read."""
    return {"data": str(data.path) if data.path is not None else KEPT_DATA, "scale": scale, "limit": None}


def text_or_file(value: Any, folder: Path, name: str) -> Optional[str]:
    """A file that holds this: the file it names, or a new one with the text."""
    if value is None:
        return None
    if isinstance(value, str) and not value.strip():
        raise UsageError(f"{name}: there is nothing in it; give a path, or the text itself")
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
