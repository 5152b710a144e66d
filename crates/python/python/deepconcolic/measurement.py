"""What data cover of a model, by any number of criteria in one pass."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, Sequence, Union

from . import _arrays, _job, _native
from .errors import UsageError
from .model import load

if TYPE_CHECKING:
    import pandas

__all__ = ["Coverage", "CriterionCoverage", "coverage"]


@dataclass(frozen=True)
class CriterionCoverage:
    """What data cover of one criterion."""

    name: str
    """The criterion; ``requirements`` for requirements of one's own."""
    definition: str
    """What it requires."""
    total: int
    """Goals: requirements that want a witness."""
    covered: int
    """Goals that some sample (or pair) meets."""
    coverage: Optional[float]
    """Their share; None where there are no goals."""
    noise: Optional[float]
    """The share that as many inputs of uniform noise cover, or refute: a figure means little without it."""
    properties: int = 0
    """Properties: requirements that want no witness (safety, lipschitz, forall)."""
    refuted: int = 0
    """Properties that some sample (or pair) refutes. The others are not proven: these samples do not refute them."""
    refutations: list[dict[str, Any]] = field(default_factory=list)
    """The first refuted properties of a file: ``requirement`` and the ``samples`` that refute it."""
    layers: list[dict[str, Any]] = field(default_factory=list)
    """Name, total and covered (of properties: refuted) of each layer."""
    open: list[str] = field(default_factory=list)
    """Some requirements that no sample decides, as many as asked for."""
    notes: list[str] = field(default_factory=list)
    """What to know before believing the figure."""


@dataclass(frozen=True)
class Coverage:
    """What data cover. ``coverage["nc"]`` is a :class:`CriterionCoverage`."""

    criteria: list[CriterionCoverage]
    """Criterion by criterion, in the order asked."""
    samples: int
    """How many samples were run."""
    accuracy: Optional[float]
    """The share the model gets right, where labels were given."""
    domain: str
    """The domain, in words."""
    layout: str
    """How the data were laid out for the model."""
    notes: list[str]
    """What to know about model and data."""
    report: dict[str, Any] = field(repr=False)
    """Everything, as ``deepconcolic coverage --json`` writes it."""

    def __getitem__(self, name: str) -> CriterionCoverage:
        for criterion in self.criteria:
            if criterion.name == name:
                return criterion
        raise KeyError(f"{name} was not measured; these were: {', '.join(criterion.name for criterion in self.criteria)}")

    def passed(self, **least: float) -> bool:
        """Whether each criterion named reaches at least this share. Properties have no such share: see their ``refuted``.

        >>> measured = dc.coverage(model, x, y, criteria=["nc"])
        >>> measured.passed(nc=0.95), measured.passed(nc=1.0)
        (True, False)
        """
        for name, share in least.items():
            try:
                reached = self[name].coverage
            except KeyError as why:
                raise UsageError(str(why.args[0])) from None
            if reached is None:
                raise UsageError(f"{name} has properties and no goals, so that nothing is covered; look at its `refuted`")
            if reached < share:
                return False
        return True

    def to_pandas(self) -> "pandas.DataFrame":
        """A row a criterion and layer: goals have ``covered``, properties ``refuted``. Needs pandas."""
        from ._tables import frame

        return frame(
            [
                {
                    "criterion": criterion.name,
                    "layer": layer["name"],
                    "total": layer["total"],
                    "covered": 0 if criterion.properties else layer["covered"],
                    "refuted": layer["covered"] if criterion.properties else 0,
                }
                for criterion in self.criteria
                for layer in criterion.layers
            ]
        )

    def save(self, path: _arrays.PathLike) -> None:
        """Writes the report as JSON."""
        Path(path).write_text(json.dumps(self.report, indent=2) + "\n", encoding="utf-8")

    def _repr_html_(self) -> str:
        return _native.coverage_html(json.dumps(self.report))


def coverage(
    model: Any,
    x: _arrays.ArrayLike,
    y: Optional[_arrays.ArrayLike] = None,
    criteria: Union[str, Sequence[str]] = ("nc",),
    *,
    requirements: Optional[_arrays.PathLike] = None,
    profile: Any = None,
    domain: Union[str, Sequence[float], None] = None,
    radius: Union[float, str, None] = None,
    noise: bool = True,
    open: int = 0,
    scale: Optional[float] = None,
    decision: Optional[str] = None,
    norm: Optional[str] = None,
    layers: Optional[Sequence[str]] = None,
    neurons: Optional[Sequence[str]] = None,
    rng_seed: int = 0,
    threads: int = 0,
    cluster: Optional[str] = None,
    shards: Optional[int] = None,
    address: Optional[str] = None,
    **parameters: Any,
) -> Coverage:
    """Measures what samples cover. Arrays of float32 or uint8 in one piece are not copied.

    ``criteria`` are names, with a number behind a colon where a criterion has one ("kmnc:10", "tknc:2", "nc:0.5").
    ``requirements`` is a .dr or .vnnlib file, or the text of requirements. ``profile`` is where the ranges of neurons
    come from (training data; default: the first tenth of ``x``). ``open`` asks for so many names of open requirements.

    With ``cluster="ray"`` parts of the data are measured on Ray (``shards`` of them, on the cluster at ``address``, with ``threads``
    for each, 1 unless more are given) and their figures joined: the same report. Criteria on two inputs cannot be joined and are
    refused.

    >>> import deepconcolic as dc
    >>> measured = dc.coverage(model, x, y, criteria=["nc", "kmnc:10"])
    >>> measured["nc"].covered, measured["nc"].total
    (1812, 1816)
    >>> round(measured.accuracy, 4)
    0.9367
    """
    loaded = load(model)
    data = _arrays.data(x, y)
    threads = _job.whole(threads, "threads")
    names, behind = _job.criteria(criteria)
    if not names and requirements is None:
        raise _job.no_criterion("an empty list")
    with tempfile.TemporaryDirectory(prefix="deepconcolic-") as scratch:
        folder = Path(scratch)
        job = {
            "data": _job.data_settings(data, scale),
            "decision": decision,
            "criteria": names,
            "requirements": _job.text_or_file(requirements, folder, "requirements.dr"),
            "open": open,
            "profile": _job.array_or_file(profile, folder, "profile"),
            "domain": _job.domain(domain),
            "no_noise": not noise,
            "rng_seed": rng_seed,
            "radius": None if radius is None else _job.number(radius, "radius"),
            "parameters": _job.parameters(norm, layers, neurons, {**behind, **parameters}),
        }
        if cluster is not None:
            from .cluster import measured

            if cluster != "ray":
                raise UsageError(f"there is no cluster {cluster!r}; there is 'ray'")
            job["data"] = _job.data_settings(_arrays.Data(), scale)
            report = measured(job, loaded, x, y, shards=shards, threads=threads or 1, address=address)
        elif shards is not None or address is not None:
            raise UsageError("shards and address are for cluster='ray'")
        else:
            report = json.loads(_native.coverage(_job.text(job), loaded._native, threads=threads, **data.arguments()))
    return _of_report(report)


def _counted(found: dict[str, Any], name: str, definition: str, goals: bool) -> CriterionCoverage:
    """Goals and properties apart; ``goals`` says whether ``total`` and ``covered`` are of goals."""
    properties = found.get("properties", {})
    return CriterionCoverage(
        name=name,
        definition=definition,
        total=found["total"] if goals else 0,
        covered=found["covered"] if goals else 0,
        coverage=found.get("coverage"),
        noise=found.get("noise"),
        properties=properties.get("total", 0),
        refuted=properties.get("refuted", 0),
        refutations=found.get("refuted", []),
        layers=found.get("layers", []),
        open=found.get("open", []),
        notes=found.get("notes", []),
    )


def _of_report(report: dict[str, Any]) -> Coverage:
    measured = []
    for found in report["criteria"]:
        goals = "properties" not in found
        measured.append(_counted(found, found["name"], found["definition"], goals))
    own = report.get("requirements")
    if own is not None:
        measured.append(_counted(own, "requirements", "requirements of a file", True))
    return Coverage(
        criteria=measured,
        samples=report["samples"],
        accuracy=report.get("accuracy"),
        domain=report["domain"],
        layout=report["layout"],
        notes=report["notes"],
        report=report,
    )
