"""What a session tells while it works."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional, Union

__all__ = ["Event", "Note", "Stage", "Test", "Round", "Proof", "Progress", "Stopped"]


@dataclass(frozen=True)
class Note:
    """Something the user should know, as soon as it is known."""

    text: str


@dataclass(frozen=True)
class Stage:
    """A stage of the work begins."""

    stage: str


@dataclass(frozen=True)
class Test:
    """A test entered the suite."""

    __test__ = False  # No test of pytest, whatever its name.

    number: int
    """Its row in the suite."""
    stage: str
    """The stage that made it."""
    seed: int
    """Its root seed, by its number in the data."""
    distance: float
    """How far from its root it is."""
    label: int
    """The label that the network gives it; -1 where its answer is no class."""


@dataclass(frozen=True)
class Round:
    """A round ended."""

    stage: str
    tests: int
    """Tests that it added."""
    gain: int
    """Requirements met for the first time."""


@dataclass(frozen=True)
class Proof:
    """Provers answered a question."""

    nodes: int
    certificate: bool
    """Whether it led to a certificate."""
    cut: bool
    """Whether time was up before all of it was tried."""


@dataclass(frozen=True)
class Progress:
    """Where the session is."""

    stage: str
    covered: int
    """Goals that a test covers."""
    impossible: int
    """Goals that are proven impossible."""
    total: int
    """All goals: requirements that want a witness."""
    refuted: int
    """Properties that a test refutes."""
    proven: int
    """Properties that are proven."""
    properties: int
    """All properties: requirements that want no witness (safety, lipschitz, forall)."""
    tests: int
    adversarial: Optional[int]
    """How many tests are known to be adversarial, if they are judged at all."""
    passes: int
    """Passes through the network so far."""
    seconds_left: Optional[float]
    """Time left, if there is a limit."""


@dataclass(frozen=True)
class Stopped:
    """The search ended: complete, budget, executions or interrupted."""

    reason: str


Event = Union[Note, Stage, Test, Round, Proof, Progress, Stopped]

_KINDS: dict[str, Any] = {kind.__name__: kind for kind in (Note, Stage, Test, Round, Proof, Progress, Stopped)}


def of_native(kind: str, fields: dict[str, Any]) -> Event:
    """An event of the compiled half.

    >>> of_native("Stopped", {"reason": "complete"})
    Stopped(reason='complete')
    """
    event: Event = _KINDS[kind](**fields)
    return event
