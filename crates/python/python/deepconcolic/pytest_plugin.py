"""For pytest: the fixture ``deepconcolic``, which tests a model as other code is tested.

>>> def test_model_is_safe(deepconcolic):
...     deepconcolic("model.onnx", x, y).require(nc=0.95, adversarial=0, safety={"radius": 2 / 255})

A failure shows the command that replays it and the nearest adversarial input. With ``--deepconcolic-update`` the tests
that the model passes are kept as a baseline beside the test file; later runs of pytest run them first.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Mapping, Optional, Union

import pytest

if TYPE_CHECKING:
    import numpy as np

    from .model import Model
    from .result import Run

# Seconds for each criterion that is required, unless the test says otherwise.
_BUDGET = 20.0
_BASELINES = "deepconcolic-baseline"
# Rows of a baseline that a failure names.
_NAMED = 5


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that keeps baselines."""
    group = parser.getgroup("deepconcolic", "concolic testing of neural networks")
    group.addoption(
        "--deepconcolic-update",
        action="store_true",
        help="keep the tests that models pass now as baselines, in the folder deepconcolic-baseline beside the test file",
    )


@pytest.fixture
def deepconcolic(request: pytest.FixtureRequest) -> "Fixture":
    """``deepconcolic(model, x, y).require(nc=0.95, adversarial=0, safety={"radius": 2 / 255})``."""
    return Fixture(request)


class Fixture:
    """Makes subjects: a model with data."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._request = request
        self._calls = 0

    def __call__(self, model: Any, x: Any, y: Any = None, **options: Any) -> "Subject":
        """A model with data. Options are those of :func:`deepconcolic.run`, for everything that is required."""
        from .model import load

        self._calls += 1
        node = self._request.node
        name = _name_of(node.nodeid)
        number = "" if self._calls == 1 else f"-{self._calls}"
        file = re.sub(r"\W+", "-", str(node.path.stem))
        # Files of the same name may lie in several folders, and be tested at the same time.
        folder = f"{file}-{_digest(node.nodeid.partition('::')[0])}"
        runs = self._runs() / folder / f"{name}{number}"
        baseline = node.path.parent / _BASELINES / f"{file}-{name}{number}.npz"
        update = bool(self._request.config.getoption("--deepconcolic-update"))
        return Subject(load(model), x, y, options, runs, baseline, update)

    def _runs(self) -> Path:
        """Where runs are kept until the next time: pytest's cache, or a temporary folder where there is none."""
        cache = getattr(self._request.config, "cache", None)
        if cache is None:
            factory: pytest.TempPathFactory = self._request.getfixturevalue("tmp_path_factory")
            return factory.mktemp("deepconcolic")
        kept: Path = cache.mkdir("deepconcolic")
        return kept


class Subject:
    """A model with data, of which something is required."""

    def __init__(
        self, model: "Model", x: Any, y: Any, options: dict[str, Any], runs: Path, baseline: Path, update: bool
    ) -> None:
        self.model = model
        self.runs: dict[str, "Run"] = {}
        """What was run, by criterion."""
        self._x, self._y = x, y
        self._options = options
        self._folder = runs
        self._baseline = baseline
        self._update = update

    def require(
        self,
        *,
        adversarial: Optional[int] = None,
        safety: Optional[Mapping[str, Any]] = None,
        lipschitz: Optional[Mapping[str, Any]] = None,
        **least: Union[float, Mapping[str, Any]],
    ) -> "Subject":
        """Fails the test unless all of it holds. ``nc=0.95``: of what is possible at least this share is covered (so for
        every criterion by its name); ``adversarial``: at most so many adversarial tests; ``safety``, ``lipschitz``: options of
        that run, in which nothing may be refuted (with ``"proven": True`` all of it must be proven)."""
        wrong = self._regressions()
        for criterion, wanted in least.items():
            options = dict(wanted) if isinstance(wanted, Mapping) else {"coverage": float(wanted)}
            share = options.pop("coverage", None)
            run = self._run(criterion, options)
            if share is not None and run.feasible_coverage < share:
                wrong.append(_too_little(run, share))
        if adversarial is not None and not self.runs:
            self._run("nc", {})
        if adversarial is not None:
            wrong += [_too_many(run, adversarial) for run in self.runs.values() if not run.passed(adversarial=adversarial)]
        for criterion, asked in (("safety", safety), ("lipschitz", lipschitz)):
            if asked is not None:
                options = dict(asked)
                proven = bool(options.pop("proven", False))
                wrong += _refuted(self._run(criterion, options), proven)
        if wrong:
            pytest.fail("\n\n".join(wrong), pytrace=False)
        if self._update:
            self._keep_baseline()
        return self

    def _run(self, criterion: str, options: dict[str, Any]) -> "Run":
        from .session import run

        folder = self._folder / criterion
        # Of an earlier run of the same test.
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        merged = {"budget": _BUDGET, "threads": _threads(), **self._options, **options}
        found = run(self.model, self._x, self._y, criterion, out=folder, **merged)
        self.runs[criterion] = found
        return found

    def _regressions(self) -> list[str]:
        """Tests of the baseline that the model no longer passes."""
        import numpy as np

        if not self._baseline.exists() or self._update:
            return []
        with np.load(self._baseline) as arrays:
            inputs, expected = arrays["x"], arrays["label"]
        found = self.model.labels(inputs)
        rows = np.flatnonzero(found != expected)
        if not len(rows):
            return []
        shown = [f"  row {row}: label {found[row]}, was {expected[row]}" for row in rows[:_NAMED]]
        if len(rows) > _NAMED:
            shown.append(f"  and {len(rows) - _NAMED} more")
        words = f"{len(rows)} of {len(inputs)} tests of the baseline {self._baseline} have another label now:"
        accept = "  if that is meant: pytest --deepconcolic-update"
        return ["\n".join([words, *shown, accept])]

    def _keep_baseline(self) -> None:
        import numpy as np

        inputs = [run.suite.x[~run.adversarial_rows] for run in self.runs.values()]
        if not inputs:
            return
        kept: "np.ndarray[Any, Any]" = np.unique(np.concatenate(inputs), axis=0)
        self._baseline.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(self._baseline, x=kept, label=self.model.labels(kept))


def _name_of(nodeid: str) -> str:
    """What a test is called in names of files: with its class, and with a digest where its parameters have characters
    that names of files have not.

    >>> _name_of("tests/test_a.py::test_b[0]"), _name_of("tests/test_a.py::TestC::test_b")
    ('test_b-0', 'TestC-test_b')
    >>> _name_of("test_a.py::test_b[1/2]") != _name_of("test_a.py::test_b[1-2]")
    True
    """
    name = nodeid.partition("::")[2]
    plain = re.sub(r"[^\w.-]+", "-", name).strip("-")
    bare = re.sub(r"\[([\w.-]*)\]$", "", name).replace("::", "")
    return plain if re.fullmatch(r"\w*", bare) and "-" not in bare else f"{plain}-{_digest(name)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _threads() -> int:
    """All cores, or one where pytest-xdist has a worker on each. Results do not depend on it."""
    return 1 if "PYTEST_XDIST_WORKER" in os.environ else 0


def _again(run: "Run") -> str:
    return f"  replay: python -m deepconcolic replay {run.folder}"


def _too_little(run: "Run", share: float) -> str:
    some = run.properties
    covered = run.covered - some["refuted"]
    possible = run.total - some["total"] - (run.infeasible - some["proven"])
    unresolved = run.unresolved - some["open"]
    return "\n".join(
        [
            f"{run.criterion}: {covered} of {possible} possible goals are covered, "
            f"{100 * run.feasible_coverage:.2f} %, and {100 * share:.2f} % are required ({unresolved} unresolved; "
            f"stopped: {run.stop})",
            _again(run),
        ]
    )


def _too_many(run: "Run", allowed: int) -> str:
    count = int(run.adversarial_rows.sum())
    lines = [f"{run.criterion}: {count} adversarial tests, and at most {allowed} are allowed"]
    lines += _nearest(run)
    return "\n".join([*lines, _again(run)])


def _nearest(run: "Run") -> list[str]:
    """The adversarial test that is nearest to a real input."""
    suite = run.suite
    row = suite.nearest_adversarial()
    if row is None:
        return []
    lines = [
        f"  nearest: row {row} of {run.folder / 'suite.npz'}, {suite.reference_distances[row]:.4g} from sample "
        f"{suite.references[row]}: label {suite.labels[row]} instead of {suite.reference_labels[row]}"
    ]
    pictures = sorted((run.folder / "adversarial").glob("*.png"))
    if pictures:
        lines.append(f"  pictures: {pictures[0].parent}")
    return lines


def _refuted(run: "Run", proven: bool) -> list[str]:
    if run.covered:
        words = f"{run.criterion}: refuted for {run.covered} of {run.total} regions ({run.infeasible} proven, {run.unresolved} open)"
        return ["\n".join([words, *_nearest(run), _again(run)])]
    if proven and run.unresolved:
        words = f"{run.criterion}: {run.unresolved} of {run.total} regions are neither proven nor refuted (stopped: {run.stop})"
        return ["\n".join([words, _again(run)])]
    return []
