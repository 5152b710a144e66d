"""How onnxruntime multiplies dynamically quantised numbers on this machine, beside exact integer arithmetic.

    venv/bin/python crates/bench/python/dynamic_quantisation.py

Needs onnx, onnxruntime and numpy. To see another processor's kernels, run the interpreter under an emulator, for example
`qemu-x86_64 -cpu Haswell venv/bin/python ...` for AVX2 without VNNI.
"""

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

DEPTH, COLUMNS, RUNS = 64, 32, 50


def session(nodes, dtype, constants, outputs):
    inputs = [helper.make_tensor_value_info("x", dtype, ["n", DEPTH])]
    results = [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs]
    weights = [numpy_helper.from_array(np.asarray(a), name) for name, a in constants.items()]
    graph = helper.make_graph(nodes, "g", inputs, results, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def products():
    """Elements of MatMulInteger that are not the exact sum, one row at a time."""
    random = np.random.default_rng(0)
    for name, dtype, low, high in [
        ("8-bit signed weights", np.int8, -128, 128),
        ("signed weights of 7 bits (reduce_range)", np.int8, -64, 64),
        ("unsigned weights", np.uint8, 0, 256),
    ]:
        w = random.integers(low, high, (DEPTH, COLUMNS)).astype(dtype)
        node = helper.make_node("MatMulInteger", ["x", "w", "xz", "wz"], ["y"])
        constants = {"w": w, "xz": np.uint8(128), "wz": dtype(0)}
        run = session([node], TensorProto.UINT8, constants, [("y", TensorProto.INT32)])
        wrong = total = 0
        for _ in range(RUNS):
            x = random.integers(0, 256, (1, DEPTH)).astype(np.uint8)
            exact = (x.astype(np.int64) - 128) @ w.astype(np.int64)
            wrong += int((run.run(None, {"x": x})[0] != exact).sum())
            total += exact.size
        print(f"MatMulInteger, {name}: {wrong} of {total} sums are not exact")


def batches():
    """The range of a batch beside that of each of its rows."""
    random = np.random.default_rng(1)
    node = helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "scale", "zero"])
    outputs = [("scale", TensorProto.FLOAT)]
    run = session([node], TensorProto.FLOAT, {}, outputs)
    x = random.normal(size=(8, DEPTH)).astype(np.float32) * np.linspace(0.5, 4, 8, dtype=np.float32)[:, None]
    together = float(run.run(None, {"x": x})[0])
    alone = [float(run.run(None, {"x": row[None]})[0]) for row in x]
    print(f"DynamicQuantizeLinear: steps of {min(alone):.4f} to {max(alone):.4f} row by row, {together:.4f} for the batch")


def layers():
    """A whole layer, row by row, beside the same arithmetic in numpy."""
    random = np.random.default_rng(2)
    w = random.normal(size=(DEPTH, COLUMNS)).astype(np.float32)
    step = np.float32(np.abs(w).max() / 127)
    q = np.round(w / step).astype(np.int8)
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["xq", "xs", "xz"]),
        helper.make_node("MatMulInteger", ["xq", "w", "xz"], ["sums"]),
        helper.make_node("Cast", ["sums"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["xs", "ws"], ["factor"]),
        helper.make_node("Mul", ["real", "factor"], ["y"]),
    ]
    constants = {"w": q, "ws": step}
    run = session(nodes, TensorProto.FLOAT, constants, [("y", TensorProto.FLOAT)])
    same, worst = 0, 0.0
    for _ in range(RUNS):
        x = random.normal(size=(1, DEPTH)).astype(np.float32)
        low, high = min(x.min(), np.float32(0)), max(x.max(), np.float32(0))
        scale = np.float32((high - low) / np.float32(255))
        zero = np.clip(np.rint(-(low / scale)), 0, 255)
        sums = (np.clip(np.rint(x / scale) + zero, 0, 255) - zero).astype(np.int64) @ q.astype(np.int64)
        exact = sums.astype(np.float32) * (scale * step)
        y = run.run(None, {"x": x})[0]
        same += int((y == exact).all())
        worst = max(worst, float(np.abs(y - exact).max() / np.abs(exact).max()))
    print(f"a layer, row by row: {same} of {RUNS} runs are the same bits; the largest difference is {worst:.2%} of the largest number")


print(f"onnxruntime {onnxruntime.__version__}")
products()
layers()
batches()
