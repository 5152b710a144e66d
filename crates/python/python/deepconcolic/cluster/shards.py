"""Shards: what a worker does, and the driver's journal of what came back. Nothing here knows of Ray."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, Mapping, Optional

import numpy as np

from .. import _arrays
from .._native import __version__
from ..errors import ClusterError, DataError, FolderError, ModelError
from ..model import Model, load
from ..session import Session

# What a shard need not send: the driver has it, or makes it anew when it merges.
_LEFT_BEHIND = ("model.onnx", "data.npz", "adversarial", "nearest-adversarial", "statement.md", "index.html")


def payload(model: Any, x: _arrays.ArrayLike, y: Optional[_arrays.ArrayLike]) -> dict[str, Any]:
    """Model and data as they go to every worker, once."""
    loaded = load(model)
    if _arrays.is_path(x):
        x, y = _read(Path(x), y)
    data = _arrays.data(x, y)
    return {
        "version": __version__,
        "model": _content(loaded),
        "numbers": _numbers(loaded),
        "x": data.x,
        "y": None if y is None else np.asarray(data.labels if data.labels is not None else data.quantities),
    }


def _content(model: Model) -> bytes:
    held = model._native.content()
    if held is not None:
        return bytes(held)
    if model.path is None:
        raise ModelError("this model has neither a file nor a content that could be sent")
    return model.path.read_bytes()


def _numbers(model: Model) -> dict[str, Any]:
    """How the model is read."""
    found: dict[str, Any] = json.loads(model._native.options())
    return found


def _read(path: Path, y: Optional[_arrays.ArrayLike]) -> tuple[Any, Any]:
    """Arrays of a file of numpy: workers need not see the driver's disk."""
    if path.suffix == ".npy":
        return np.load(path), y
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            if "x" in arrays.files:
                return arrays["x"], arrays["y"] if "y" in arrays.files else y
    raise DataError(f"{path}: a cluster takes arrays, .npy, or .npz with x and y; read the data first")


def work(given: Mapping[str, Any], options: Mapping[str, Any], number: int, count: int) -> dict[str, bytes]:
    """Does shard ``number`` of ``count``, from 1: the files of its run."""
    require_version(given)
    model = load(given["model"], **given["numbers"])
    # Arrays that Ray hands over are read-only and in shared memory: they are used where they are.
    with tempfile.TemporaryDirectory(prefix="deepconcolic-shard-") as scratch:
        folder = Path(scratch) / "run"
        session = Session(model, given["x"], given["y"], **{**options, "out": folder, "partition": f"{number}/{count}"})
        session.result()
        return packed(folder)


def require_version(given: Mapping[str, Any]) -> None:
    """Refuses work of a driver with another version of the package."""
    if given["version"] != __version__:
        raise ClusterError(
            f"a worker has deepconcolic {__version__} and the driver has {given['version']}; install the same version "
            "on every machine of the cluster"
        )


def packed(folder: Path) -> dict[str, bytes]:
    """The files of a run that a merge needs, by their names in it."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    named = ((path.relative_to(folder), path) for path in files)
    return {str(name): path.read_bytes() for name, path in named if name.parts[0] not in _LEFT_BEHIND}


class Journal:
    """The driver's own record, a folder: what was asked, model and data, and a folder for each shard that came back."""

    def __init__(self, folder: Path, asked: Mapping[str, Any], given: Mapping[str, Any]) -> None:
        self.folder = folder
        self.inputs = folder / "inputs"
        record = {**asked, "fingerprint": _fingerprint(given)}
        path = folder / "asked.json"
        if path.exists():
            found = json.loads(path.read_text(encoding="utf-8"))
            if found != json.loads(json.dumps(record)):
                differing = sorted(key for key in {*found, *record} if found.get(key) != json.loads(json.dumps(record.get(key))))
                raise FolderError(
                    f"{folder} is the journal of another run (different: {', '.join(differing)}); ask for the same, or name "
                    "another folder"
                )
            return
        self.inputs.mkdir(parents=True, exist_ok=True)
        (self.inputs / "model.onnx").write_bytes(given["model"])
        arrays = {"x": given["x"], **({} if given["y"] is None else {"y": given["y"]})}
        np.savez(self.inputs / "data.npz", **arrays)
        # Last: a journal that says what was asked has the rest.
        _write(path, json.dumps(record, indent=2).encode())

    def shard(self, number: int) -> Path:
        """Where a shard is kept."""
        return self.folder / f"{number:05}"

    def done(self, count: int) -> list[int]:
        """Shards that came back."""
        return [number for number in range(1, count + 1) if self.shard(number).is_dir()]

    def keep(self, number: int, files: Mapping[str, bytes]) -> None:
        """Keeps a shard, whole or not at all."""
        unfinished = self.folder / f".{number:05}.{os.getpid()}"
        shutil.rmtree(unfinished, ignore_errors=True)
        for name, content in files.items():
            path = unfinished / name
            if unfinished not in path.resolve().parents and unfinished.resolve() not in path.resolve().parents:
                raise ClusterError(f"shard {number} names the file {name}, which is outside its folder")
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, content)
        try:
            unfinished.rename(self.shard(number))
        except OSError:
            if not self.shard(number).is_dir():
                raise
            # Another attempt at the same shard was first, and found the same.
            shutil.rmtree(unfinished, ignore_errors=True)

    def remove(self) -> None:
        """Forgets everything, once it is merged."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _fingerprint(given: Mapping[str, Any]) -> str:
    """Which model and data these are."""
    digest = hashlib.sha256(given["model"])
    digest.update(json.dumps(given["numbers"], sort_keys=True).encode())
    for name in ("x", "y"):
        if given[name] is not None:
            digest.update(np.ascontiguousarray(given[name]).tobytes())
    return digest.hexdigest()


def _write(path: Path, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
