"""Tables for those who have pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import MissingPackage

if TYPE_CHECKING:
    import pandas


def frame(rows: list[dict[str, Any]]) -> "pandas.DataFrame":
    """Rows as a frame of pandas, which need not be installed otherwise."""
    try:
        import pandas
    except ImportError as why:
        raise MissingPackage("to_pandas needs pandas, which is not installed; pip install pandas") from why
    return pandas.DataFrame(rows)
