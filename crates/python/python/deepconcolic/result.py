"""What came of a run: a view of its folder, with arrays and tables."""

from __future__ import annotations

import copy
import json
import shutil
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Mapping, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _arrays, _native, _verdicts
from ._scratch import Scratch
from .errors import FolderError

if TYPE_CHECKING:
    import pandas

    from .folders import Check, Replay
    from .plots import Plot

__all__ = ["Run", "Suite", "open_run"]

_SUMMARY = "run.json"
_ADVERSARIAL = 1


class Suite:
    """The tests of a run, seeds first: arrays with a row a test."""

    def __init__(self, arrays: Mapping[str, "npt.NDArray[Any]"]) -> None:
        self.x: "npt.NDArray[np.float32]" = arrays["x"]
        """The inputs."""
        self.labels: "npt.NDArray[np.int64]" = arrays["label"]
        """What the network says of each; -1 where its answer is no class."""
        self.roots: "npt.NDArray[np.int64]" = arrays["root"]
        """The seed that each was made from, by its number in the data."""
        self.parents: "npt.NDArray[np.int64]" = arrays["parent"]
        """The test that each was made from, by row; -1 for seeds."""
        self.stages: "npt.NDArray[np.uint8]" = arrays["stage"]
        """The stage that made each."""
        self.distances: "npt.NDArray[np.float32]" = arrays["distance"]
        """How far each is from its root."""
        self.references: "npt.NDArray[np.int64]" = arrays["reference"]
        """The nearest real input, by its number in the reference data."""
        self.reference_distances: "npt.NDArray[np.float32]" = arrays["reference_distance"]
        """How far that is."""
        self.reference_labels: "npt.NDArray[np.int64]" = arrays["reference_label"]
        """The label it has."""
        self.verdicts: "npt.NDArray[np.uint8]" = arrays["verdict"]
        """0 passes, 1 adversarial, 2 too far from real inputs to judge."""

    def __len__(self) -> int:
        return len(self.x)

    @property
    def seeds(self) -> "npt.NDArray[np.bool_]":
        """Which rows are taken from the data."""
        return np.asarray(self.parents < 0)

    @property
    def adversarial(self) -> "npt.NDArray[np.bool_]":
        """Which rows are adversarial."""
        return np.asarray(self.verdicts == _ADVERSARIAL)

    def nearest_adversarial(self) -> Optional[int]:
        """The row of the adversarial test that is nearest to a real input; none if there is none."""
        rows = np.flatnonzero(self.adversarial)
        if not len(rows):
            return None
        return int(rows[np.argmin(self.reference_distances[rows])])

    def __repr__(self) -> str:
        return f"<deepconcolic.Suite: {int(self.seeds.sum())} seeds, {int((~self.seeds).sum())} generated tests>"


class Run:
    """What came of a run. Everything is in :attr:`folder`, which :func:`deepconcolic.check` can judge."""

    def __init__(
        self,
        folder: _arrays.PathLike,
        _scratch: Optional[Scratch] = None,
        _oracle: Optional[_verdicts.Oracle] = None,
    ) -> None:
        self.folder = Path(folder)
        """The folder of the run; a temporary one goes away with this object, unless it is saved."""
        # Keeps a temporary folder, which goes when nobody refers to it any more.
        self._scratch = _scratch
        # Judges what comes when the run goes on.
        self._oracle = _oracle
        path = self.folder / _SUMMARY
        try:
            self.summary: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            """Everything in ``run.json``."""
        except (OSError, ValueError) as why:
            raise FolderError(f"{self.folder} is no folder of a finished run: {why}; resume() finishes one") from why

    @property
    def criterion(self) -> str:
        """The criterion, or the requirement file."""
        return str(self.summary["criterion"])

    @property
    def total(self) -> int:
        """Requirements."""
        return int(self.summary["requirements"]["total"])

    @property
    def covered(self) -> int:
        """Requirements with a witness: a test that anyone can replay. Of a property: refuted."""
        return int(self.summary["requirements"]["covered"])

    @property
    def infeasible(self) -> int:
        """Requirements that a certificate shows to be impossible in the search region. Of a property: proven."""
        return int(self.summary["requirements"]["infeasible"])

    @property
    def unresolved(self) -> int:
        """The rest."""
        return int(self.summary["requirements"]["unresolved"])

    @property
    def coverage(self) -> float:
        """Covered among all requirements."""
        return float(self.summary["coverage"])

    @property
    def feasible_coverage(self) -> float:
        """Covered among the goals not proven impossible; 1 where there are none. Properties want no witness and do not
        count."""
        properties = self.properties
        covered = self.covered - properties["refuted"]
        possible = self.total - self.infeasible - properties["total"] + properties["proven"]
        return covered / possible if possible else 1.0

    @property
    def properties(self) -> dict[str, int]:
        """Requirements that want no witness (safety, lipschitz, ``forall``): ``total``, ``refuted``, ``proven``, ``open``."""
        found = self.summary.get("properties") or {}
        return {name: int(found.get(name, 0)) for name in ("total", "refuted", "proven", "open")}

    @property
    def adversarial(self) -> Optional[int]:
        """How many tests are adversarial; none where nobody has said how outputs are read."""
        found = self.summary["adversarial"]
        return None if found is None else int(found["count"])

    @property
    def stop(self) -> str:
        """Why it ended: complete, budget, executions or interrupted."""
        return str(self.summary["stop"])

    @property
    def notes(self) -> list[str]:
        """What to know before believing the figures."""
        return list(self.summary["notes"])

    @property
    def is_property(self) -> bool:
        """Whether no requirement wants a witness: what is covered is refuted."""
        return 0 < self.total == self.properties["total"]

    @cached_property
    def suite(self) -> Suite:
        """The tests."""
        with np.load(self.folder / "suite.npz") as arrays:
            return Suite({name: arrays[name] for name in arrays.files})

    @cached_property
    def requirements(self) -> dict[str, "npt.NDArray[Any]"]:
        """How every requirement ended: arrays ``state`` (0 unresolved, 1 covered, 2 infeasible), ``test`` and ``test2``
        (rows of the suite, -1 if none), ``bound``, ``certificate``; for pairs also ``layer``, ``i``, ``layer2``, ``j``."""
        with np.load(self.folder / "requirements.npz") as arrays:
            return {name: arrays[name] for name in arrays.files}

    @property
    def adversarial_rows(self) -> "npt.NDArray[np.bool_]":
        """Which tests are adversarial: by the caller's own oracle, if there was one, else by the run's."""
        kept = _verdicts.kept(self.folder, len(self.suite))
        return self.suite.adversarial if kept is None else kept

    def passed(self, *, coverage: Optional[float] = None, adversarial: Optional[int] = 0) -> bool:
        """Whether nothing speaks against the model: no more adversarial tests than allowed, no property refuted, and of
        what is possible at least this share covered, if a share is given.

        >>> result.passed(), result.passed(coverage=0.5, adversarial=None)
        (False, True)
        """
        if self.properties["refuted"] > 0:
            return False
        if self.is_property:
            return True
        if coverage is not None and self.feasible_coverage < coverage:
            return False
        if adversarial is None:
            return True
        return int(self.adversarial_rows.sum()) <= adversarial

    def save(self, folder: _arrays.PathLike) -> "Run":
        """Copies the run to a folder, which must be new or empty, and gives the run there."""
        target = Path(folder)
        if target.exists() and any(target.iterdir()):
            raise FolderError(f"{target} is not empty; name a new folder")
        shutil.copytree(self.folder, target, dirs_exist_ok=True)
        return Run(target)

    def resume(self, budget: Union[float, str, None] = "10m", **options: Any) -> "Run":
        """Goes on where the run stopped, for so much more time; options are those of :func:`deepconcolic.resume`."""
        from .session import resume

        found = resume(self.folder, budget=budget, **{"oracle": self._oracle, **options})
        found._scratch = self._scratch
        return found

    def __reduce__(self) -> Any:
        """By its folder; one that lies in a temporary folder with all its files, since that goes away with this object."""
        if self._scratch is None or Path(self._scratch.name) not in self.folder.parents:
            return Run, (self.folder.absolute(),)
        files = (path for path in sorted(self.folder.rglob("*")) if path.is_file())
        return _again, ({path.relative_to(self.folder).as_posix(): path.read_bytes() for path in files},)

    def __copy__(self) -> "Run":
        return Run(self.folder, self._scratch, self._oracle)

    def __deepcopy__(self, memo: Any) -> "Run":
        return copy.copy(self)

    def check(self, model: Optional[_arrays.PathLike] = None) -> "Check":
        """Judges everything in the folder again, independently."""
        from .folders import check

        return check(self.folder, model)

    def replay(self, model: Optional[_arrays.PathLike] = None) -> "Replay":
        """Runs the suite again, on the same model or another."""
        from .folders import replay

        return replay(self.folder, model)

    def to_pandas(self) -> "pandas.DataFrame":
        """A row a layer. Needs pandas."""
        from ._tables import frame

        return frame(self.summary["layers"])

    def tests_to_pandas(self) -> "pandas.DataFrame":
        """A row a test, without its input. Needs pandas."""
        from ._tables import frame

        suite = self.suite
        columns: dict[str, "npt.NDArray[Any]"] = {
            "root": suite.roots,
            "parent": suite.parents,
            "label": suite.labels,
            "distance": suite.distances,
            "reference": suite.references,
            "reference_distance": suite.reference_distances,
            "reference_label": suite.reference_labels,
            "verdict": suite.verdicts,
        }
        return frame([{name: column[row] for name, column in columns.items()} for row in range(len(suite))])

    @property
    def plots(self) -> "dict[str, Plot]":
        """The drawings of the report by name, those that a run of this kind has: how coverage grew over ``tests`` and
        over ``time``, the neurons of each layer, ``distances`` and ``labels`` of adversarial inputs, ...

        >>> sorted(result.plots)
        ['distances', 'labels', 'layer-relu1', 'layer-relu2', 'layer-relu3', 'tests', 'time']
        >>> result.plots["tests"].title
        'Requirements met over tests'
        """
        from .plots import of_run

        return of_run(self.folder)

    def report(self, *, single_file: bool = False, compare: Optional[_arrays.PathLike] = None) -> Path:
        """Writes the report as pages into the folder, and gives the one to open. ``single_file`` has all of it in one
        file, ``compare`` is the folder of another run to compare with."""
        other = None if compare is None else Path(compare)
        return Path(_native.write_report(self.folder, single_file, other))

    def _repr_html_(self) -> str:
        return _native.run_html(self.folder)

    def __repr__(self) -> str:
        some = self.properties
        parts = []
        if not self.is_property:
            covered, infeasible = self.covered - some["refuted"], self.infeasible - some["proven"]
            parts.append(f"{covered} covered, {infeasible} infeasible, {self.unresolved - some['open']} unresolved")
        if some["total"]:
            parts.append(f"{some['refuted']} refuted, {some['proven']} proven, {some['open']} open")
        found = "" if self.adversarial is None else f", {self.adversarial} adversarial"
        return (
            f"<deepconcolic.Run: {self.criterion}, {'; '.join(parts)}; "
            f"{self.summary['tests']['generated']} generated tests{found}; {self.stop}>"
        )


def _again(files: Mapping[str, bytes]) -> Run:
    """A run that was pickled with its files, in a temporary folder of its own."""
    scratch = Scratch()
    folder = Path(scratch.name) / "run"
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return Run(folder, scratch)


def open_run(folder: _arrays.PathLike) -> Run:
    """The run in a folder, whoever made it: this package, the command, a cluster."""
    return Run(folder)
