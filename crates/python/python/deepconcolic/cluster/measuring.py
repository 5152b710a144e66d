"""What large data cover, measured in shards of the data whose figures are joined."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any, Mapping, Optional

from .. import _arrays, _job, _native
from ..model import Model, load
from . import shards as _shards
from .driver import WAITING_EACH, Task, collect, connect, count_of, slots_of


def measured(
    job: dict[str, Any],
    model: Model,
    x: _arrays.ArrayLike,
    y: Optional[_arrays.ArrayLike],
    *,
    shards: Optional[int],
    threads: int,
    address: Optional[str],
) -> dict[str, Any]:
    """The report of a job, which is that of one process. The ranges of neurons that criteria compare with are found here, once."""
    ray = connect(address)
    slots = slots_of(ray, threads)
    count = count_of(shards, slots)
    given = _shards.payload(model, x, y)
    with tempfile.TemporaryDirectory(prefix="deepconcolic-") as scratch:
        profile = Path(scratch) / "profile.npz"
        arguments = _arrays.data(given["x"], given["y"]).arguments()
        words = _native.coverage_profile(_job.text(job), model._native, profile, **arguments)
        given["profile"] = profile.read_bytes() if words is not None else None
        parts: list[str] = []
        task = Task(part, given, {"job": job, "threads": threads}, count, threads)
        collect(ray, task, list(range(1, count + 1)), slots * WAITING_EACH, lambda _, found: parts.append(found))
        shared = job if words is None else {**job, "profile": str(profile)}
        report: dict[str, Any] = json.loads(_native.coverage_joined(_job.text(shared), model._native, parts, **arguments))
    if words is not None:
        report["profile"] = words
    return report


def part(given: Mapping[str, Any], options: Mapping[str, Any], number: int, count: int) -> str:
    """What shard ``number`` of ``count``, from 1, covers. Nothing here knows of Ray."""
    _shards.require_version(given)
    model = load(given["model"], **given["numbers"])
    job = dict(options["job"])
    with tempfile.TemporaryDirectory(prefix="deepconcolic-shard-") as scratch:
        if given["profile"] is not None:
            path = Path(scratch) / "profile.npz"
            path.write_bytes(given["profile"])
            job["profile"] = str(path)
        # Arrays that Ray hands over are in shared memory: they are used where they are.
        arguments = _arrays.data(given["x"], given["y"]).arguments()
        return _native.coverage_part(_job.text(job), model._native, f"{number}/{count}", threads=options["threads"], **arguments)
