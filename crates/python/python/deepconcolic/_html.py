"""Results as notebooks show them: a table, and pictures of what is adversarial. Complete without scripts or styles."""

from __future__ import annotations

import base64
import html
from pathlib import Path
from typing import TYPE_CHECKING, Any, Sequence

if TYPE_CHECKING:
    from .result import Run

# Pictures shown; all of them are in the folder.
_SHOWN = 8
# The side of a picture on the page.
_PIXELS = 84


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table, every cell of it as text.

    >>> table(["name"], [["<relu>"]])
    '<table><tr><th>name</th></tr><tr><td>&lt;relu&gt;</td></tr></table>'
    """
    cells = "".join(f"<th>{html.escape(str(cell))}</th>" for cell in head)
    lines = ["<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows]
    return f"<table><tr>{cells}</tr>{''.join(lines)}</table>"


def percent(share: float) -> str:
    """A share as it is printed everywhere."""
    return f"{100 * share:.2f} %"


def of_run(run: "Run") -> str:
    """A run: what was asked, how requirements ended, layer by layer, and pictures."""
    words = ("refuted", "proven", "open") if run.is_property else ("covered", "infeasible", "unresolved")
    layers = [*run.summary["layers"], {"name": "all", **run.summary["requirements"]}]
    rows = [
        [layer["name"], layer["total"], layer["covered"], layer["infeasible"], layer["unresolved"],
         percent(layer["covered"] / layer["total"] if layer["total"] else 1.0)]
        for layer in layers
    ]
    share = "refuted" if run.is_property else "coverage"
    radius = "the domain" if run.summary["radius"] is None else f"{run.summary['radius']:g} ({run.summary['norm']}) of a seed"
    tests = run.summary["tests"]
    judged = "" if run.adversarial is None else f", {run.adversarial} adversarial"
    about = f"{run.criterion}: tests within {radius}; {tests['seeds']} seeds, {tests['generated']} generated{judged}; stopped: {run.stop}"
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in run.notes)
    return (
        f"<p>{html.escape(about)}</p>"
        + table(["layer", "required", *words, share], rows)
        + gallery(run.folder / "adversarial")
        + (f"<ul>{notes}</ul>" if notes else "")
    )


def gallery(folder: Path) -> str:
    """The first pictures of a folder, each with its name."""
    pictures = sorted(folder.glob("*.png"))
    if not pictures:
        return ""
    shown = [
        f'<td><img width="{_PIXELS}" alt="{html.escape(path.stem)}" src="data:image/png;base64,'
        f'{base64.b64encode(path.read_bytes()).decode()}"><br><small>{html.escape(path.stem)}</small></td>'
        for path in pictures[:_SHOWN]
    ]
    return f"<p>adversarial, {len(shown)} of {len(pictures)}:</p><table><tr>{''.join(shown)}</tr></table>"
