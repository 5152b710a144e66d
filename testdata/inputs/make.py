"""Writes the models of this folder, which have several inputs or inputs of integers: same seed, same bytes.

    python3 -m venv venv
    venv/bin/pip install onnx onnxruntime numpy
    venv/bin/python testdata/inputs/make.py
"""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FOLDER = Path(__file__).resolve().parent
SAMPLES = 20
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def model(name, nodes, weights, inputs, output):
    """A model of nodes (operator, inputs, output, attributes) and weights by name."""
    graph = helper.make_graph(
        [helper.make_node(op, ins, [out], name=out, **attributes) for op, ins, out, attributes in nodes],
        name,
        [helper.make_tensor_value_info(*value) for value in inputs],
        [helper.make_tensor_value_info(*output)],
        [numpy_helper.from_array(array, key) for key, array in weights.items()],
    )
    made = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8,
        producer_name="deepconcolic testdata",
    )
    onnx.checker.check_model(made, full_check=True)
    return made


def save(name, made, feeds, batch_axes, **more):
    """The model, data with an array for each input, and the answers by onnxruntime, sample by sample."""
    session = onnxruntime.InferenceSession(
        made.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    rows = []
    for i in range(SAMPLES):
        feed = {}
        for key, array in feeds.items():
            axis = batch_axes[key]
            feed[key] = np.asarray(array[i]) if axis is None else np.expand_dims(array[i], axis)
        feed.update(more)
        rows.append(session.run(None, feed)[0])
    answers = np.concatenate(rows)
    (FOLDER / f"{name}.onnx").write_bytes(made.SerializeToString(deterministic=True))
    np.savez_compressed(FOLDER / f"{name}.npz", answers=answers, y=answers.argmax(1), **feeds)


def make_several():
    """An image, a state whose batch axis is the second, a scalar, and a list without a batch axis."""
    random = np.random.default_rng(5)
    normal = lambda *shape: random.normal(size=shape).astype(np.float32)
    weights = {
        "k": normal(2, 1, 3, 3) / 3, "w1": normal(32, 6) / 5, "w2": normal(6, 6) / 2, "b": normal(6),
        "w3": normal(6, 3), "flat": np.array([1, -1]), "row": np.array([1, 6]),
    }
    nodes = [
        ("Conv", ["image", "k"], "c", {"pads": [1, 1, 1, 1]}),
        ("Relu", ["c"], "relu1", {}),
        ("Reshape", ["relu1", "flat"], "f", {}),
        ("MatMul", ["f", "w1"], "m", {}),
        ("Transpose", ["state"], "t", {"perm": [1, 0, 2]}),
        ("Reshape", ["t", "row"], "r", {}),
        ("MatMul", ["r", "w2"], "n", {}),
        ("Add", ["m", "n"], "a", {}),
        ("Mul", ["b", "gain"], "g", {}),
        ("Add", ["a", "g"], "h", {}),
        ("Add", ["h", "offsets"], "u", {}),
        ("Relu", ["u"], "relu2", {}),
        ("MatMul", ["relu2", "w3"], "scores", {}),
    ]
    made = model(
        "several", nodes, weights,
        [("image", FLOAT, ["batch", 1, "height", "width"]), ("state", FLOAT, [2, "batch", 3]),
         ("gain", FLOAT, []), ("offsets", FLOAT, [6])],
        ("scores", FLOAT, ["batch", 3]),
    )
    feeds = {
        "image": random.uniform(size=(SAMPLES, 1, 4, 4)).astype(np.float32),
        "state": normal(SAMPLES, 2, 3), "gain": normal(SAMPLES), "offsets": normal(SAMPLES, 6),
    }
    save("several", made, feeds, {"image": 0, "state": 1, "gain": None, "offsets": None})


def make_tokens():
    """Token ids through an embedding, with a mask of floating-point numbers, to a mean and two layers."""
    random = np.random.default_rng(6)
    normal = lambda *shape: random.normal(size=shape).astype(np.float32)
    weights = {
        "table": normal(11, 4), "w1": normal(4, 8), "b1": normal(8), "w2": normal(8, 3),
        "axis": np.array([2]),
    }
    nodes = [
        ("Gather", ["table", "tokens"], "embedded", {}),
        ("Unsqueeze", ["mask", "axis"], "wide", {}),
        ("Mul", ["embedded", "wide"], "masked", {}),
        ("ReduceMean", ["masked"], "mean", {"axes": [1], "keepdims": 0}),
        ("Gemm", ["mean", "w1", "b1"], "u", {}),
        ("Relu", ["u"], "relu", {}),
        ("MatMul", ["relu", "w2"], "scores", {}),
    ]
    made = model(
        "tokens", nodes, weights,
        [("tokens", INT64, ["batch", "length"]), ("mask", FLOAT, ["batch", "length"])],
        ("scores", FLOAT, ["batch", 3]),
    )
    tokens = random.integers(0, 11, size=(SAMPLES, 5))
    save("tokens", made, {"tokens": tokens}, {"tokens": 0}, mask=np.ones((1, 5), np.float32))


for make in (make_several, make_tokens):
    make()
