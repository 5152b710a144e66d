"""Writes the models of this folder and what onnxruntime answers: same seed, same bytes.

    python3 -m venv venv
    venv/bin/pip install onnx onnxruntime numpy
    venv/bin/python testdata/operators/make.py

Each model has one input and one output for each case. `NAME.npz` holds the input as `x`, sample by
sample, and each output under its own name.
"""

from pathlib import Path

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FOLDER = Path(__file__).resolve().parent
FLOAT, INT64, INT32, BOOL, UINT8 = (
    TensorProto.FLOAT,
    TensorProto.INT64,
    TensorProto.INT32,
    TensorProto.BOOL,
    TensorProto.UINT8,
)
ALL = []


class Cases:
    """A model that grows by one output a case."""

    def __init__(self, name, shape, samples=3, opset=17, low=-2.0, high=2.0):
        self.name, self.shape, self.opset = name, shape, opset
        random = np.random.default_rng(len(ALL) + 1)
        self.random = random
        self.x = random.uniform(low, high, (samples, *shape)).astype(np.float32)
        self.nodes, self.weights, self.outputs = [], [], []
        ALL.append(self)

    def constant(self, array, dtype=None):
        name = f"c{len(self.weights)}"
        array = np.asarray(array, dtype=dtype or np.float32)
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def ints(self, *numbers, dtype=np.int64):
        return self.constant(numbers, dtype)

    def node(self, op, *inputs, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=op + name, **attributes))
        return name

    def output(self, name, value, dtype=FLOAT):
        self.nodes.append(helper.make_node("Identity", [value], [name], name="out_" + name))
        self.outputs.append(helper.make_tensor_value_info(name, dtype, None))

    def write(self):
        inputs = [helper.make_tensor_value_info("x", FLOAT, list(self.shape))]
        graph = helper.make_graph(self.nodes, self.name, inputs, self.outputs, self.weights)
        opset = [helper.make_opsetid("", self.opset)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=8)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        rows = [session.run(None, {"x": x}) for x in self.x]
        record = {"x": self.x}
        for at, output in enumerate(self.outputs):
            record[output.name] = np.stack([row[at] for row in rows])
        (FOLDER / f"{self.name}.onnx").write_bytes(model.SerializeToString())
        np.savez(FOLDER / f"{self.name}.npz", **record)


def integers():
    """Each case makes 7, or -7, of integers; halved and doubled it shows whether it stayed one."""
    g = Cases("integers", [1, 2])
    two = g.ints(2)

    def case(name, value, kind=np.int64):
        if kind != np.int64:
            value = g.node("Cast", value, to=INT64)
        even = g.node("Mul", g.node("Div", value, two), two)
        g.output(name, g.node("Mul", "x", g.node("Cast", even, to=FLOAT)))

    seven, pair = g.ints(7), g.ints(7, 8)
    case("div", seven)
    case("div_negative", g.ints(-7))
    case("max", g.node("Max", seven, g.ints(5)))
    case("min", g.node("Min", seven, g.ints(9)))
    case("add", g.node("Add", g.ints(3), g.ints(4)))
    case("sub", g.node("Sub", g.ints(3), g.ints(10)))
    case("mul", g.node("Mul", seven, g.ints(-1)))
    case("neg", g.node("Neg", seven))
    case("abs", g.node("Abs", g.ints(-7)))
    case("pow", g.node("Pow", seven, g.ints(1)))
    case("pow_half", g.node("Pow", g.ints(50), g.constant(0.5)))
    case("clip", g.node("Clip", g.ints(9), g.constant(0, np.int64), g.constant(7, np.int64)))
    case("relu", g.node("Relu", g.ints(7, dtype=np.int32)), np.int32)
    case("mat_mul", g.node("MatMul", g.constant([[1, 2]], np.int64), g.constant([[3], [2]], np.int64)))
    case("reduce_sum", g.node("ReduceSum", g.ints(3, 4), g.ints(0)))
    case("reduce_prod", g.node("ReduceProd", g.ints(7, 1), axes=[0]))
    mean = {"axes": [0], "keepdims": 1}
    case("reduce_mean", g.node("ReduceMean", g.ints(7, 8, dtype=np.int32), **mean), np.int32)
    case("reduce_mean_negative", g.node("ReduceMean", g.ints(-7, -8, dtype=np.int32), **mean), np.int32)
    case("gather", g.node("Gather", pair, g.ints(0)))
    case("slice", g.node("Slice", pair, g.ints(0), g.ints(1)))
    case("concat", g.node("Gather", g.node("Concat", seven, pair, axis=0), g.ints(1)))
    extents = g.node("Shape", g.constant(np.zeros((7, 2))))
    case("shape", g.node("Slice", extents, g.ints(0), g.ints(1)))
    case("reshape", g.node("Reshape", seven, g.ints(1)))
    case("cast", g.node("Cast", g.constant([7.9]), to=INT64))
    case("cast_negative", g.node("Cast", g.constant([-7.9]), to=INT64))
    as_bool = g.node("Cast", g.constant([0.5]), to=BOOL)
    case("cast_bool", g.node("Mul", g.node("Cast", as_bool, to=INT64), seven))
    case("cast_wraps", g.node("Cast", g.ints(263), to=UINT8), np.uint8)
    case("constant", g.node("Constant", value_ints=[7]))
    filled = helper.make_tensor("value", INT64, [1], [7])
    case("constant_of_shape", g.node("ConstantOfShape", g.ints(1), value=filled))


def constant_outputs():
    g = Cases("constant_outputs", [1, 2])
    g.output("y", g.node("Relu", "x"))
    c = g.constant([[1.5, -2.0, 3.0]])
    g.output("constant", c)
    g.output("computed", g.node("Add", c, g.constant(1.0)))
    g.output("turned", g.node("Transpose", g.constant(np.arange(6).reshape(2, 3)), perm=[1, 0]))
    g.output("integers", g.node("Shape", "x"), INT64)
    g.output("input", "x")


def vectors():
    g = Cases("mat_mul_vector", [4])
    g.output("right", g.node("MatMul", "x", g.constant(g.random.normal(size=(4, 3)))))
    g.output("right_stack", g.node("MatMul", "x", g.constant(g.random.normal(size=(1, 4, 3)))))
    g.output("left", g.node("MatMul", g.constant(g.random.normal(size=(3, 4))), "x"))
    g.output("left_stack", g.node("MatMul", g.constant(g.random.normal(size=(1, 3, 4))), "x"))
    g.output("dot", g.node("MatMul", "x", g.constant(g.random.normal(size=4))))
    g.output("dot_left", g.node("MatMul", g.constant(g.random.normal(size=4)), "x"))
    g = Cases("mat_mul_matrix", [3, 4])
    g.output("right", g.node("MatMul", "x", g.constant(g.random.normal(size=(4, 2)))))
    g.output("right_stack", g.node("MatMul", "x", g.constant(g.random.normal(size=(1, 4, 2)))))
    g.output("right_vector", g.node("MatMul", "x", g.constant(g.random.normal(size=4))))
    g.output("left", g.node("MatMul", g.constant(g.random.normal(size=(5, 3))), "x"))
    g.output("left_stack", g.node("MatMul", g.constant(g.random.normal(size=(1, 5, 3))), "x"))
    g.output("left_vector", g.node("MatMul", g.constant(g.random.normal(size=3)), "x"))
    g = Cases("mat_mul_stack", [2, 3, 4])
    g.output("right", g.node("MatMul", "x", g.constant(g.random.normal(size=(4, 2)))))
    g.output("right_vector", g.node("MatMul", "x", g.constant(g.random.normal(size=4))))
    g.output("left", g.node("MatMul", g.constant(g.random.normal(size=(5, 3))), "x"))
    g.output("left_vector", g.node("MatMul", g.constant(g.random.normal(size=3)), "x"))


def infinities():
    """Infinities that bound nothing or vanish on the way."""
    g = Cases("infinities", [1, 4])
    inf, largest = np.inf, np.finfo(np.float32).max
    g.output("clip", g.node("Clip", "x", g.constant(-inf), g.constant(inf)))
    g.output("clip_above", g.node("Clip", "x", g.constant(-inf), g.constant(0.5)))
    g.output("clip_largest", g.node("Clip", "x", g.constant(-largest), g.constant(largest)))
    g.output("max", g.node("Max", "x", g.constant(-inf)))
    g.output("min", g.node("Min", "x", g.constant(inf), g.constant(0.5)))
    g.output("folded", g.node("Add", "x", g.node("Exp", g.constant([-inf, 0.0, 1.0, -1.0]))))
    g.output("gathered", g.node("Add", "x", g.node("Gather", g.constant([inf, 2.0]), g.ints(1))))


for make in (integers, constant_outputs, vectors, infinities):
    make()
for cases in ALL:
    cases.write()
