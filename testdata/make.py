"""Writes the models and data of this folder: same seed, same bytes.

    python3 -m venv venv
    venv/bin/pip install onnx onnxruntime numpy
    venv/bin/python testdata/make.py
"""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FOLDER = Path(__file__).resolve().parent
SAMPLES = 12
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


class Graph:
    """Collects nodes and weights."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.weights = [], []

    def node(self, op, inputs, output, name="", **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name=name, **attributes))
        return output

    def weight(self, name, array):
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def normal(self, name, *shape):
        """Weights that keep the size of what flows through them."""
        fan_in = np.prod(shape[1:]) if len(shape) > 1 else 4
        array = self.random.normal(size=shape) / np.sqrt(fan_in)
        return self.weight(name, array.astype(np.float32))

    def gemm(self, x, n_in, n_out, output, name):
        w, b = self.normal(name + ".weight", n_out, n_in), self.normal(name + ".bias", n_out)
        return self.node("Gemm", [x, w, b], output, name=name, transB=1)

    def model(self, name, inputs, outputs, opset):
        infos = [helper.make_tensor_value_info(*value) for value in inputs]
        results = [helper.make_tensor_value_info(*value) for value in outputs]
        graph = helper.make_graph(self.nodes, name, infos, results, self.weights)
        imports = [helper.make_opsetid("", opset)]
        return helper.make_model(
            graph, opset_imports=imports, ir_version=8, producer_name="deepconcolic testdata"
        )


def run(model, x, names):
    """The named tensors of any place in the graph, by onnxruntime, sample by sample."""
    exposed = onnx.ModelProto()
    exposed.CopyFrom(model)
    known = {output.name for output in exposed.graph.output}
    for name in names:
        if name not in known:
            exposed.graph.output.append(helper.make_tensor_value_info(name, FLOAT, None))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        exposed.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    (feed,) = session.get_inputs()
    rows = [session.run(names, {feed.name: x[i : i + 1]}) for i in range(len(x))]
    return [np.concatenate(column) for column in zip(*rows)]


def save(name, model, x, y, layers, **more):
    """The model, and what it must give: `y`, and `u0`, `u1`... of the hidden layers in order."""
    onnx.checker.check_model(model, full_check=True)
    names = [y, *layers]
    arrays = dict(zip(["y"] + [f"u{i}" for i in range(len(layers))], run(model, x, names)))
    for key, tensor in more.items():
        (arrays[key],) = run(model, x, [tensor])
    (FOLDER / f"{name}.onnx").write_bytes(model.SerializeToString(deterministic=True))
    np.savez_compressed(FOLDER / f"{name}.npz", x=x, **arrays)


def fit(graph, features, labels, names):
    """A last layer by least squares: a classifier that is right about most of its data."""
    wanted = 4 * np.eye(labels.max() + 1)[labels]
    rows = np.c_[features.reshape(len(labels), -1), np.ones(len(labels))].astype(np.float64)
    ridge = rows.T @ rows + 0.1 * np.eye(rows.shape[1])
    solution = np.linalg.solve(ridge, rows.T @ wanted).astype(np.float32)
    return graph.weight(names[0], solution[:-1]), graph.weight(names[1], solution[-1])


def features_of(graph, inputs, tensor, data, opset):
    """What a graph without its last layer gives."""
    body = graph.model("body", inputs, [(tensor, FLOAT, None)], opset)
    return run(body, data, [tensor])[0]


def flowers():
    """Four measurements of three kinds, as in tabular sets."""
    random = np.random.default_rng(1)
    means = np.array([[5.0, 3.4, 1.5, 0.2], [5.9, 2.8, 4.3, 1.3], [6.6, 3.0, 5.6, 2.0]])
    labels = np.arange(60) % 3
    spread = random.normal(size=(60, 4)) * [0.4, 0.35, 0.4, 0.25]
    return np.round(means[labels] + spread, 1).astype(np.float32), labels


def strokes():
    """Grey images of a horizontal, a vertical or a diagonal stroke, with noise."""
    random = np.random.default_rng(2)
    labels = np.arange(60) % 3
    images = random.integers(0, 60, size=(60, 8, 8, 1))
    for image, label in zip(images, labels):
        at, bright = random.integers(1, 7), random.integers(150, 256)
        along = np.arange(8)
        places = [(at, along), (along, at), (along, (along + at) % 8)][label]
        image[(*places, 0)] = bright
    return images.astype(np.uint8), labels


def make_mlp():
    data, labels = flowers()
    inputs, opset = [("features", FLOAT, ["batch", 4])], 12
    g = Graph(10)

    def centred(x, n_in, n_out, output, name):
        """A layer whose neurons are active on some of the data and not on the rest."""
        w = g.normal(name + ".weight", n_out, n_in)
        g.node("Gemm", [x, w], output, transB=1)
        u = features_of(g, inputs, output, data, opset)
        g.nodes.pop()
        middle = np.quantile(u, g.random.uniform(0.2, 0.8, n_out), axis=0).diagonal()
        b = g.weight(name + ".bias", -middle.astype(np.float32))
        g.node("Gemm", [x, w, b], output, name=name, transB=1)

    centred("features", 4, 8, "h1", "fc1")
    g.node("Relu", ["h1"], "a1", name="relu1")
    centred("a1", 8, 6, "h2", "fc2")
    g.node("Relu", ["h2"], "a2")  # no name: the layer is called after its output
    features = features_of(g, inputs, "a2", data, opset)
    w, b = fit(g, features, labels, ["fc3.weight", "fc3.bias"])
    g.node("Gemm", ["a2", w, b], "logits", name="fc3")
    g.node("Softmax", ["logits"], "probabilities", name="softmax", axis=1)
    model = g.model("mlp", inputs, [("probabilities", FLOAT, ["batch", 3])], opset)
    save("mlp", model, data[:SAMPLES], "probabilities", ["h1", "h2"], logits="logits")
    np.savez_compressed(FOLDER / "data_mlp.npz", x=data, y=labels)


def make_attention():
    """One head of attention over five tokens, with a gate: products of two computed tensors."""
    g = Graph(60)
    for name in ["query", "key", "value"]:
        g.normal(name + ".weight", 4, 4)
        g.node("MatMul", ["tokens", name + ".weight"], name, name=name)
    g.node("Transpose", ["key"], "key_t", name="transpose", perm=[0, 2, 1])
    g.node("MatMul", ["query", "key_t"], "scores", name="scores")
    g.weight("scale", np.array(0.5, np.float32))
    g.node("Mul", ["scores", "scale"], "scaled", name="scaled")
    g.node("Softmax", ["scaled"], "weights", name="softmax", axis=2)
    g.node("MatMul", ["weights", "value"], "mixed", name="mixed")
    g.node("Add", ["tokens", "mixed"], "sum", name="residual")
    g.normal("stack", 1, 5, 5)
    g.node("MatMul", ["stack", "sum"], "stirred", name="stirred")
    g.node("Relu", ["stirred"], "active", name="relu")
    g.node("Sigmoid", ["sum"], "gate", name="gate")
    g.node("Mul", ["active", "gate"], "gated", name="gated")
    g.node("Flatten", ["gated"], "flat", name="flatten", axis=1)
    g.gemm("flat", 20, 3, "output", "fc")
    inputs = [("tokens", FLOAT, ["batch", 5, 4])]
    model = g.model("attention", inputs, [("output", FLOAT, ["batch", 3])], 13)
    x = g.random.normal(size=(SAMPLES, 5, 4)).astype(np.float32)
    save("attention", model, x, "output", ["stirred", "sum"])


def make_image_ops():
    """Operators that resize, rearrange and reduce images, one after the other."""
    g = Graph(70)
    ints = lambda name, *numbers: g.weight(name, np.array(numbers, np.int64))
    g.normal("up.weight", 2, 4, 3, 3), g.normal("up.bias", 4)
    g.node("ConvTranspose", ["input", "up.weight", "up.bias"], "up", name="up", strides=[2, 2],
           pads=[1, 1, 1, 1], output_padding=[1, 0])
    g.weight("scale", np.array([1.0, 0.5, 2.0, 1.5], np.float32))
    g.weight("shift", np.array([0.1, -0.2, 0.3, 0.0], np.float32))
    g.node("InstanceNormalization", ["up", "scale", "shift"], "normal", name="normal")
    g.node("Relu", ["normal"], "relu1", name="relu1")
    g.node("DepthToSpace", ["relu1"], "space", name="space", blocksize=2)
    g.weight("factors", np.array([1, 1, 0.6, 1.7], np.float32))
    g.node("Resize", ["space", "", "factors"], "linear", name="linear", mode="linear")
    ints("sizes", 1, 1, 6, 5)
    g.node("Resize", ["linear", "", "", "sizes"], "nearest", name="nearest", mode="nearest",
           coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    ints("axis", 3)
    g.node("CumSum", ["nearest", "axis"], "sums", name="sums", reverse=1)
    g.weight("mask", np.arange(30).reshape(1, 1, 6, 5) % 3 == 0)
    g.node("Where", ["mask", "sums", "nearest"], "picked", name="picked")
    g.node("ReduceMax", ["picked"], "highest", name="highest", axes=[2], keepdims=1)
    g.node("Sub", ["picked", "highest"], "below", name="below")
    g.node("Relu", ["below"], "relu2", name="relu2")
    g.node("Add", ["relu2", "picked"], "both", name="both")
    ints("rows", 5, 0, 2)
    g.node("Gather", ["both", "rows"], "some", name="some", axis=2)
    g.node("ReduceL2", ["some"], "length", name="length", axes=[3], keepdims=0)
    g.node("Flatten", ["length"], "flat", name="flatten")
    g.gemm("flat", 3, 3, "output", "fc")
    inputs = [("input", FLOAT, ["batch", 2, 4, 5])]
    model = g.model("image_ops", inputs, [("output", FLOAT, ["batch", 3])], 13)
    x = g.random.uniform(size=(SAMPLES, 2, 4, 5)).astype(np.float32)
    save("image_ops", model, x, "output", ["normal", "below"])


def make_cnn_nchw():
    g = Graph(20)
    r = g.random
    g.normal("conv1.weight", 4, 2, 3, 3)
    g.node("Conv", ["input", "conv1.weight"], "c1", name="/conv1/Conv", pads=[1, 1, 1, 1],
           kernel_shape=[3, 3])
    g.weight("bn.scale", r.uniform(0.5, 1.5, 4).astype(np.float32))
    g.weight("bn.bias", r.normal(size=4).astype(np.float32) / 2)
    g.weight("bn.mean", r.normal(size=4).astype(np.float32) / 4)
    g.weight("bn.var", r.uniform(0.2, 1.0, 4).astype(np.float32))
    g.node("BatchNormalization", ["c1", "bn.scale", "bn.bias", "bn.mean", "bn.var"], "n1",
           name="/bn/BatchNormalization")
    g.node("Relu", ["n1"], "a1", name="/relu/Relu")
    g.node("MaxPool", ["a1"], "p1", name="/pool/MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    g.normal("conv2.weight", 6, 4, 3, 3), g.normal("conv2.bias", 6)
    g.node("Conv", ["p1", "conv2.weight", "conv2.bias"], "c2", name="/conv2/Conv",
           kernel_shape=[3, 3], strides=[2, 2], pads=[1, 2, 1, 3])
    g.node("Relu", ["c2"], "a2", name="/relu_1/Relu")
    g.normal("conv3.weight", 6, 6, 3, 3), g.normal("conv3.bias", 6)
    g.node("Conv", ["a2", "conv3.weight", "conv3.bias"], "c3", name="/conv3/Conv",
           pads=[1, 1, 1, 1])
    g.node("Add", ["a2", "c3"], "sum", name="/Add")
    g.node("GlobalAveragePool", ["sum"], "pooled", name="/gap/GlobalAveragePool")
    g.node("Flatten", ["pooled"], "flat", name="/Flatten")
    g.gemm("flat", 6, 3, "output", "/fc/Gemm")
    inputs = [("input", FLOAT, ["batch", 2, 9, 8])]
    model = g.model("cnn_nchw", inputs, [("output", FLOAT, ["batch", 3])], 13)
    x = r.uniform(size=(SAMPLES, 2, 9, 8)).astype(np.float32)
    save("cnn_nchw", model, x, "output", ["n1", "c2"])


def make_cnn_nhwc():
    images, labels = strokes()
    data = images.astype(np.float32) / np.float32(255)
    inputs, opset = [("images", FLOAT, ["N", 8, 8, 1])], 15
    g = Graph(30)
    g.node("Transpose", ["images"], "nchw", name="to_nchw", perm=[0, 3, 1, 2])
    g.normal("kernel", 5, 1, 3, 3), g.normal("bias", 5)
    g.node("Conv", ["nchw", "kernel", "bias"], "conv", name="conv2d/Conv2D",
           auto_pad="SAME_UPPER", kernel_shape=[3, 3])
    g.node("Relu", ["conv"], "relu", name="conv2d/Relu")
    g.node("MaxPool", ["relu"], "pool", name="max_pooling2d", kernel_shape=[2, 2], strides=[2, 2])
    g.node("Transpose", ["pool"], "nhwc", name="to_nhwc", perm=[0, 2, 3, 1])
    g.node("Shape", ["nhwc"], "shape", name="flatten/Shape")
    g.weight("zero", np.array([0], np.int64)), g.weight("rest", np.array([-1], np.int64))
    g.node("Gather", ["shape", "zero"], "rows", name="flatten/strided_slice", axis=0)
    g.node("Concat", ["rows", "rest"], "target", name="flatten/stack", axis=0)
    g.node("Reshape", ["nhwc", "target"], "flat", name="flatten/Reshape")
    features = features_of(g, inputs, "flat", data, opset)
    w, b = fit(g, features, labels, ["dense/kernel", "dense/bias"])
    g.node("MatMul", ["flat", w], "product", name="dense/MatMul")
    g.node("Add", ["product", b], "scores", name="dense/BiasAdd")
    g.node("Softmax", ["scores"], "dense", name="dense/Softmax")
    model = g.model("cnn_nhwc", inputs, [("dense", FLOAT, ["N", 3])], opset)
    save("cnn_nhwc", model, data[:SAMPLES], "dense", ["conv"], logits="scores")
    np.savez_compressed(FOLDER / "data_images.npz", x=images, y=labels)


def make_external():
    g = Graph(40)
    g.gemm("x", 6, 7, "h", "hidden")
    g.node("Relu", ["h"], "a", name="relu")
    g.gemm("a", 7, 2, "y", "last")
    model = g.model("external", [("x", FLOAT, ["batch", 6])], [("y", FLOAT, ["batch", 2])], 17)
    x = g.random.normal(size=(SAMPLES, 6)).astype(np.float32)
    save("external", model, x, "y", ["h"])
    (FOLDER / "external.bin").unlink(missing_ok=True)  # onnx would append
    onnx.save_model(model, FOLDER / "external.onnx", save_as_external_data=True,
                    location="external.bin", size_threshold=0)
    (FOLDER / "external.bin").chmod(0o644)


def make_smooth():
    g = Graph(50)
    g.weight("root_two", np.float32(np.sqrt(2)))
    g.weight("one", np.float32(1)), g.weight("half", np.float32(0.5))
    g.gemm("x", 6, 8, "h1", "fc1")
    g.node("Div", ["h1", "root_two"], "scaled", name="gelu/Div")
    g.node("Erf", ["scaled"], "erf", name="gelu/Erf")
    g.node("Add", ["erf", "one"], "shifted", name="gelu/Add")
    g.node("Mul", ["h1", "shifted"], "twice", name="gelu/Mul")
    g.node("Mul", ["twice", "half"], "a1", name="gelu/Mul_1")
    g.weight("ln.scale", g.random.uniform(0.5, 1.5, 8).astype(np.float32))
    g.normal("ln.bias", 8)
    g.node("LayerNormalization", ["a1", "ln.scale", "ln.bias"], "n1", name="ln", axis=-1)
    g.gemm("n1", 8, 7, "h2", "fc2")
    g.node("Tanh", ["h2"], "a2", name="tanh")
    g.gemm("a2", 7, 5, "h3", "fc3")
    g.node("Sigmoid", ["h3"], "gate", name="silu/Sigmoid")
    g.node("Mul", ["gate", "h3"], "a3", name="silu/Mul")
    g.gemm("a3", 5, 3, "y", "fc4")
    model = g.model("smooth", [("x", FLOAT, ["batch", 6])], [("y", FLOAT, ["batch", 3])], 17)
    x = g.random.normal(size=(SAMPLES, 6)).astype(np.float32)
    save("smooth", model, x, "y", ["h1", "h2", "h3"])


def make_two_outputs():
    g = Graph(60)
    g.gemm("x", 5, 6, "h", "fc1")
    g.node("Relu", ["h"], "a", name="relu")
    g.gemm("a", 6, 4, "scores", "fc2")
    g.node("ArgMax", ["scores"], "label", name="argmax", axis=1, keepdims=0)
    outputs = [("label", INT64, ["batch"]), ("scores", FLOAT, ["batch", 4])]
    model = g.model("two_outputs", [("x", FLOAT, ["batch", 5])], outputs, 18)
    x = g.random.normal(size=(SAMPLES, 5)).astype(np.float32)
    save("two_outputs", model, x, "scores", ["h"], label="label")


def make_marks():
    """Three marks, each on or off by itself."""
    g = Graph(80)
    g.gemm("x", 4, 6, "h", "fc1")
    g.node("Relu", ["h"], "a", name="relu")
    g.gemm("a", 6, 3, "logits", "fc2")
    g.node("Sigmoid", ["logits"], "marks", name="marks")
    model = g.model("marks", [("x", FLOAT, ["batch", 4])], [("marks", FLOAT, ["batch", 3])], 17)
    x = g.random.normal(size=(SAMPLES, 4)).astype(np.float32)
    save("marks", model, x, "marks", ["h"], logits="logits")


def make_unsupported():
    g = Graph(70)
    g.node("Det", ["x"], "y", name="det_1")
    inputs, outputs = [("x", FLOAT, [1, 3, 3])], [("y", FLOAT, [1])]
    model = g.model("unsupported", inputs, outputs, 17)
    onnx.checker.check_model(model)
    (FOLDER / "unsupported.onnx").write_bytes(model.SerializeToString(deterministic=True))


def one_output(seed, inputs, wanted, opset):
    """Two inputs, a layer of 8, and one number fitted to what is wanted of the data."""
    g = Graph(seed)
    g.gemm("x", 2, 8, "h", "hidden")
    g.node("Relu", ["h"], "a", name="relu")
    rows = np.c_[features_of(g, [("x", FLOAT, ["batch", 2])], "a", inputs, opset),
                 np.ones(len(inputs))].astype(np.float64)
    ridge = rows.T @ rows + 0.01 * np.eye(rows.shape[1])
    solution = np.linalg.solve(ridge, rows.T @ wanted).astype(np.float32)
    g.weight("last.weight", solution[:-1, None]), g.weight("last.bias", solution[-1:])
    g.node("Gemm", ["a", "last.weight", "last.bias"], "score", name="last")
    return g


def make_sigmoid():
    """A classifier with one output, as Keras and others write them: inside a bent strip or not."""
    data = np.random.default_rng(3).uniform(-1, 1, size=(80, 2)).astype(np.float32)
    distance = np.abs(data[:, 1] - np.abs(data[:, 0]) + 0.2)
    labels = (distance < 0.45).astype(np.int64)
    opset = 13
    g = one_output(80, data, 8.0 * labels - 4.0, opset)
    g.node("Sigmoid", ["score"], "probability", name="sigmoid")
    model = g.model("sigmoid", [("x", FLOAT, ["batch", 2])],
                    [("probability", FLOAT, ["batch", 1])], opset)
    save("sigmoid", model, data[:SAMPLES], "probability", ["h"], logits="score")
    np.savez_compressed(FOLDER / "data_sigmoid.npz", x=data, y=labels)


def make_regressor():
    """One output that is a quantity."""
    data = np.random.default_rng(4).uniform(-1, 1, size=(80, 2)).astype(np.float32)
    values = np.abs(data[:, 0]) + data[:, 0] * data[:, 1] + 3
    opset = 13
    g = one_output(90, data, values.astype(np.float64), opset)
    model = g.model("regressor", [("x", FLOAT, ["batch", 2])], [("score", FLOAT, ["batch", 1])],
                    opset)
    save("regressor", model, data[:SAMPLES], "score", ["h"])
    np.savez_compressed(FOLDER / "data_regressor.npz", x=data, y=values.astype(np.float32))


for make in (make_mlp, make_cnn_nchw, make_cnn_nhwc, make_external, make_smooth,
             make_two_outputs, make_attention, make_image_ops, make_unsupported, make_sigmoid,
             make_regressor, make_marks):
    make()
