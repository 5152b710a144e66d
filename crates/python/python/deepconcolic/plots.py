"""The drawings of a run's report, one by one."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from . import _native

if TYPE_CHECKING:
    from ._arrays import PathLike

__all__ = ["Plot"]


@dataclass(frozen=True)
class Plot:
    """A drawing: an SVG file that needs no other."""

    name: str
    """What it is called in :attr:`deepconcolic.Run.plots`."""
    title: str
    """What it shows."""
    svg: str = field(repr=False)
    """The file."""

    def save(self, path: "PathLike") -> None:
        """Writes the file."""
        Path(path).write_text(self.svg, encoding="utf-8")

    def _repr_html_(self) -> str:
        # As a picture, so that its style stays inside.
        content = base64.b64encode(self.svg.encode()).decode()
        return f'<img width="640" alt="{self.name}" src="data:image/svg+xml;base64,{content}">'


def of_run(folder: Path) -> dict[str, Plot]:
    """The drawings of the run in a folder, by name."""
    return {name: Plot(name, title, svg) for name, title, svg in _native.drawings(folder)}
