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
        self.functions = []
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
        domains = {node.domain for node in self.nodes if node.domain}
        opset += [helper.make_opsetid(domain, 1) for domain in sorted(domains)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=8, functions=self.functions)
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


def depths():
    g = Cases("depth", [1, 8, 4, 6])
    for mode in ("DCR", "CRD"):
        g.output("to_space_" + mode, g.node("DepthToSpace", "x", blocksize=2, mode=mode))
    g.output("to_depth", g.node("SpaceToDepth", "x", blocksize=2))


def indices():
    g = Cases("indices", [2, 3, 4])
    for axis, numbers in ((1, [[[0, 2, -1], [1, 0, 1]]]), (-1, [[[3, -4, 0, 1, 1]]]), (0, [[[1], [0], [-1]]])):
        picked = g.node("GatherElements", "x", g.constant(numbers, np.int64), axis=axis)
        g.output(f"gather_elements{axis}", picked)
    g.output("gather_nd", g.node("GatherND", "x", g.constant([[0, 1], [1, -1], [1, 0]], np.int64)))
    g.output("gather_nd_deep", g.node("GatherND", "x", g.constant([[[1, 2, 3]], [[0, 0, 0]]], np.int64)))
    g.output("gather_nd_batch", g.node("GatherND", "x", g.constant([[2], [0]], np.int64), batch_dims=1))
    g.output("trilu", g.node("Trilu", "x"))
    g.output("trilu_lower", g.node("Trilu", "x", g.constant(1, np.int64), upper=0))
    mask = g.constant([[True], [False], [True]], bool)
    g.output("where", g.node("Where", mask, "x", g.node("Relu", "x")))
    g.output("where_constant", g.node("Where", mask, "x", g.constant([[1.0], [2.0], [3.0]])))
    g.output("where_wide", g.node("Where", g.constant([[[[True]]], [[[False]]]], bool), "x", g.constant(0.5)))
    for exclusive in (0, 1):
        for reverse in (0, 1):
            attributes = {"exclusive": exclusive, "reverse": reverse}
            total = g.node("CumSum", "x", g.constant(1, np.int64), **attributes)
            g.output(f"cum_sum{exclusive}{reverse}", total)
    for op in ("ReduceMax", "ReduceMin"):
        g.output(op, g.node(op, "x", axes=[1]))
        g.output(op + "_two", g.node(op, "x", axes=[0, 2], keepdims=0))
        g.output(op + "_all", g.node(op, "x", keepdims=0))


def logic():
    """Constants alone; each case is added to the input."""
    g = Cases("logic", [1, 3])
    a, b = g.constant([1.0, 2.0, -0.5]), g.constant([1.0, -2.0, 3.0])
    i, j = g.ints(7, -7, 5), g.ints(3, 3, -3)
    yes = g.constant([True, False, True], bool)
    no = g.constant([False, False, True], bool)

    def case(name, value):
        g.output(name, g.node("Add", "x", g.node("Cast", value, to=FLOAT)))

    for op in ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"):
        case(op, g.node(op, a, b))
    for op in ("And", "Or", "Xor"):
        case(op, g.node(op, yes, no))
    case("Not", g.node("Not", yes))
    halves = g.constant([0.5, -1.5, 2.5])
    for op in ("Floor", "Ceil", "Round", "Sign"):
        case(op, g.node(op, halves))
    case("Mod", g.node("Mod", i, j))
    case("Mod_fmod", g.node("Mod", a, b, fmod=1))
    case("Where", g.node("Where", yes, a, b))
    case("Range", g.node("Range", *(g.constant(n, np.int64) for n in (7, 1, -2))))
    case("Range_real", g.node("Range", *(g.constant(n) for n in (0.5, 2.0, 0.5))))
    case("Size", g.node("Size", g.constant(np.zeros((2, 3)))))
    hot = g.node("OneHot", g.ints(0, -1), g.constant(3, np.int64), g.constant([2.0, 5.0]), axis=0)
    case("OneHot", g.node("Transpose", hot, perm=[1, 0]))
    summed = g.node("CumSum", i, g.constant(0, np.int64))
    case("CumSum", g.node("Div", summed, g.ints(2)))
    case("ReduceMax", g.node("Div", g.node("ReduceMax", i), g.ints(2)))


def resizes():
    g = Cases("resize", [1, 2, 4, 5], opset=13)

    def case(name, scales=None, sizes=None, **attributes):
        none = g.constant(np.zeros(0))
        if scales is not None:
            inputs = ["x", none, g.constant(scales)]
        else:
            inputs = ["x", none, none, g.ints(*sizes)]
        g.output(name, g.node("Resize", *inputs, **attributes))

    coordinates = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
    rounding = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    for c in coordinates:
        for n in rounding:
            mode = {"mode": "nearest", "coordinate_transformation_mode": c, "nearest_mode": n}
            case(f"up_{c}_{n}", scales=[1, 1, 2, 3], **mode)
            case(f"sizes_{c}_{n}", sizes=[1, 2, 7, 3], **mode)
        for name, to in (("up", [1, 2, 8, 10]), ("down", [1, 2, 3, 2]), ("one", [1, 2, 1, 7])):
            case(f"linear_{c}_{name}", sizes=to, mode="linear", coordinate_transformation_mode=c)
        # The corners of an extent that is rounded are another matter: ONNX's reference takes it unrounded.
        if c != "align_corners":
            scales = [1, 1, 0.6, 1.7]
            case(f"linear_{c}_scale", scales=scales, mode="linear", coordinate_transformation_mode=c)
    old = Cases("upsample", [1, 2, 3, 4], opset=9)
    for mode in ("nearest", "linear"):
        up = old.node("Upsample", "x", old.constant([1, 1, 2, 3]), mode=mode)
        old.output(mode, up)
    ten = Cases("resize10", [1, 2, 5, 4], opset=10)
    for mode in ("nearest", "linear"):
        ten.output(mode + "_up", ten.node("Resize", "x", ten.constant([1, 1, 2, 1.5]), mode=mode))
    ten.output("linear_down", ten.node("Resize", "x", ten.constant([1, 1, 0.6, 0.5]), mode="linear"))


def transposed_convolutions():
    g = Cases("conv_transpose", [1, 4, 5, 3])

    def case(name, outputs, kernel, bias=False, group=1, **attributes):
        weights = g.constant(g.random.normal(size=(4, outputs // group, *kernel)))
        inputs = ["x", weights] + ([g.constant(g.random.normal(size=outputs))] if bias else [])
        g.output(name, g.node("ConvTranspose", *inputs, group=group, **attributes))

    case("plain", 3, (3, 2), bias=True)
    case("strides", 2, (3, 3), strides=[2, 3])
    case("pads", 2, (3, 3), strides=[2, 2], pads=[1, 0, 1, 1], output_padding=[1, 1])
    case("cropped", 2, (2, 2), strides=[2, 2], pads=[2, 1, 2, 1])
    case("dilations", 2, (3, 2), dilations=[2, 3])
    case("groups", 6, (3, 3), bias=True, group=2, strides=[2, 1])
    case("depthwise", 4, (2, 2), group=4, strides=[2, 2])
    g = Cases("conv_transpose_signal", [1, 3, 6])
    weights = g.constant(g.random.normal(size=(3, 2, 4)))
    g.output("signal", g.node("ConvTranspose", "x", weights, strides=[3], pads=[1, 2]))


def normalizations():
    g = Cases("instance_norm", [1, 4, 3, 5])
    scale, bias = g.constant([1.0, 2.0, -1.0, 0.5]), g.constant([0.0, 1.0, 2.0, -1.0])
    g.output("instance", g.node("InstanceNormalization", "x", scale, bias, epsilon=1e-3))
    g = Cases("group_norm", [1, 4, 3, 5], opset=21)
    scale, bias = g.constant([1.0, 2.0, -1.0, 0.5]), g.constant([0.0, 1.0, 2.0, -1.0])
    for groups in (1, 2, 4):
        g.output(f"group{groups}", g.node("GroupNormalization", "x", scale, bias, num_groups=groups))


def computed_logic():
    """Comparisons, choices and conversions of what the network computes."""
    g = Cases("computed_logic", [1, 3, 4], samples=4)
    other, half = g.constant(g.random.uniform(-2, 2, (1, 3, 4))), g.constant(0.5)

    def truth(name, value):
        g.output(name, g.node("Cast", value, to=FLOAT))

    above = g.node("Greater", "x", other)
    truth("greater", above)
    truth("greater_or_equal", g.node("GreaterOrEqual", "x", half))
    truth("less", g.node("Less", "x", half))
    truth("less_or_equal", g.node("LessOrEqual", other, "x"))
    whole = g.node("Cast", g.node("Mul", "x", g.constant(2.0)), to=INT32)
    truth("cast", whole)
    truth("equal", g.node("Equal", whole, g.ints(1, dtype=np.int32)))
    small = g.node("Less", g.node("Abs", "x"), half)
    truth("and", g.node("And", above, g.node("Not", small)))
    truth("or", g.node("Or", above, small))
    truth("xor", g.node("Xor", above, small))
    g.output("where", g.node("Where", above, "x", half))
    g.output("where_spread", g.node("Where", small, g.constant([[[1.0, 2.0, 3.0, 4.0]]]), "x"))
    g.output("thresholded", g.node("ThresholdedRelu", "x", alpha=0.7))
    g.output("shrink", g.node("Shrink", "x", lambd=0.8, bias=0.3))
    g.output("remainder", g.node("Mod", "x", g.constant(0.75), fmod=1))
    truth("divided", g.node("Div", whole, g.ints(2, dtype=np.int32)))
    g.output("hardmax", g.node("Hardmax", "x", axis=1))
    truth("arg_min", g.node("ArgMin", "x", axis=2, keepdims=0))
    truth("arg_max_last", g.node("ArgMax", g.node("Round", "x"), axis=1, select_last_index=1))
    truth("undefined", g.node("IsNaN", g.node("Log", "x")))


def ranks():
    g = Cases("ranks", [1, 4, 5], samples=4)
    for axis, count, largest in ((2, 3, 1), (1, 2, 0), (-1, 5, 1)):
        name = f"k{axis}_{count}_{largest}".replace("-", "m")
        values = f"{name}_values"
        attributes = {"axis": axis, "largest": largest, "sorted": 1}
        g.nodes.append(
            helper.make_node("TopK", ["x", g.ints(count)], [values, f"{name}_at"], name=name, **attributes)
        )
        g.output(name, values)
        g.output(f"{name}_position", g.node("Cast", f"{name}_at", to=FLOAT))
    g.output("product", g.node("ReduceProd", "x", axes=[1, 2], keepdims=0))
    g.output("product_of_five", g.node("ReduceProd", "x", axes=[2]))
    g.output("lp1", g.node("LpNormalization", "x", axis=1, p=1))
    g.output("lp2", g.node("LpNormalization", "x", axis=2, p=2))
    g.output("mean_variance", g.node("MeanVarianceNormalization", "x", axes=[0, 2]))
    exponents = g.constant([[[2.0], [3.0], [1.0], [0.0]]])
    g.output("powers", g.node("Pow", "x", exponents))
    g.output("power_of", g.node("Pow", g.constant([[[0.5], [3.0], [1.0], [2.0]]]), "x"))


def angles():
    g = Cases("angles", [1, 9], samples=4, low=-0.95, high=0.95)
    for op in ("Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Atanh"):
        g.output(op.lower(), g.node(op, "x"))
    g.output("acosh", g.node("Acosh", g.node("Add", "x", g.constant(2.5))))
    g.output("wide", g.node("Sin", g.node("Mul", "x", g.constant(20.0))))


def sums_of_products():
    """Einsum between computed tensors and constants."""
    g = Cases("einsum", [2, 3, 4])
    def weights(*shape):
        return g.constant(g.random.uniform(-1, 1, shape))

    for name, equation, others in (
        ("transpose", "abc->cab", []),
        ("sum", "abc->b", []),
        ("all", "abc->", []),
        ("implicit", "cba", []),
        ("batched", "bij,bjk->bik", [weights(2, 4, 5)]),
        ("inner", "bij,bij->b", ["x"]),
        ("outer", "abc,de->abced", [weights(2, 2)]),
        ("dots", "...ij,jk->...ik", [weights(4, 3)]),
        ("three", "abc,cd,de->abe", [weights(4, 3), weights(3, 2)]),
    ):
        g.output(name, g.node("Einsum", "x", *others, equation=equation))
    g = Cases("einsum_diagonal", [3, 3])
    g.output("diagonal", g.node("Einsum", "x", equation="ii->i"))
    g.output("trace", g.node("Einsum", "x", equation="ii"))


def recurrences():
    """Sequences, step by step."""
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}
    for op, count in gates.items():
        g = Cases(op.lower(), [5, 2, 3])
        for direction, ways in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
            def weights(*shape):
                return g.constant(g.random.uniform(-0.5, 0.5, shape))

            inputs = ["x", weights(ways, 4 * count, 3), weights(ways, 4 * count, 4), weights(ways, 8 * count)]
            extra = {"linear_before_reset": int(direction == "reverse")} if op == "GRU" else {}
            if direction == "bidirectional":
                inputs += ["", weights(ways, 2, 4)] + ([weights(ways, 2, 4)] if op == "LSTM" else [])
            if direction == "reverse" and op == "LSTM":
                inputs += ["", "", "", weights(ways, 12)]
            outputs = [f"{direction}_{n}" for n in range(3 if op == "LSTM" else 2)]
            g.nodes.append(
                helper.make_node(op, inputs, outputs, name=direction, hidden_size=4, direction=direction, **extra)
            )
            g.outputs += [helper.make_tensor_value_info(name, FLOAT, None) for name in outputs]


def volumes():
    """Convolutions and pools along three axes, and over several samples."""
    g = Cases("volumes", [2, 2, 5, 4, 6])
    def weights(*shape):
        return g.constant(g.random.uniform(-1, 1, shape))

    window = {"kernel_shape": [3, 2, 3], "strides": [2, 1, 2], "pads": [1, 0, 1, 1, 1, 1]}
    g.output("conv", g.node("Conv", "x", weights(3, 2, 3, 2, 3), weights(3), **window))
    g.output("conv_groups", g.node("Conv", "x", weights(4, 1, 1, 3, 2), group=2, dilations=[1, 1, 2]))
    stretch = {"strides": [2, 1, 2], "pads": [1, 0, 1, 0, 1, 1], "output_padding": [1, 0, 0]}
    g.output("conv_transpose", g.node("ConvTranspose", "x", weights(2, 3, 3, 2, 3), weights(3), **stretch))
    g.output("conv_transpose_groups", g.node("ConvTranspose", "x", weights(2, 2, 1, 3, 2), group=2))
    g.output("max", g.node("MaxPool", "x", **window))
    g.output("average", g.node("AveragePool", "x", **window))
    g.output("average_padded", g.node("AveragePool", "x", count_include_pad=1, **window))
    g.output("global_max", g.node("GlobalMaxPool", "x"))
    g = Cases("samples", [3, 2, 5, 4])
    g.output("conv", g.node("Conv", "x", g.constant(g.random.uniform(-1, 1, (3, 2, 3, 3))), pads=[1, 1, 1, 1]))
    g.output("max", g.node("MaxPool", "x", kernel_shape=[2, 2]))
    g.output("lp", g.node("LpPool", "x", kernel_shape=[2, 3], p=3))
    g.output("global_lp", g.node("GlobalLpPool", "x", p=2))
    g.output("lrn", g.node("LRN", "x", size=3, alpha=0.5, beta=0.6, bias=1.5))


def masks():
    """Minus infinity in front of a Softmax."""
    g = Cases("masks", [1, 4, 4])
    triangle = np.where(np.tril(np.ones((4, 4))) > 0, 0.0, -np.inf)
    scores = g.node("Add", "x", g.constant(triangle))
    g.output("causal", g.node("Softmax", scores, axis=-1))
    hidden = g.constant([[[False, True, False, True]]], np.bool_)
    filled = g.node("Where", hidden, g.constant(-np.inf), "x")
    g.output("filled", g.node("Softmax", g.node("Identity", filled), axis=2))


def samplings():
    g = Cases("samplings", [1, 2, 4, 5])
    grid = g.constant(g.random.uniform(-1.3, 1.3, (1, 3, 4, 2)))
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for corners in (0, 1):
                attributes = {"mode": mode, "padding_mode": padding, "align_corners": corners}
                g.output(f"{mode}_{padding}_{corners}", g.node("GridSample", "x", grid, **attributes))
    lengths = g.ints(2)
    g.output("reversed", g.node("ReverseSequence", "x", lengths, time_axis=1, batch_axis=0))
    g.output("compressed", g.node("Compress", "x", g.constant([True, False, True], np.bool_), axis=3))
    indices, updates = g.ints(1, 1, 0), g.constant(g.random.uniform(-1, 1, 3))
    row = g.node("Reshape", "x", g.ints(40))
    for reduction in ("add", "mul"):
        attributes = {"reduction": reduction, "axis": 0}
        g.output(f"scatter_{reduction}", g.node("ScatterElements", row, indices, updates, **attributes))


def losses():
    g = Cases("losses", [3, 4, 2])
    classes = g.constant(g.random.integers(0, 4, (3, 2)), np.int64)
    weights = g.constant([0.5, 1.0, 2.0, 0.25])
    logs = g.node("LogSoftmax", "x", axis=1)
    for reduction in ("none", "sum", "mean"):
        g.output(f"plain_{reduction}", g.node("NegativeLogLikelihoodLoss", logs, classes, reduction=reduction))
        attributes = {"reduction": reduction, "ignore_index": 2}
        g.output(f"cross_{reduction}", g.node("SoftmaxCrossEntropyLoss", "x", classes, weights, **attributes))


def control():
    """Branches, loops and functions that do not depend on the input."""
    g = Cases("control", [3, 4])
    shift = g.constant(0.5)

    def body(name, nodes, inputs, outputs):
        def info(value):
            return helper.make_tensor_value_info(value[0], value[1], value[2])

        return helper.make_graph(nodes, name, [info(v) for v in inputs], [info(v) for v in outputs])

    make = helper.make_node
    then = body("then", [make("Relu", ["x"], ["then_y"])], [], [("then_y", FLOAT, None)])
    other = body("other", [make("Neg", ["x"], ["other_y"])], [], [("other_y", FLOAT, None)])
    wide = g.node("Greater", g.node("Size", "x"), g.constant(5, np.int64))
    g.output("taken", g.node("If", wide, then_branch=then, else_branch=other))
    narrow = g.node("Not", wide)
    g.output("not_taken", g.node("If", narrow, then_branch=then, else_branch=other))

    steps = body(
        "steps",
        [
            make("Add", ["before", shift], ["sum"]),
            make("Tanh", ["sum"], ["after"], name="bent"),
            make("Identity", ["go"], ["go_on"]),
            make("Identity", ["after"], ["seen"]),
        ],
        [("number", INT64, []), ("go", BOOL, []), ("before", FLOAT, [3, 4])],
        [("go_on", BOOL, []), ("after", FLOAT, [3, 4]), ("seen", FLOAT, [3, 4])],
    )
    go = g.constant(True, np.bool_)
    g.nodes.append(make("Loop", [g.constant(4, np.int64), go, "x"], ["last", "each"], name="loop", body=steps))
    g.output("loop_last", "last")
    g.output("loop_each", "each")

    early = body(
        "early",
        [
            make("Mul", ["old", shift], ["new"]),
            make("Less", ["round", g.constant(1, np.int64)], ["more"]),
        ],
        [("round", INT64, []), ("open", BOOL, []), ("old", FLOAT, [3, 4])],
        [("more", BOOL, []), ("new", FLOAT, [3, 4])],
    )
    g.nodes.append(make("Loop", ["", go, "x"], ["halved"], name="early", body=early))
    g.output("loop_early", "halved")

    sums = body(
        "sums",
        [make("Add", ["so_far", "own"], ["total"]), make("Sin", ["total"], ["wave"])],
        [("so_far", FLOAT, [4]), ("own", FLOAT, [4])],
        [("total", FLOAT, [4]), ("wave", FLOAT, [4])],
    )
    start = g.constant(np.zeros(4))
    g.nodes.append(make("Scan", [start, "x"], ["sum", "waves"], name="scan", num_scan_inputs=1, body=sums))
    g.output("scan_sum", "sum")
    g.output("scan_waves", "waves")
    columns = body(
        "columns",
        [make("Add", ["from_last", "column"], ["to_here"]), make("Identity", ["to_here"], ["shown"])],
        [("from_last", FLOAT, [3]), ("column", FLOAT, [3])],
        [("to_here", FLOAT, [3]), ("shown", FLOAT, [3])],
    )
    ways = {"scan_input_axes": [1], "scan_input_directions": [1], "scan_output_axes": [1]}
    inputs = [g.constant(np.zeros(3)), "x"]
    g.nodes.append(
        make("Scan", inputs, ["back", "backs"], name="back", num_scan_inputs=1, body=columns, **ways)
    )
    g.output("scan_back", "backs")

    inner = make("LeakyRelu", ["a"], ["bent"])
    alpha = inner.attribute.add()
    alpha.name, alpha.ref_attr_name, alpha.type = "alpha", "slope", 1
    g.functions.append(
        helper.make_function(
            "own",
            "Bend",
            ["a", "b"],
            ["bent_sum"],
            [inner, make("Add", ["bent", "b"], ["bent_sum"])],
            [helper.make_opsetid("", 17)],
            ["slope"],
        )
    )
    g.output("function", g.node("Bend", "x", shift, domain="own", slope=0.25))
    g.output("function_again", g.node("Bend", shift, "x", domain="own", slope=0.5))


def quantised():
    """Integers as onnxruntime computes them; weights are small enough that no processor saturates their sums."""
    g = Cases("quantised", [1, 4, 5, 6], opset=21)
    byte = lambda n: g.constant(n, np.uint8)
    signed = lambda n: g.constant(n, np.int8)
    scale = lambda n: g.constant(n)
    show = lambda name, value: g.output(name, g.node("Cast", value, to=FLOAT))
    vendor = {"domain": "com.microsoft"}
    q = (g.node("QuantizeLinear", "x", scale(0.017), byte(120)), scale(0.017), byte(120))
    s = (g.node("QuantizeLinear", "x", scale(0.016), signed(-3)), scale(0.016), signed(-3))
    show("signed", s[0])
    show("words", g.node("QuantizeLinear", "x", scale(0.0001), g.constant(-100, np.int16)))
    weights = g.constant(g.random.integers(-60, 60, (3, 4, 3, 2)), np.int8)
    show("conv_integer", g.node("ConvInteger", q[0], weights, q[2], strides=[1, 2], pads=[1, 0, 1, 1]))
    show("conv_integer_zero", g.node("ConvInteger", q[0], weights, q[2], signed(-2)))
    bias = g.constant(g.random.integers(-900, 900, 3), np.int32)
    scales = g.constant([0.01, 0.02, 0.005])
    show("q_conv", g.node("QLinearConv", *q, weights, scales, g.constant([0, 0, 0], np.int8), scale(0.05), byte(99),
                          bias, pads=[1, 1, 1, 0]))
    matrix = g.constant(g.random.integers(-60, 60, (6, 3)), np.int8)
    show("q_mat_mul", g.node("QLinearMatMul", *q, matrix, scale(0.01), signed(1), scale(0.03), byte(7)))
    show("add", g.node("QLinearAdd", *q, *q, scale(0.03), byte(100), **vendor))
    show("mul", g.node("QLinearMul", *q, *q, scale(0.02), byte(20), **vendor))
    show("sigmoid", g.node("QLinearSigmoid", *q, scale(1 / 256), byte(0), **vendor))
    show("leaky", g.node("QLinearLeakyRelu", *s, scale(0.015), signed(-20), alpha=0.125, **vendor))
    show("mean", g.node("QLinearGlobalAveragePool", *q, scale(0.01), byte(128), **vendor))
    show("pool", g.node("QLinearAveragePool", *q, scale(0.01427), byte(128), kernel_shape=[2, 2], strides=[2, 1], **vendor))
    show("concat", g.node("QLinearConcat", scale(0.02), byte(110), *q, *q, axis=1, **vendor))
    g.output("to_float", g.node("MatMulIntegerToFloat", q[0], matrix, scale(0.017), g.constant([0.1, 0.2, 0.3]), q[2],
                                signed(2), g.constant([1.0, 2.0, 3.0]), **vendor))
    g.output("dynamic", g.node("DynamicQuantizeMatMul", "x", matrix, scale(0.02), signed(0), **vendor))


MAKERS = (
    integers,
    constant_outputs,
    vectors,
    infinities,
    depths,
    indices,
    logic,
    resizes,
    transposed_convolutions,
    normalizations,
    computed_logic,
    ranks,
    angles,
    sums_of_products,
    recurrences,
    volumes,
    masks,
    samplings,
    losses,
    control,
    quantised,
)
for make in MAKERS:
    make()
for cases in ALL:
    cases.write()
