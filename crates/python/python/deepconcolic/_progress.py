"""How a run shows that it is alive: tqdm if it is there, else plain lines, or whatever the caller does."""

from __future__ import annotations

import sys
import time
from typing import Any, Callable, Union

from .events import Event, Progress

Listener = Callable[[Event], None]


def listener(progress: Union[bool, Listener]) -> Listener:
    """Who is told of events."""
    if callable(progress):
        return progress
    if not progress:
        return lambda event: None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Plain()
    return _Bar(tqdm)


class _Bar:
    """A bar of tqdm: goals covered; where there are none, properties refuted."""

    def __init__(self, tqdm: Any) -> None:
        self._tqdm = tqdm
        self._bar: Any = None

    def __call__(self, event: Event) -> None:
        if not isinstance(event, Progress):
            return
        if self._bar is None:
            self._bar = self._tqdm(total=event.total or event.properties, unit="req")
        self._bar.set_description(event.stage, refresh=False)
        self._bar.set_postfix(tests=event.tests, adversarial=event.adversarial, refresh=False)
        self._bar.update((event.covered if event.total else event.refuted) - self._bar.n)

    def close(self) -> None:
        """Leaves the bar as it is."""
        if self._bar is not None:
            self._bar.close()


class _Plain:
    """A line now and then."""

    _EVERY = 2.0

    def __init__(self) -> None:
        self._last = -self._EVERY

    def __call__(self, event: Event) -> None:
        if not isinstance(event, Progress) or time.monotonic() - self._last < self._EVERY:
            return
        self._last = time.monotonic()
        parts = []
        if event.total:
            open_goals = event.total - event.covered - event.impossible
            parts.append(f"{event.covered} of {event.total} covered, {event.impossible} impossible, {open_goals} open")
        if event.properties:
            open_properties = event.properties - event.refuted - event.proven
            parts.append(
                f"{event.refuted} of {event.properties} properties refuted, {event.proven} proven, {open_properties} open"
            )
        print(f"{event.stage}: {', '.join(parts)}, {event.tests} tests", file=sys.stderr)
