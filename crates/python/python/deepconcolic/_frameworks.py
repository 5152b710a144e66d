"""Models of other libraries as ONNX: each by the exporter of its own library, whose answer is compared where it can be."""

from __future__ import annotations

import io
import re
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any, Optional

import numpy as np

from . import _arrays, _native
from .errors import Error, MissingPackage, ModelError

# How far the exported model may be from the module, beside its largest output.
_TOLERANCE = 1e-3


def content_of(model: Any, example: Optional[_arrays.ArrayLike]) -> bytes:
    """The bytes of an ONNX file of whatever this is."""
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model)
    if hasattr(model, "SerializeToString"):
        return bytes(model.SerializeToString())
    origin = [base.__module__.split(".")[0] for base in type(model).__mro__]
    # First: with torch as its backend, a model of Keras is a module of torch too.
    if "keras" in origin or "tensorflow" in origin:
        return _of_keras(model)
    if "torch" in origin:
        return _of_torch(model, example)
    if "sklearn" in origin:
        return _of_sklearn(model, example)
    raise ModelError(
        f"a {type(model).__module__}.{type(model).__qualname__} is no model that can be read; give a path, bytes, an "
        "onnx.ModelProto, a torch.nn.Module, a Keras or a scikit-learn model, or export it to ONNX"
    )


def _first_line(why: "BaseException | str") -> str:
    """What went wrong, by the first line of the first cause: exporters wrap it in advice of their own, with colours."""
    while isinstance(why, BaseException) and why.__cause__ is not None:
        why = why.__cause__
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(why))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else type(why).__name__


def _of_torch(module: Any, example: Optional[_arrays.ArrayLike]) -> bytes:
    import torch

    if not isinstance(module, torch.nn.Module):
        raise ModelError(f"a torch {type(module).__qualname__} is no model; give the torch.nn.Module")
    if example is None:
        raise ModelError("a torch.nn.Module needs an example input to be exported: load(module, example=x[:1])")
    given = example if isinstance(example, torch.Tensor) else torch.from_numpy(np.array(_arrays.array(example)))
    if given.dtype == torch.uint8:
        given = given.float() / 255
    first = next(module.parameters(), None)
    if first is not None:
        if first.dtype.is_floating_point and first.dtype != torch.float32:
            raise ModelError(f"the module computes in {first.dtype}, and models here are of torch.float32; give module.float()")
        given = given.to(first.device)
    was_training = module.training
    module.eval()
    try:
        with torch.no_grad():
            try:
                expected = module(given)
            except Exception as why:
                raise ModelError(
                    f"the module does not run on the example of shape {tuple(given.shape)}: {_first_line(why)}; give one "
                    "that it takes, with a batch axis"
                ) from why
            content = _exported(torch, module, given)
            if isinstance(expected, torch.Tensor):
                _compare(content, given, expected)
                _compare_elsewhere(content, module, given, expected)
    finally:
        module.train(was_training)
    return content


def _exported(torch: Any, module: Any, example: Any) -> bytes:
    """By tracing, which is quick and needs nothing else; where that is not sound, by the exporter that reads the code."""
    traced = _traced(torch, module, example)
    if isinstance(traced, bytes):
        return traced
    try:
        import onnxscript  # noqa: F401
    except ImportError as why:
        raise ModelError(
            f"torch.onnx.export cannot export this module by tracing ({traced}); its other exporter needs onnxscript: pip "
            "install onnxscript, or export it by hand and load the file"
        ) from why
    buffer = io.BytesIO()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shapes = ({0: torch.export.Dim.DYNAMIC},)
            torch.onnx.export(
                module, (example,), buffer, dynamo=True, dynamic_shapes=shapes, verbose=False, **_NAMES, external_data=False
            )
    except Exception as why:
        raise ModelError(
            f"torch.onnx.export cannot export this module: {_first_line(why)} (by tracing: {traced}); export it by hand and "
            "load the file, or take the part out that cannot be exported"
        ) from why
    return buffer.getvalue()


_NAMES: dict[str, Any] = {"input_names": ["input"], "output_names": ["output"]}


def _traced(torch: Any, module: Any, example: Any) -> "bytes | str":
    """The file, or why tracing cannot make one that holds for every input."""
    buffer = io.BytesIO()
    axes = {"input": {0: "batch"}, "output": {0: "batch"}}
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            try:
                torch.onnx.export(module, (example,), buffer, dynamo=False, dynamic_axes=axes, **_NAMES)
            except TypeError:
                # Before there was a choice of exporters.
                torch.onnx.export(module, (example,), buffer, dynamic_axes=axes, **_NAMES)
        except Exception as why:
            return _first_line(why)
    # A tracer that took a branch, or made a number of a tensor, has written down what holds for the example alone.
    doubts = [warning for warning in heard if issubclass(warning.category, torch.jit.TracerWarning)]
    return _first_line(doubts[0].message) if doubts else buffer.getvalue()


def _compare_elsewhere(content: bytes, module: Any, example: Any, expected: Any) -> None:
    """As :func:`_compare`, of another input: what an exporter took for a constant is right on the example alone."""
    other = 0.5 * example.flip(-1)
    try:
        answer = module(other)
    except Exception:
        # It need not take every input.
        return
    if answer.shape == expected.shape:
        _compare(content, other, answer)


def _compare(content: bytes, example: Any, answer: Any) -> None:
    """Refuses a file that says something else of an input than the module that it was made from."""
    expected = answer.cpu().numpy()
    found = _native.Model(content=content).evaluate(_arrays.array(example))
    if found.size != expected.size:
        raise ModelError(
            f"the exported model gives {found.shape} for an input and the module {expected.shape}; export it by hand and "
            "load the file"
        )
    difference = np.abs(found.ravel() - expected.ravel())
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    if not (difference <= _TOLERANCE * scale).all():
        raise ModelError(
            f"the exported model differs from the module by {difference.max():g}; a module that is random, keeps "
            "a state, or computes with numpy or numbers of Python on its way cannot be tested this way, others export by hand and load the file"
        )


def _of_keras(model: Any) -> bytes:
    with tempfile.TemporaryDirectory(prefix="deepconcolic-") as scratch:
        path = Path(scratch) / "model.onnx"
        try:
            _export_keras(model, path)
        except Error:
            raise
        except Exception as why:
            raise ModelError(
                f"this Keras model cannot be converted to ONNX: {_first_line(why)}; convert it by hand and load the file"
            ) from why
        return path.read_bytes()


def _export_keras(model: Any, path: Path) -> None:
    """By Keras itself where it can, which asks tf2onnx or torch; before version 3.8 by tf2onnx."""
    keras = sys.modules.get("keras")
    version = [int(part) for part in str(getattr(keras, "__version__", "2")).split(".")[:2] if part.isdigit()]
    knows_onnx = hasattr(model, "export") and version >= [3, 8]
    if not knows_onnx or getattr(keras, "backend").backend() == "tensorflow":
        try:
            import tf2onnx
        except ImportError as why:
            raise MissingPackage("a Keras model is read through tf2onnx, which is not installed; pip install tf2onnx") from why
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not knows_onnx:
            tf2onnx.convert.from_keras(model, output_path=str(path))
            return
        _call_once(model)
        try:
            model.export(str(path), format="onnx", verbose=False)
        except ImportError as why:
            raise MissingPackage(f"Keras needs a package to export this model: {_first_line(why)}") from why


def _call_once(model: Any) -> None:
    """Keras exports only models that were called: one that comes from a file was not, but knows its input's shape."""
    try:
        shape = model.input_shape
    except (AttributeError, ValueError):
        return
    if isinstance(shape, tuple) and all(isinstance(size, int) for size in shape[1:]):
        model(np.zeros((1, *shape[1:]), np.float32))


def _of_sklearn(model: Any, example: Optional[_arrays.ArrayLike]) -> bytes:
    try:
        from skl2onnx import convert_sklearn
        from skl2onnx.common.data_types import FloatTensorType
    except ImportError as why:
        raise MissingPackage(
            "a scikit-learn model is read through skl2onnx, which is not installed; pip install skl2onnx"
        ) from why
    features = getattr(model, "n_features_in_", None)
    if features is None and example is not None:
        features = _arrays.array(example).shape[-1]
    if features is None:
        raise ModelError("this scikit-learn model was not fitted; fit it first")
    options = {id(model): {"zipmap": False}} if hasattr(model, "predict_proba") else None
    try:
        inputs = [("input", FloatTensorType([None, int(features)]))]
        proto = convert_sklearn(model, initial_types=inputs, options=options)
    except Exception as why:
        raise ModelError(
            f"skl2onnx cannot convert this model: {_first_line(why)}; convert it by hand and load the file"
        ) from why
    return bytes(proto.SerializeToString())
