"""onnxruntime as a server: one JSON command a line on stdin, one JSON answer a line on stdout.

Numbers travel in .npy files. One model is loaded at a time.
"""

import json
import math
import resource
import sys
import time

import numpy
import onnx
import onnxruntime


def dynamic_batch(model):
    """The model with its batch axis left open, where the file fixes it to one sample."""
    constants = {constant.name: constant for constant in model.graph.initializer}
    for value in list(model.graph.input) + list(model.graph.output):
        dims = value.type.tensor_type.shape.dim
        if value.name not in constants and len(dims) > 0:
            dims[0].dim_param = "batch"
    del model.graph.value_info[:]
    for node in model.graph.node:
        if node.op_type == "Reshape" and node.input[1] in constants:
            constant = constants[node.input[1]]
            target = onnx.numpy_helper.to_array(constant).copy()
            if target.size > 1 and target[0] == 1 and (target > 0).all():
                target[0] = -1
                constant.CopyFrom(onnx.numpy_helper.from_array(target, constant.name))
    return model


def shapes(model):
    """Shape of every tensor of the model, as far as they can be inferred."""
    graph = onnx.shape_inference.infer_shapes(model).graph
    values = list(graph.value_info) + list(graph.input) + list(graph.output)
    known = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in values}
    known.update({c.name: list(c.dims) for c in graph.initializer})
    return known


def flops(node, known):
    """Two for each multiplication of a convolution or a matrix product."""
    output = math.prod(known.get(node.output[0], [0]))
    if node.op_type == "Conv":
        return 2 * output * math.prod(known[node.input[1]][1:])
    if node.op_type == "MatMul":
        return 2 * output * known[node.input[1]][0]
    if node.op_type == "Gemm":
        weights = known[node.input[1]]
        return 2 * output * math.prod(weights) // known[node.output[0]][-1]
    return 0


class Server:
    def __init__(self):
        self.batch = None

    def hello(self, command):
        return {"version": onnxruntime.__version__}

    def load(self, command):
        """Opens a model with so many threads."""
        self.path = command["model"]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = command["threads"]
        options.inter_op_num_threads = command["threads"]
        options.log_severity_level = 3
        source = self.path
        if command["dynamic"]:
            source = dynamic_batch(onnx.load(self.path)).SerializeToString()
        start = time.perf_counter()
        self.session = onnxruntime.InferenceSession(
            source, options, providers=["CPUExecutionProvider"]
        )
        self.input = self.session.get_inputs()[0]
        return {"seconds": time.perf_counter() - start}

    def memory(self, command):
        """Bytes of this process that are in memory."""
        with open("/proc/self/statm") as numbers:
            pages = int(numbers.read().split()[1])
        return {"bytes": pages * resource.getpagesize()}

    def read(self, command):
        kinds = {"tensor(float)": numpy.float32, "tensor(double)": numpy.float64}
        return numpy.load(command["inputs"]).astype(kinds[self.input.type])

    def run(self, command):
        """Runs the samples of a file one at a time, and writes what one output gives."""
        results = [
            self.session.run([command["output"]], {self.input.name: sample})[0]
            for sample in self.read(command)
        ]
        numpy.save(command["outputs"], numpy.stack(results).astype(numpy.float32))
        return {}

    def hold(self, command):
        """Keeps the samples of a file as one batch, and writes what one output gives."""
        samples = self.read(command)
        self.batch = numpy.ascontiguousarray(samples.reshape((-1,) + samples.shape[2:]))
        self.output = command["output"]
        result = self.session.run([self.output], {self.input.name: self.batch})[0]
        numpy.save(command["outputs"], result.astype(numpy.float32))
        return {}

    def time(self, command):
        """Seconds of each of several runs of the batch held."""
        names, feed = [self.output], {self.input.name: self.batch}
        seconds = []
        for _ in range(command["runs"]):
            start = time.perf_counter()
            self.session.run(names, feed)
            seconds.append(time.perf_counter() - start)
        return {"seconds": seconds}

    def nodes(self, command):
        """What the loaded model does, node by node, for one sample."""
        model = onnx.load(self.path)
        known = shapes(model)
        return {
            "nodes": [
                {
                    "operator": node.op_type,
                    "flops": flops(node, known),
                    "input": known.get(node.input[0], []),
                    "output": known.get(node.output[0], []),
                }
                for node in model.graph.node
            ]
        }

    def sgemm(self, command):
        """The best rate of numpy's matrix product on one thread, in FLOP a second."""
        best = 0.0
        for size in (256, 512, 768):
            a = numpy.random.default_rng(1).random((size, size), dtype=numpy.float32)
            for _ in range(12):
                start = time.perf_counter()
                a @ a
                best = max(best, 2 * size**3 / (time.perf_counter() - start))
        return {"rate": best}


def main():
    server = Server()
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = getattr(server, command["do"])(command)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


main()
