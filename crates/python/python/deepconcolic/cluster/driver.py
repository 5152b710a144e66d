"""The driver of a run on Ray: sends shards, keeps what comes back, and merges."""

from __future__ import annotations

import hashlib
import json
import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Optional, Union

import numpy as np

from .. import _arrays, _job, _native, _verdicts
from ..errors import ClusterError, Error, FolderError, MissingPackage, UsageError
from ..result import Run
from ..session import Criterion
from .shards import Journal, payload, work

# Shards for each slot of the cluster: enough that the last ones to end do not keep the others waiting.
_SHARDS_EACH = 4
# Tasks that wait beside those that work, for each slot.
WAITING_EACH = 2
# How often a shard is asked for again when its worker is gone.
_RETRIES = 3
# Seconds in which a cluster must answer.
_PATIENCE = 5.0
# How HTTP/2 begins, which Ray speaks: the preface, and a frame of settings without any. Its answer is a frame of that type.
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
_SETTINGS = 4
# What a worker says that cannot find what it is to do.
_NOT_FOUND = ("ModuleNotFoundError", "ImportError", "AttributeError")


@dataclass(frozen=True)
class ShardEnded:
    """A shard came back and is kept."""

    number: int
    """Which one, from 1."""
    done: int
    """How many have come back."""
    count: int
    """How many there are."""


def run(
    model: Any,
    x: _arrays.ArrayLike,
    y: Optional[_arrays.ArrayLike] = None,
    criterion: Criterion = "nc",
    *,
    out: _arrays.PathLike,
    shards: Optional[int] = None,
    threads: int = 1,
    address: Optional[str] = None,
    in_flight: Optional[int] = None,
    budget: _job.Seconds = "10m",
    progress: Union[bool, Callable[[ShardEnded], None]] = False,
    **options: Any,
) -> Run:
    """Runs in shards on Ray. ``out`` is the folder for the merged run; beside it, in ``OUT.shards``, is the journal, from
    which a killed driver goes on when it is asked for the same again.

    ``address`` is that of a cluster (default: the one this process is connected to, else that of RAY_ADDRESS, else one
    on this machine). An ``oracle`` that is a function judges the merged tests, in this process. ``threads`` is what a task takes (``num_cpus``). ``budget`` is for the whole: a shard gets its part of
    what all slots together have. ``max_executions`` is for each shard.
    """
    # It judges tests, which are known when all is merged.
    oracle = options.pop("oracle") if callable(options.get("oracle")) else None
    ray = connect(address)
    target = Path(out)
    if (target / "run.json").exists():
        raise FolderError(f"{target} has a finished run; name another folder, or open_run() it")
    slots = slots_of(ray, threads)
    count = count_of(shards, slots)
    given = payload(model, x, y)
    seconds = _job.seconds(budget)
    each = {
        "criterion": criterion,
        **options,
        "threads": threads,
        "budget": None if seconds is None else max(1.0, seconds * min(slots, count) / count),
    }
    asked: dict[str, Any] = {"shards": count, "options": {name: _words(value) for name, value in sorted(each.items())}}
    if shards is None:
        # The cluster may have another size when it is asked again.
        count = _count_of(_journal_of(target)) or count
        asked["shards"] = count
        asked["options"].pop("budget")
    journal = Journal(_journal_of(target), asked, given)
    told = progress if callable(progress) else (_line if progress else _nobody)
    done = journal.done(count)

    def keep(number: int, files: dict[str, bytes]) -> None:
        journal.keep(number, files)
        done.append(number)
        told(ShardEnded(number, len(done), count))

    missing = [number for number in range(1, count + 1) if number not in set(done)]
    collect(ray, Task(work, given, each, count, threads), missing, in_flight or slots * WAITING_EACH, keep)
    found = _merged(journal, target, count)
    if oracle is None:
        return found
    _verdicts.ask(oracle, found.suite, found.folder)
    return Run(target, None, oracle)


def _words(value: Any) -> str:
    """An option as the journal knows it: the same in every process, and another for another array.

    >>> _words(np.zeros(3)) == _words(np.zeros(3)), _words(np.zeros(5000)) == _words(np.arange(5000.0))
    (True, False)
    >>> _words(_words)
    'deepconcolic.cluster.driver._words'
    """
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(_words, value))}]"
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}"
    return repr(value)


def slots_of(ray: Any, threads: int) -> int:
    """Tasks that can work at a time."""
    if _job.whole(threads, "threads") < 1:
        raise UsageError(f"a task on a cluster has a number of threads, at least 1, not {threads}")
    return max(1, int(ray.cluster_resources().get("CPU", 1)) // threads)


def count_of(shards: Optional[int], slots: int) -> int:
    """How many shards there are."""
    count = _job.whole(shards, "shards") if shards is not None else _SHARDS_EACH * slots
    if count < 1:
        raise UsageError(f"shards must be at least 1, not {count}")
    return count


def _journal_of(target: Path) -> Path:
    return target.with_name(target.name + ".shards")


def _count_of(folder: Path) -> Optional[int]:
    """How many shards a journal was begun with."""
    try:
        return int(json.loads((folder / "asked.json").read_text(encoding="utf-8"))["shards"])
    except (OSError, ValueError, KeyError):
        return None


def _line(event: ShardEnded) -> None:
    print(f"shard {event.number}: {event.done} of {event.count} came back", flush=True)


def _nobody(event: ShardEnded) -> None:
    pass


def connect(address: Optional[str]) -> Any:
    """Ray, connected. A cluster that does not answer is said at once."""
    try:
        import ray
    except ImportError as why:
        raise MissingPackage("runs on Ray need it installed: pip install 'deepconcolic[ray]'") from why
    if address not in (None, "auto", "local") and not str(address).startswith("ray://"):
        _probe(str(address))
    if ray.is_initialized():
        return ray
    try:
        ray.init(address=address, include_dashboard=False if address in (None, "local") else None, log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as why:
        raise ClusterError(
            f"Ray does not answer at {address or 'this machine'}: {why}; start it with `ray start --head`, and set RAY_AUTH_MODE and "
            "RAY_AUTH_TOKEN here as they are set there"
        ) from why
    return ray


def _probe(address: str) -> None:
    """Refuses an address at which there is no Ray. Ray itself asks what does not understand it for minutes."""
    host, _, port = address.rpartition(":")
    wanted = "give HOST:PORT of a head that `ray start --head` started, usually port 6379"
    try:
        with socket.create_connection((host or "127.0.0.1", int(port)), _PATIENCE) as peer:
            # Behind TLS a greeting says nothing.
            if os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true"):
                return
            peer.settimeout(_PATIENCE)
            peer.sendall(_GREETING)
            answer = _first(peer, 4)
    except TimeoutError as why:
        raise ClusterError(f"no Ray answers at {address} (nothing in {_PATIENCE:g} s); {wanted}") from why
    except (OSError, ValueError) as why:
        raise ClusterError(f"no Ray answers at {address} ({why}); {wanted}") from why
    if len(answer) < 4 or answer[3] != _SETTINGS:
        raise ClusterError(f"no Ray answers at {address} (another service is there); {wanted}")


def _first(peer: socket.socket, count: int) -> bytes:
    """The first bytes that come, fewer if that is all."""
    found = b""
    while len(found) < count:
        more = peer.recv(count - len(found))
        if not more:
            break
        found += more
    return found


@dataclass(frozen=True)
class Task:
    """What is done for every shard."""

    function: Callable[..., Any]
    """Takes what is given, options, the shard's number from 1, and how many there are."""
    given: dict[str, Any]
    """The same for all: it is sent once."""
    options: dict[str, Any]
    count: int
    threads: int


def collect(ray: Any, task: Task, numbers: list[int], in_flight: int, keep: Callable[[int, Any], None]) -> None:
    """Has these shards done, and keeps what comes back of each as soon as it does."""
    todo = list(numbers)
    if not todo:
        return
    # Once: every worker of a machine sees the same memory.
    sent = ray.put(task.given)
    remote = ray.remote(num_cpus=task.threads, max_retries=_RETRIES)(task.function)
    waiting: dict[Any, int] = {}
    lost: dict[int, int] = {}
    try:
        while todo or waiting:
            while todo and len(waiting) < in_flight:
                number = todo.pop(0)
                waiting[remote.remote(sent, task.options, number, task.count)] = number
            ready, _ = ray.wait(list(waiting), num_returns=1, timeout=1.0)
            for reference in ready:
                number = waiting.pop(reference)
                try:
                    result = ray.get(reference)
                except ray.exceptions.RayTaskError as why:
                    raise _cause(why, number) from why
                except ray.exceptions.RayError as why:
                    lost[number] = lost.get(number, 0) + 1
                    if lost[number] > _RETRIES:
                        raise ClusterError(f"shard {number} was lost {lost[number]} times: {why}; ask again to go on") from why
                    todo.append(number)
                    continue
                keep(number, result)
    finally:
        for reference in waiting:
            ray.cancel(reference, force=True)


def _cause(why: Any, number: int) -> Error:
    """What a worker raised, as the error it was."""
    cause = getattr(why, "cause", None)
    if isinstance(cause, Error):
        return type(cause)(f"shard {number}: {cause}")
    lines = str(cause or why).splitlines()
    missing = [line.strip() for line in lines if line.strip().startswith(_NOT_FOUND) and "deepconcolic" in line]
    if missing:
        return ClusterError(
            f"shard {number}: a worker has no deepconcolic, or another version ({missing[-1]}); install {_native.__version__} on "
            "every machine of the cluster"
        )
    return ClusterError(f"shard {number} failed on its worker: {cause or why}")


def _merged(journal: Journal, target: Path, count: int) -> Run:
    parts = [journal.shard(number) for number in range(1, count + 1)]
    _native.merge(target, parts, kept=journal.inputs, command=["deepconcolic.cluster (Python)"])
    journal.remove()
    return Run(target)
