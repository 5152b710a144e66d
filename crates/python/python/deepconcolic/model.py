"""Models: loaded from wherever users have them, shown, and run."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from . import _arrays, _job, _native
from .errors import UsageError

__all__ = ["Layer", "Model", "load"]


@dataclass(frozen=True)
class Layer:
    """A hidden layer: an activation operator, whose elements are neurons."""

    number: int
    """As the paper counts: the input is layer 1."""
    name: str
    """Its name in the model file."""
    kind: str
    """The operator."""
    shape: tuple[int, ...]
    """Without the batch axis."""
    neurons: int
    """How many there are."""


class Model:
    """A network that was read. Made by :func:`load`."""

    def __init__(self, native: _native.Model, path: Optional[Path]) -> None:
        self._native = native
        self.path = path
        """The file it is from; none if it is in memory alone."""
        self.info: dict[str, Any] = json.loads(native.inspection())
        """Everything that ``deepconcolic inspect --json`` prints."""
        self.layers: list[Layer] = [
            Layer(layer["number"], layer["name"], layer["kind"], tuple(layer["shape"]), layer["neurons"])
            for layer in self.info["layers"]
        ]
        """The hidden layers, in order."""

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of one input, without the batch axis."""
        return tuple(self.info["input"]["shape"])

    @property
    def neurons(self) -> int:
        """How many neurons all hidden layers have."""
        return int(self.info["neurons"])

    def __call__(self, x: _arrays.ArrayLike, *, output: Optional[str] = None) -> "npt.NDArray[np.float32]":
        """What the model says of samples: its first floating-point output, or the one named.

        >>> model(x[:5]).shape
        (5, 10)
        """
        if not (output is None or isinstance(output, str)):
            raise UsageError(f"output is the name of an output, not {output!r}")
        return self._native.evaluate(_arrays.array(x), output=output)

    def activations(
        self, x: _arrays.ArrayLike, layer: Union[str, int], *, pre: bool = False
    ) -> "npt.NDArray[np.float32]":
        """What comes out of a hidden layer, by name or number; with ``pre`` what goes into it.

        >>> model.activations(x[:5], "relu3").shape
        (5, 32)
        """
        return self._native.evaluate(_arrays.array(x), layer=str(layer), pre=pre)

    def active(self, x: _arrays.ArrayLike) -> "npt.NDArray[np.bool_]":
        """Which neurons each sample makes active (u >= 0): a row a sample, neurons in the order of requirements.

        >>> masks = model.active(x)
        >>> masks.shape, int(masks.any(axis=0).sum())
        ((300, 1816), 1812)
        """
        samples = _arrays.array(x)
        masks = [self.activations(samples, layer.name, pre=True).reshape(len(samples), -1) >= 0 for layer in self.layers]
        return np.concatenate(masks, axis=1) if masks else np.zeros((len(samples), 0), bool)

    def labels(self, x: _arrays.ArrayLike) -> "npt.NDArray[np.int64]":
        """The class of each sample: the largest output, or for a single output whether it is at least 0.5."""
        outputs = self(x)
        flat = outputs.reshape(len(outputs), -1)
        if flat.shape[1] == 1:
            return (flat[:, 0] >= 0.5).astype(np.int64)
        return np.asarray(flat.argmax(axis=1), dtype=np.int64)

    def __reduce__(self) -> Any:
        """By its file if it has one, else by its content: processes of multiprocessing, joblib and others take it."""
        path = None if self.path is None else self.path.absolute()
        content = self._native.content()
        return _again, (path, content if content is None else bytes(content), json.loads(self._native.options()))

    def __repr__(self) -> str:
        """
        >>> model
        <deepconcolic.Model: 1x28x28 -> 10, 3 hidden layers, 1816 neurons>
        """
        sizes = "x".join(map(str, self.input_shape))
        answer = "x".join(map(str, self.info["logits"]))
        layers = "1 hidden layer" if len(self.layers) == 1 else f"{len(self.layers)} hidden layers"
        return f"<deepconcolic.Model: {sizes} -> {answer}, {layers}, {self.neurons} neurons>"


def load(
    model: Any,
    example: Optional[_arrays.ArrayLike] = None,
    *,
    mean: Union[float, Sequence[float], None] = None,
    std: Union[float, Sequence[float], None] = None,
    input_shape: Optional[Sequence[int]] = None,
) -> Model:
    """Reads a model: a path, bytes, an ``onnx.ModelProto``, a ``torch.nn.Module`` (with an example input), a Keras or a
    scikit-learn model.

    ``mean`` and ``std`` are a normalisation in front of the model, one number or one a channel, so that data and
    distances stay in pixel units. ``input_shape`` is for a model that leaves its shape open.

    >>> import deepconcolic as dc
    >>> dc.load("model.onnx").layers[0].name
    'relu1'
    """
    if isinstance(model, Model):
        return model
    numbers: dict[str, Any] = {
        "mean": _numbers(mean, "mean"),
        "std": _numbers(std, "std"),
        "input_shape": _shape(input_shape),
    }
    if _arrays.is_path(model):
        path = Path(os.fspath(model))
        return Model(_native.Model(path=path, **numbers), path)
    from ._frameworks import content_of

    return Model(_native.Model(content=content_of(model, example), **numbers), None)


def _again(path: Optional[Path], content: Optional[bytes], numbers: dict[str, Any]) -> Model:
    """A model that was pickled."""
    return Model(_native.Model(path=path, content=content, **numbers), path)


def _numbers(value: Union[float, Sequence[float], None], what: str) -> Optional[list[float]]:
    if value is None:
        return None
    try:
        found = np.atleast_1d(np.asarray(value, dtype=float))
    except (TypeError, ValueError):
        found = np.full((1, 1), np.nan)
    if found.ndim != 1 or not np.isfinite(found).all():
        raise UsageError(f"{what} is a number, or one for each channel, not {value!r}")
    return [float(number) for number in found]


def _shape(value: Optional[Sequence[int]]) -> Optional[list[int]]:
    if value is None:
        return None
    try:
        return [_job.whole(size, "input_shape") for size in value]
    except (TypeError, UsageError):
        raise UsageError(f"input_shape is a list of sizes, for example (1, 28, 28), not {value!r}") from None
