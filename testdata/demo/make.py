"""Trains the demo network and picks the demo images: same machine, same packages, same bytes.

    python3 -m venv ../demo-venv
    ../demo-venv/bin/pip install numpy onnx
    ../demo-venv/bin/python testdata/demo/make.py

The images come from Debian's package dataset-fashion-mnist, which this script downloads (with
apt-get, on Debian or Ubuntu) and unpacks into a temporary folder. Elsewhere, or offline, unpack the
package and give its folder: --package-root DIR. A few minutes on one core.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")  # sums in one fixed order

import argparse
import gzip
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

FOLDER = Path(__file__).resolve().parent
PACKAGE = "dataset-fashion-mnist"
DEMO_IMAGES = 300
SEED, EPOCHS, BATCH = 1, 40, 100
RATE, DECAY = 4e-3, 1e-2  # of AdamW; the rate falls to 0 along a cosine
LEAK = 0.1  # of dense1's gradient, where relu3 is inactive, lest neurons die
KERNEL, STRIDE = 3, 2  # of both convolutions
CHANNELS, SIDE, HIDDEN, CLASSES = (1, 8, 12), 6, 32, 10  # SIDE: of what conv2 gives


def unpack(folder):
    """Downloads the package and unpacks it into the folder."""
    # Without root's rights the update fails and the lists that are there have to do.
    subprocess.run(["apt-get", "update"], cwd=folder, check=False)
    subprocess.run(["apt-get", "download", PACKAGE], cwd=folder, check=True)
    (package,) = Path(folder).glob("*.deb")
    subprocess.run(["dpkg-deb", "-x", package, folder], check=True)


def read_idx(root, name):
    """One of the package's files: bytes with a header of the dimensions."""
    path = Path(root) / "usr/share/datasets/fashion-mnist" / name
    content = gzip.decompress(path.read_bytes())
    rank = content[3]
    shape = np.frombuffer(content, ">i4", rank, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * rank).reshape(shape)


def read_split(root, split):
    images = read_idx(root, f"{split}-images-idx3-ubyte.gz")
    return images, read_idx(root, f"{split}-labels-idx1-ubyte.gz").astype(np.int64)


def scaled(images):
    """Bytes as the network takes them: from 0 to 1, channels last while training."""
    return images[..., None].astype(np.float32) / np.float32(255)


def initial(random):
    """He's weights, centred: inputs are positive, and few neurons may start on one side of 0.

    A convolution's matrix has a row per (y, x, channel) of its window.
    """
    shapes = {
        "conv1": (KERNEL**2 * CHANNELS[0], CHANNELS[1]),
        "conv2": (KERNEL**2 * CHANNELS[1], CHANNELS[2]),
        "dense1": (CHANNELS[2] * SIDE**2, HIDDEN),
        "logits": (HIDDEN, CLASSES),
    }
    weights = {}
    for name, (n_in, n_out) in shapes.items():
        normal = random.standard_normal((n_in, n_out), np.float32)
        normal -= normal.mean(axis=0)
        weights[name + ".weight"] = normal * np.float32(np.sqrt(2 / n_in))
        weights[name + ".bias"] = np.zeros(n_out, np.float32)
    return weights


def places(side):
    """Where each weight of a window meets a square image, over all the window's positions."""
    count = (side - KERNEL) // STRIDE + 1
    spans = [slice(i, i + STRIDE * (count - 1) + 1, STRIDE) for i in range(KERNEL)]
    return [(slice(None), rows, columns) for rows in spans for columns in spans]


def windows(x):
    return np.concatenate([x[place] for place in places(x.shape[1])], axis=-1)


def windows_back(gradient, like):
    """The gradient of `windows`."""
    result, channels = np.zeros_like(like), like.shape[-1]
    for i, place in enumerate(places(like.shape[1])):
        result[place] += gradient[..., i * channels : (i + 1) * channels]
    return result


def forward(weights, x):
    """What the gradient needs of the layers' inputs, and the logits."""

    def layer(name, inputs):
        return inputs @ weights[name + ".weight"] + weights[name + ".bias"]

    window1 = windows(x)
    relu1 = np.maximum(layer("conv1", window1), 0)
    window2 = windows(relu1)
    relu2 = np.maximum(layer("conv2", window2), 0)
    flat = relu2.transpose(0, 3, 1, 2).reshape(len(x), -1)  # channels first, as in the file
    relu3 = np.maximum(layer("dense1", flat), 0)
    return (window1, relu1, window2, flat, relu3), layer("logits", relu3)


def gradients(weights, x, labels):
    """Of the mean cross-entropy, but for LEAK."""
    (window1, relu1, window2, flat, relu3), logits = forward(weights, x)
    result = {}

    def layer_back(name, inputs, gradient):
        rows = gradient.reshape(-1, gradient.shape[-1])
        result[name + ".weight"] = inputs.reshape(len(rows), -1).T @ rows
        result[name + ".bias"] = rows.sum(axis=0)

    def inputs_back(name, gradient):
        return gradient @ weights[name + ".weight"].T

    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    g = odds / odds.sum(axis=1, keepdims=True)
    g[np.arange(len(x)), labels] -= 1
    g /= len(x)
    layer_back("logits", relu3, g)
    g = inputs_back("logits", g) * np.where(relu3 > 0, 1, LEAK).astype(x.dtype)
    layer_back("dense1", flat, g)
    g = inputs_back("dense1", g) * (flat > 0)
    g = g.reshape(len(x), CHANNELS[2], SIDE, SIDE).transpose(0, 2, 3, 1)
    layer_back("conv2", window2, g)
    g = windows_back(inputs_back("conv2", g), relu1) * (relu1 > 0)
    layer_back("conv1", window1, g)
    return result


def train(images, labels):
    """AdamW over shuffled batches, half of each mirrored."""
    random = np.random.default_rng(SEED)
    weights = initial(random)
    mean = {name: np.zeros_like(w) for name, w in weights.items()}
    square = {name: np.zeros_like(w) for name, w in weights.items()}
    steps, step = EPOCHS * (len(images) // BATCH), 0
    for epoch in range(EPOCHS):
        for batch in random.permutation(len(images)).reshape(-1, BATCH):
            x = scaled(images[batch])
            x[: BATCH // 2] = x[: BATCH // 2, :, ::-1]
            step += 1
            rate = np.float32(RATE * (1 + np.cos(np.pi * step / steps)) / 2)
            for name, g in gradients(weights, x, labels[batch]).items():
                mean[name] += np.float32(0.1) * (g - mean[name])
                square[name] += np.float32(0.001) * (g * g - square[name])
                m = mean[name] / np.float32(1 - 0.9**step)
                s = square[name] / np.float32(1 - 0.999**step)
                decay = np.float32(DECAY if name.endswith(".weight") else 0)
                weights[name] -= rate * (m / (np.sqrt(s) + np.float32(1e-8)) + decay * weights[name])
        print(f"epoch {epoch + 1}: {accuracy(weights, images[:5000], labels[:5000]):.2%}", flush=True)
    return weights


def accuracy(weights, images, labels):
    parts = [forward(weights, scaled(part))[1] for part in np.split(images, len(images) // BATCH)]
    return np.mean(np.concatenate(parts).argmax(axis=1) == labels)


def to_onnx(weights):
    """The trained network, channels first."""
    stored = dict(weights)
    for name, channels in zip(("conv1", "conv2"), CHANNELS):
        kernel = weights[name + ".weight"].reshape(KERNEL, KERNEL, channels, -1)
        stored[name + ".weight"] = kernel.transpose(3, 2, 0, 1)
    for name in ("dense1", "logits"):
        stored[name + ".weight"] = weights[name + ".weight"].T
    nodes, tensor = [], "image"

    def node(op, name, *parameters, **attributes):
        nonlocal tensor
        output = "scores" if name == "logits" else name + "_out"
        inputs = [tensor, *(f"{name}.{parameter}" for parameter in parameters)]
        nodes.append(helper.make_node(op, inputs, [output], name=name, **attributes))
        tensor = output

    window = {"kernel_shape": [KERNEL] * 2, "strides": [STRIDE] * 2}
    node("Conv", "conv1", "weight", "bias", **window)
    node("Relu", "relu1")
    node("Conv", "conv2", "weight", "bias", **window)
    node("Relu", "relu2")
    node("Flatten", "flatten", axis=1)
    node("Gemm", "dense1", "weight", "bias", transB=1)
    node("Relu", "relu3")
    node("Gemm", "logits", "weight", "bias", transB=1)
    graph = helper.make_graph(
        nodes,
        "fashion_cnn",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 28, 28])],
        [helper.make_tensor_value_info(tensor, TensorProto.FLOAT, ["batch", CLASSES])],
        [numpy_helper.from_array(np.ascontiguousarray(w), name) for name, w in stored.items()],
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", 13)],
        ir_version=8,
        producer_name="deepconcolic demo",
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def check(model, weights, images):
    """The file computes what was trained."""
    x = scaled(images)
    (given,) = ReferenceEvaluator(model).run(None, {"image": x.transpose(0, 3, 1, 2)})
    np.testing.assert_allclose(given, forward(weights, x)[1], rtol=1e-4, atol=1e-4)


def make(root):
    weights = train(*read_split(root, "train"))
    images, labels = read_split(root, "t10k")
    model = to_onnx(weights)
    x, y = images[:DEMO_IMAGES], labels[:DEMO_IMAGES]
    check(model, weights, x)
    (FOLDER / "fashion_cnn.onnx").write_bytes(model.SerializeToString(deterministic=True))
    np.savez_compressed(FOLDER / "fashion_test.npz", x=x, y=y)
    print(f"{len(labels)} test images: {accuracy(weights, images, labels):.2%}")
    print(f"{len(y)} demo images: {accuracy(weights, x, y):.2%}")


def main():
    parser = argparse.ArgumentParser(description=f"Makes the demo's files from {PACKAGE}")
    parser.add_argument("--package-root", metavar="DIR", help="where the package is unpacked")
    root = parser.parse_args().package_root
    if root:
        return make(root)
    with tempfile.TemporaryDirectory() as folder:
        unpack(folder)
        make(folder)


if __name__ == "__main__":
    main()
