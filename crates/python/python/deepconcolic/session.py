"""Runs: a session that can be watched event by event, and ``run`` for those who want the end of it."""

from __future__ import annotations

import threading
import warnings
from pathlib import Path
from typing import Any, Callable, Iterator, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from . import _arrays, _job, _native, _verdicts
from ._progress import Listener, listener
from ._scratch import Scratch
from ._verdicts import Oracle
from .errors import UsageError
from .events import Event, of_native
from .model import Model, load
from .result import Run

__all__ = ["Session", "run", "resume"]

# How long the compiled half is waited for at a time, in seconds: Ctrl-C is seen in between.
_PATIENCE = 0.05

Criterion = Union[str, Sequence[str], None]
Validity = Callable[["npt.NDArray[np.float32]"], Any]


class Session:
    """A run under way. It begins when it is made, works on threads of its own, and tells its events in order.

    >>> session = dc.Session(model, x, y, criterion="nc", seeds=1, max_executions=600, proofs=False)
    >>> sum(isinstance(event, dc.events.Test) for event in session) > 0
    True
    >>> session.result().stop
    'executions'
    """

    def __init__(
        self,
        model: Any,
        x: _arrays.ArrayLike,
        y: Optional[_arrays.ArrayLike] = None,
        criterion: Criterion = "nc",
        *,
        requirements: Optional[_arrays.PathLike] = None,
        norm: Optional[str] = None,
        radius: Union[float, str, None] = None,
        region: Optional[_arrays.PathLike] = None,
        budget: _job.Seconds = "10m",
        max_executions: Optional[int] = None,
        seeds: _job.Seeds = None,
        adversarial_radius: Union[float, str, None] = None,
        oracle: Union[str, Oracle, None] = None,
        reference: Any = None,
        validity: Union[float, Validity, None] = None,
        strategy: Optional[str] = None,
        quantise: Optional[int] = None,
        fixed: Optional[Sequence[Union[str, int]]] = None,
        integer: Optional[Sequence[Union[str, int]]] = None,
        minimise: bool = False,
        proofs: bool = True,
        profile: Any = None,
        domain: Union[str, Sequence[float], None] = None,
        partition: Optional[str] = None,
        rng_seed: int = 0,
        scale: Optional[float] = None,
        decision: Optional[str] = None,
        layers: Optional[Sequence[str]] = None,
        neurons: Optional[Sequence[str]] = None,
        out: Optional[_arrays.PathLike] = None,
        resume: bool = False,
        threads: int = 0,
        **parameters: Any,
    ) -> None:
        self._model = load(model)
        self._data = _arrays.data(x, y)
        if not (oracle is None or callable(oracle) or isinstance(oracle, str)):
            raise UsageError(f"oracle is a function of (inputs, labels), or the name of an oracle, not {oracle!r}")
        threads = _job.whole(threads, "threads")
        self._begin(oracle if callable(oracle) else None)
        valid = _by_rows(validity, self._model.input_shape) if callable(validity) else None
        scratch = Scratch()
        # Goes with the session and its result.
        self._scratch: Optional[Scratch] = scratch
        inputs = Path(scratch.name) / "inputs"
        inputs.mkdir()
        given = {name: value for name, value in parameters.items() if value is not None}
        name, behind = _named(criterion, requirements)
        if "lipschitz" in (name or "").lower().split(","):
            given.setdefault("constant", "max")
        fields: dict[str, Any] = {
            "data": _job.data_settings(self._data, scale),
            "decision": decision,
            "criterion": name,
            "requirements": _job.text_or_file(requirements, inputs, "requirements.dr"),
            "parameters": _job.parameters(norm, layers, neurons, {**behind, **given}),
            "seeds": _job.seeds(seeds),
            "radius": _job.radius(radius),
            "region": None if region is None else str(Path(region)),
            "adversarial_radius": None
            if adversarial_radius is None
            else _job.number(adversarial_radius, "adversarial_radius"),
            "oracle": oracle if isinstance(oracle, str) else None,
            "reference": _job.array_or_file(reference, inputs, "reference"),
            "validity": None if callable(validity) else validity,
            "strategy": strategy,
            "quantise": quantise,
            "fixed": _job.features(fixed),
            "integer": _job.features(integer),
            "minimise": minimise,
            "proofs": proofs,
            "max_executions": max_executions,
            "profile": _job.array_or_file(profile, inputs, "profile"),
            "domain": _job.domain(domain),
            "partition": partition,
            "rng_seed": rng_seed,
            "command": ["deepconcolic (Python)"],
        }
        # What nobody gave is left to the library's own defaults.
        job = {field: value for field, value in fields.items() if value is not None}
        job["budget"] = _job.seconds(budget)
        self.folder = Path(out) if out is not None else Path(scratch.name) / "run"
        """The folder of the run; a temporary one unless one was named."""
        self._native = _native.Session(
            _job.text(job),
            self._model._native,
            self.folder,
            resume=resume,
            threads=threads,
            valid=valid,
            **self._data.arguments(),
        )

    def _begin(self, oracle: Optional[Oracle]) -> None:
        self._oracle = oracle
        self._ended = False
        self._judged = oracle is None
        self._failure: Optional[BaseException] = None
        # Whoever asks for the next event; several threads may.
        self._turn = threading.RLock()

    def _reopen(
        self,
        folder: Path,
        budget: _job.Seconds,
        max_executions: Optional[int],
        model: Optional[_arrays.PathLike],
        oracle: Optional[Oracle],
        threads: int,
    ) -> None:
        self.folder = folder
        self._scratch = None
        self._begin(oracle)
        named = None if model is None else Path(model)
        limit = None if max_executions is None else _job.whole(max_executions, "max_executions")
        threads = _job.whole(threads, "threads")
        self._native = _native.Session.reopen(folder, _job.seconds(budget), limit, named, threads)

    def __iter__(self) -> Iterator[Event]:
        """Events as they come, until the run ends."""
        while not self._ended:
            event = self._next()
            if event is not None:
                yield event

    def _next(self) -> Optional[Event]:
        with self._turn:
            if self._ended:
                return None
            try:
                return self._heard()
            except KeyboardInterrupt:
                raise
            except BaseException as failure:
                self._ended, self._failure = True, failure
                raise

    def _heard(self) -> Optional[Event]:
        told = self._native.next(_PATIENCE)
        if told is None:
            return None
        kind, fields = told
        if kind != "Ended":
            return of_native(kind, fields)
        self._ended = True
        if self._oracle is not None:
            _verdicts.ask(self._oracle, Run(self.folder).suite, self.folder)
            self._judged = True
        return None

    def cancel(self) -> None:
        """Asks for an end at the next chance; what is done so far is kept."""
        self._native.cancel()

    def result(self) -> Run:
        """What came of it, waiting for the end."""
        for _ in self:
            pass
        if self._failure is not None:
            raise self._failure
        if not self._judged:
            warnings.warn("the oracle was interrupted before it had judged the tests: the run's own verdicts count", stacklevel=3)
        return Run(self.folder, self._scratch, self._oracle)

    def abandon(self) -> None:
        """Asks for an end and waits for it, whatever comes of it: then nobody writes to the folder any more."""
        self.cancel()
        while not self._ended:
            try:
                self._next()
            except Exception:
                # It failed on the way to its end, which is over then too.
                return

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.abandon()


def _by_rows(validity: Validity, shape: tuple[int, ...]) -> Callable[["npt.NDArray[np.float32]"], list[bool]]:
    """A function of inputs as one of flat rows, which is what the compiled half has."""

    def allowed(rows: "npt.NDArray[np.float32]") -> list[bool]:
        given = validity(rows.reshape(len(rows), *shape))
        found: list[bool] = _verdicts.bools(given, len(rows), "validity", "takes inputs and gives one bool an input").tolist()
        return found

    return allowed


def _named(criterion: Criterion, requirements: Any) -> tuple[Optional[str], dict[str, Any]]:
    """The criterion, or several with commas between them, unless there are requirements instead."""
    if requirements is not None:
        return None, {}
    if criterion is None:
        raise UsageError("give a criterion, or requirements")
    names, behind = _job.criteria(criterion)
    if not names:
        raise _job.no_criterion("an empty list")
    return ",".join(names), behind


def run(
    model: Any,
    x: _arrays.ArrayLike,
    y: Optional[_arrays.ArrayLike] = None,
    criterion: Criterion = "nc",
    *,
    progress: Union[bool, Callable[[Any], None]] = False,
    cluster: Optional[str] = None,
    **options: Any,
) -> Run:
    """Makes the tests that are missing: a suite that meets the requirements, checked and replayable.

    ``norm`` and ``radius`` say how far from its seed a test may lie (``radius="8/255"`` is a number, ``"none"`` the whole
    domain); ``budget`` is seconds, or "10m"; ``out`` a folder for the run; ``progress`` is True, or a callable that is told
    every event. All options are those of :class:`Session`. With ``cluster="ray"`` the work is done in shards on Ray
    (:mod:`deepconcolic.cluster`).

    On Ctrl-C the run ends at the next chance and what exists so far is returned; its ``resume()`` goes on.

    >>> import deepconcolic as dc
    >>> found = dc.run(model, x, y, criterion="nc", norm="linf", radius=0.1, seeds=1, max_executions=600, proofs=False)
    >>> found.suite.x.shape[1:]
    (1, 28, 28)
    >>> bool((found.suite.distances <= 0.1001).all())
    True
    """
    if cluster is not None:
        if cluster != "ray":
            raise UsageError(f"there is no cluster {cluster!r}; there is 'ray'")
        from .cluster import run as run_on_ray

        return run_on_ray(model, x, y, criterion, progress=progress, **options)
    return _watched(Session(model, x, y, criterion, **options), progress)


def _watched(session: Session, progress: Union[bool, Listener]) -> Run:
    """Runs a session to its end, which Ctrl-C brings nearer."""
    told = listener(progress)
    try:
        for event in session:
            told(event)
    except KeyboardInterrupt:
        # From now on nobody need be told, and once more ends it without a result.
        session.cancel()
    except BaseException:
        session.abandon()
        raise
    finally:
        close = getattr(told, "close", None)
        if close is not None:
            close()
    return session.result()


def resume(
    folder: _arrays.PathLike,
    *,
    budget: _job.Seconds = "10m",
    max_executions: Optional[int] = None,
    model: Optional[_arrays.PathLike] = None,
    progress: Union[bool, Listener] = False,
    oracle: Optional[Oracle] = None,
    threads: int = 0,
) -> Run:
    """Goes on with the run in a folder, after it was stopped or killed, for so much more time. The folder says everything
    else; ``model`` is for one that lies elsewhere by now, and ``oracle`` for a function that judges the tests, which no folder
    keeps. A ``max_executions`` is for the whole run, as in ``run``. A run whose inputs were held to a function, ``validity``, goes on with
    ``run(..., out=folder, resume=True, validity=...)`` alone."""
    session = Session.__new__(Session)
    session._reopen(Path(folder), budget, max_executions, model, oracle, threads)
    return _watched(session, progress)
