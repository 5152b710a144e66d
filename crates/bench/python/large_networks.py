"""Makes networks of the size that people deploy, with weights drawn as training starts with them (He).

    python large_networks.py FOLDER [NAME ...]

VGG-16, ResNet-18 and -50 and MobileNetV2 for images of 224 x 224, a perceptron of 12 layers of 2,048 neurons and
a UNet; and by name only, `convolutions_W`: two convolutions over images of W x W, with 32 W^2 neurons. Normalisation is a node of its own, as exporters leave it. The same numbers every time.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Builder:
    """Collects the nodes and weights of a graph, one tensor after the other."""

    def __init__(self, shape, seed):
        self.random = np.random.default_rng(seed)
        self.shape = shape
        self.nodes, self.weights = [], []

    def weight(self, values):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def add(self, kind, inputs, **attributes):
        name = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def conv(self, x, channels, outputs, kernel=3, stride=1, groups=1, bias=True):
        each = channels // groups
        spread = np.sqrt(2 / (each * kernel * kernel))
        inputs = [x, self.weight(self.random.normal(0, spread, (outputs, each, kernel, kernel)))]
        if bias:
            inputs.append(self.weight(self.random.normal(0, 0.01, outputs)))
        pads = [kernel // 2] * 4
        return self.add("Conv", inputs, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=pads, group=groups)

    def normalised(self, x, channels):
        draw = self.random
        scale, bias = draw.normal(1, 0.1, channels), draw.normal(0, 0.1, channels)
        mean, variance = draw.normal(0, 0.1, channels), draw.uniform(0.5, 1.5, channels)
        return self.add("BatchNormalization", [x] + [self.weight(w) for w in (scale, bias, mean, variance)])

    def relu(self, x):
        return self.add("Relu", [x])

    def relu6(self, x):
        return self.add("Clip", [x, self.weight(np.array(0.0)), self.weight(np.array(6.0))])

    def gemm(self, x, inputs, outputs):
        weights = self.random.normal(0, np.sqrt(2 / inputs), (outputs, inputs))
        bias = self.random.normal(0, 0.01, outputs)
        return self.add("Gemm", [x, self.weight(weights), self.weight(bias)], transB=1)

    def pool(self, x, kernel=2, stride=2, pad=0):
        return self.add("MaxPool", [x], kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)

    def flat_mean(self, x):
        return self.add("Flatten", [self.add("GlobalAveragePool", [x])], axis=1)

    def model(self, x, outputs):
        graph = helper.make_graph(
            self.nodes,
            "large",
            [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["batch", *self.shape])],
            [helper.make_tensor_value_info(x, TensorProto.FLOAT, ["batch", *outputs])],
            self.weights,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        model.ir_version = 8
        return model


def vgg16():
    b = Builder([3, 224, 224], 16)
    x, channels = "input", 3
    for outputs, convolutions in [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]:
        for _ in range(convolutions):
            x, channels = b.relu(b.conv(x, channels, outputs)), outputs
        x = b.pool(x)
    x = b.add("Flatten", [x], axis=1)
    for inputs, outputs in [(25088, 4096), (4096, 4096)]:
        x = b.relu(b.gemm(x, inputs, outputs))
    return b.model(b.gemm(x, 4096, 1000), [1000])


def resnet(blocks, bottleneck, seed):
    b = Builder([3, 224, 224], seed)
    x = b.relu(b.normalised(b.conv("input", 3, 64, 7, 2, bias=False), 64))
    x, channels = b.pool(x, 3, 2, 1), 64
    for stage, count in enumerate(blocks):
        width = 64 << stage
        outputs = 4 * width if bottleneck else width
        for block in range(count):
            stride = 2 if block == 0 and stage > 0 else 1
            layers = [(channels, width, 1, 1), (width, width, 3, stride), (width, outputs, 1, 1)]
            if not bottleneck:
                layers = [(channels, width, 3, stride), (width, width, 3, 1)]
            y = x
            for place, (before, after, kernel, step) in enumerate(layers):
                y = b.normalised(b.conv(y, before, after, kernel, step, bias=False), after)
                if place + 1 < len(layers):
                    y = b.relu(y)
            if channels != outputs or stride > 1:
                x = b.normalised(b.conv(x, channels, outputs, 1, stride, bias=False), outputs)
            x, channels = b.relu(b.add("Add", [y, x])), outputs
    return b.model(b.gemm(b.flat_mean(x), channels, 1000), [1000])


def mobilenet_v2():
    b = Builder([3, 224, 224], 2)
    x, channels = b.relu6(b.normalised(b.conv("input", 3, 32, 3, 2, bias=False), 32)), 32
    stages = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    for expansion, outputs, count, first in stages:
        for block in range(count):
            stride = first if block == 0 else 1
            y, wide = x, channels * expansion
            if expansion > 1:
                y = b.relu6(b.normalised(b.conv(y, channels, wide, 1, bias=False), wide))
            y = b.relu6(b.normalised(b.conv(y, wide, wide, 3, stride, wide, bias=False), wide))
            y = b.normalised(b.conv(y, wide, outputs, 1, bias=False), outputs)
            x = b.add("Add", [x, y]) if stride == 1 and channels == outputs else y
            channels = outputs
    x = b.relu6(b.normalised(b.conv(x, channels, 1280, 1, bias=False), 1280))
    return b.model(b.gemm(b.flat_mean(x), 1280, 1000), [1000])


def perceptron():
    b = Builder([784], 12)
    x, width = "input", 784
    for _ in range(12):
        x, width = b.relu(b.gemm(x, width, 2048)), 2048
    return b.model(b.gemm(x, width, 10), [10])


def unet():
    b = Builder([3, 128, 128], 5)

    def twice(x, channels, outputs):
        for before in (channels, outputs):
            x = b.relu(b.normalised(b.conv(x, before, outputs, bias=False), outputs))
        return x

    x, channels, kept = "input", 3, []
    for outputs in (32, 64, 128, 256):
        x, channels = twice(x, channels, outputs), outputs
        kept.append((x, outputs))
        x = b.pool(x)
    x, channels = twice(x, channels, 512), 512
    for before, outputs in reversed(kept):
        scales = b.weight(np.array([1, 1, 2, 2]))
        x = b.add("Resize", [x, "", scales], mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        x = twice(b.add("Concat", [x, before], axis=1), channels + outputs, outputs)
        channels = outputs
    x = b.flat_mean(b.conv(x, channels, 10, 1))
    return b.model(x, [10])


def convolutions(width):
    b = Builder([3, width, width], width)
    x = b.relu(b.conv("input", 3, 16))
    x = b.relu(b.conv(x, 16, 16))
    return b.model(b.gemm(b.flat_mean(x), 16, 10), [10])


NETWORKS = {
    "mobilenet_v2": mobilenet_v2,
    "resnet18": lambda: resnet([2, 2, 2, 2], False, 18),
    "resnet50": lambda: resnet([3, 4, 6, 3], True, 50),
    "mlp_12x2048": perceptron,
    "unet": unet,
    "vgg16": vgg16,
}

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or NETWORKS:
        path = folder / f"{name}.onnx"
        if not path.exists():
            part = path.with_suffix(".part")
            kind, _, width = name.rpartition("_")
            onnx.save(convolutions(int(width)) if kind == "convolutions" else NETWORKS[name](), part)
            part.rename(path)
        print(path)
