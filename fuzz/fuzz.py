#!/usr/bin/env python3
"""A fuzzer for the command `deepconcolic`: it drives the binary as a user would, with files that are a little wrong.

    python3 fuzz/fuzz.py --binary target/release/deepconcolic --seconds 600 --seed 1
    python3 fuzz/fuzz.py --binary ... --seed 1 --case model:17        one case again, with what was printed

It needs numpy and onnx. Cases come in kinds (`--only KIND,KIND`):

  model      an ONNX file: bytes, dims, attributes, types, weights (NaN, infinite, huge), operators, cycles, missing tensors
  graph      a model of testdata/operators, with the bodies of its branches, loops and scans: the changes of `model`, then `eval`
             or `inspect`
  property   a VNN-LIB file, token by token
  language   a requirement file, token by token
  data       npz, npy, IDX, CSV, PNG and CIFAR files: headers and values
  support    region, profile and model side files
  inputs     models with several inputs or inputs of integers: options that fix, cut or size them, and their arrays
  nnet       a .nnet file, token by token
  folder     files of a run or verify folder cut, changed or swapped, then check, replay or run --resume
  certificate  one number of a certificate changed and sealed again; both checkers must say the same
  operator   a small model of one or two operators with drawn attributes: `eval`, the second checker and onnxruntime (where
             it is not installed, the onnx package) must agree
  edit       one value of a file that a person or a script reads is changed, and mostly the hashes made to fit; `check` must exit with 1, or its output must
             name what was changed as not verified. A certificate changed so that both checkers still accept it, and all that
             is claimed still follows, is a proof like any other and counted apart

A case is determined by the seed, its kind and its number alone. A finding is a panic, exit code 3 or a signal, a time or
memory far beyond what was allowed, a number that is none in the output of a command that ended well, checkers that differ, or an
edit that is missed. Findings are kept in `--out` with their files and the line that runs them again. Exit code 1 if there are
any.
"""

import argparse
import collections
import contextlib
import copy
import gzip
import hashlib
import io
import json
import os
import random
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TESTDATA = os.path.join(ROOT, "testdata")
sys.path.insert(0, os.path.join(ROOT, "checker"))
import deepconcolic_check as second_checker  # noqa: E402

BUDGET = ["--budget", "2s", "--max-executions", "100000"]
MEMORY = 4 << 30
SECONDS = 20  # of processor time; far beyond a budget of two seconds
WALL = 120


# --- Running ----------------------------------------------------------------------------------------------------------


class Result:
    def __init__(self, arguments, code, out, err, cpu, wall, rss):
        self.arguments, self.code, self.out, self.err = arguments, code, out, err
        self.cpu, self.wall, self.rss = cpu, wall, rss


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (2 * SECONDS, 2 * SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))


def launch(arguments, cwd, limited=True):
    """Runs a command; exit code, what it printed, and what it took."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.monotonic()
        child = subprocess.Popen(arguments, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                 preexec_fn=limits if limited else None, env={**os.environ, "RUST_BACKTRACE": "1"})
        code = None
        while code is None:
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
                child.returncode = code
            elif time.monotonic() - begin > WALL:
                child.kill()
                _, status, usage = os.wait4(child.pid, 0)
                child.returncode = code = -99
            else:
                time.sleep(0.005)
        text = []
        for stream in (out, err):
            stream.seek(0)
            text.append(stream.read(1 << 22).decode("utf-8", "replace"))
        return Result(arguments, code, text[0], text[1], usage.ru_utime + usage.ru_stime, time.monotonic() - begin,
                      usage.ru_maxrss << 10)


def second(here, folder):
    """What the second checker says of a folder: its exit code and what it prints."""
    said, before = io.StringIO(), os.getcwd()
    os.chdir(here)
    try:
        with contextlib.redirect_stdout(said):
            code = second_checker.judge_folder(folder)
    except Exception as why:  # Whatever it is, it is a finding.
        return 3, f"{type(why).__name__}: {why}"
    finally:
        os.chdir(before)
    return code, said.getvalue().strip()


def problem(result):
    """What is wrong with how a command ended, or None."""
    if result.code == -99:
        return f"no end after {WALL} s"
    if "panicked" in result.err:
        return "panic: " + next((l for l in result.err.splitlines() if "panicked" in l), "")[:160]
    if result.code < 0:
        return f"signal {-result.code} (processor time {result.cpu:.0f} s, memory {result.rss >> 20} MiB)"
    if result.code not in (0, 1, 2, 130):
        return f"exit code {result.code}: {result.err.strip()[:160]}"
    if result.cpu > SECONDS:
        return f"{result.cpu:.0f} s of processor time"
    if result.code == 2 and not result.err.strip():
        return "exit code 2 without a word"
    # A warning may speak of such numbers; a figure may not be one.
    figures = [l for l in result.out.splitlines() if not l.startswith(("warning", "note"))]
    wrong = next((l for l in figures if re.search(r"(?<![\w.])(NaN|nan|inf|-inf)(?![\w.])", l)), None)
    if result.code == 0 and wrong is not None:
        return f"exit code 0 and no number in the output: {wrong[:120]}"
    return None


# --- Changing things --------------------------------------------------------------------------------------------------

EDGES = [0, 1, -1, 2, 3, 7, 127, 128, 255, 256, 1 << 15, (1 << 31) - 1, 1 << 31, 1 << 32, (1 << 63) - 1, -(1 << 31),
         -(1 << 63)]
FLOATS = [0.0, -0.0, 1.0, -1.0, 1e-45, 1e-38, 3.4e38, -3.4e38, float("inf"), float("-inf"), float("nan"), 0.1, 1e10, 255.0,
          5e-324, 1.7e308]


def changed_bytes(rng, data, most=8):
    data = bytearray(data)
    for _ in range(rng.randint(1, most)):
        if not data:
            return bytes(rng.randbytes(8))
        at = rng.randrange(len(data))
        kind = rng.randrange(7)
        if kind == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at] = rng.choice([0, 1, 0x7f, 0x80, 0xff])
        elif kind == 2:
            del data[at:at + rng.randint(1, 16)]
        elif kind == 3:
            data[at:at] = rng.randbytes(rng.randint(1, 8))
        elif kind == 4:
            data[at:at + 4] = struct.pack("<I", rng.choice([0, 1, 0x7fffffff, 0xffffffff, 0x10000]))
        elif kind == 5 and rng.random() < 0.3:
            del data[at:]
        else:
            other = rng.randrange(len(data))
            n = rng.randint(1, 16)
            data[at:at + n] = data[other:other + n]
    return bytes(data)


def changed_tokens(rng, text, words):
    tokens = re.findall(r"\s+|[A-Za-z_][\w]*|\d+\.?\d*(?:[eE][-+]?\d+)?|.", text)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        at = rng.randrange(len(tokens)) if tokens else 0
        kind = rng.randrange(7)
        number = rng.choice([str(rng.choice(EDGES)), repr(rng.choice(FLOATS)), "1e999", "1e-999", "0x10", "1_000", "1.",
                             ".5", "99999999999999999999", "1e5000000"])
        if kind == 0 and tokens:
            del tokens[at]
        elif kind == 1:
            tokens.insert(at, rng.choice(words))
        elif kind == 2 and tokens:
            tokens[at] = rng.choice(words + [number])
        elif kind == 3 and tokens:
            tokens.insert(at, tokens[rng.randrange(len(tokens))])
        elif kind == 4 and tokens:
            other = rng.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif kind == 5:
            numbers = [k for k, t in enumerate(tokens) if t[:1].isdigit()]
            if numbers:
                tokens[rng.choice(numbers)] = number
        elif tokens:
            begin = rng.randrange(len(tokens))
            piece = tokens[begin:begin + rng.randint(1, 12)]
            tokens[at:at] = piece * rng.choice([1, 2, 40])
    return "".join(tokens)


MODELS = ["mlp", "cnn_nchw", "cnn_nhwc", "external", "smooth", "two_outputs", "demo/fashion_cnn"]
OPERATORS = ["Relu", "Gemm", "MatMul", "Conv", "Add", "Mul", "Div", "Sub", "MaxPool", "AveragePool", "Reshape", "Flatten", "Transpose",
             "Softmax", "Sigmoid", "Clip", "Concat", "Slice", "Gather", "Pad", "Split", "Squeeze", "Unsqueeze", "Identity", "Dropout",
             "BatchNormalization", "Cast", "Shape", "ReduceMean", "Max", "Min", "PRelu", "GlobalAveragePool", "Expand", "Tile",
             "ConstantOfShape", "Pow", "Sqrt", "Exp", "Log", "ArgMax", "LayerNormalization", "Nope", "Einsum", "LSTM", "GRU", "TopK",
             "If", "Loop", "Scan", "Attention", "GridSample", "ScatterElements", "Compress", "OneHot", "CumProd", "DFT", "Where", "Mod",
             "LpPool", "LRN", "ReverseSequence", "SoftmaxCrossEntropyLoss", "RotaryEmbedding", "Hardmax", "BitShift", "Cast"]


def graphs(graph):
    """A graph and all bodies inside it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from graphs(attribute.g)


def change_structure(rng, model):
    """One change to a decoded ONNX model, or to a body inside it."""
    graph = rng.choice(list(graphs(model.graph)))
    node = rng.choice(list(graph.node)) if graph.node else None
    tensor = rng.choice(list(graph.initializer)) if graph.initializer else None
    kind = rng.choice([6, 17]) if rng.random() < 0.3 else rng.randrange(18)
    if kind == 0 and node:
        node.op_type = rng.choice(OPERATORS)
    elif kind == 1 and node and node.input:
        names = [o for n in graph.node for o in n.output] + [t.name for t in graph.initializer] + ["", "missing"]
        node.input[rng.randrange(len(node.input))] = rng.choice(names)
    elif kind == 2 and node and node.output:
        names = [o for n in graph.node for o in n.output]
        node.output[rng.randrange(len(node.output))] = rng.choice(names + [""])
    elif kind == 3 and node and node.attribute:
        a = rng.choice(list(node.attribute))
        if a.type == onnx.AttributeProto.INT:
            a.i = rng.choice(EDGES)
        elif a.type == onnx.AttributeProto.FLOAT:
            a.f = min(max(rng.choice(FLOATS), -3.4e38), 3.4e38)
        elif a.type == onnx.AttributeProto.INTS and a.ints:
            a.ints[rng.randrange(len(a.ints))] = rng.choice(EDGES)
        else:
            node.attribute.remove(a)
    elif kind == 4 and node and node.attribute:
        a = rng.choice(list(node.attribute))
        if a.type == onnx.AttributeProto.INTS:
            if rng.random() < 0.5 and a.ints:
                del a.ints[-1]
            else:
                a.ints.append(rng.choice(EDGES))
    elif kind == 5 and node:
        name, value = rng.choice([("axis", rng.choice(EDGES)), ("axes", [rng.choice(EDGES)]), ("group", rng.choice(EDGES)), ("pads", [1] * 4),
                                  ("strides", [rng.choice(EDGES)] * 2), ("kernel_shape", [rng.choice(EDGES)] * 2), ("alpha", 0.5),
                                  ("ceil_mode", 1), ("auto_pad", "SAME_UPPER"), ("transB", 1), ("keepdims", 0), ("perm", [0, 0])])
        node.attribute.append(helper.make_attribute(name, value))
    elif kind in (6, 7) and tensor:
        values = numpy_helper.to_array(tensor).copy()
        if values.size and values.dtype.kind == "f":
            for _ in range(rng.choice([1, 1, 5, values.size])):
                with np.errstate(all="ignore"):
                    values.flat[rng.randrange(values.size)] = np.float32(rng.choice(FLOATS))
        elif values.size:
            values.flat[rng.randrange(values.size)] = np.array(rng.choice(EDGES), np.int64).astype(values.dtype)
        tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    elif kind == 8 and tensor:
        if tensor.dims:
            tensor.dims[rng.randrange(len(tensor.dims))] = rng.choice(EDGES)
        else:
            tensor.dims.append(rng.choice(EDGES))
    elif kind == 9 and tensor:
        tensor.data_type = rng.randrange(0, 25)
    elif kind == 10 and tensor:
        graph.initializer.remove(tensor)
    elif kind == 11 and node:
        graph.node.remove(node)
    elif kind == 12 and node:
        extra = copy.deepcopy(node)
        extra.name = "again"
        graph.node.append(extra)
    elif kind == 13 and graph.input:
        dims = graph.input[0].type.tensor_type.shape.dim
        if dims:
            dim = dims[rng.randrange(len(dims))]
            if rng.random() < 0.3:
                dim.dim_param = "n"
            else:
                dim.dim_value = rng.choice(EDGES)
    elif kind == 14:
        place = rng.choice(list(graph.input) + list(graph.output))
        place.type.tensor_type.elem_type = rng.randrange(0, 25)
    elif kind == 15:
        model.opset_import[0].version = rng.choice([0, 1, 6, 7, 9, 11, 13, 18, 25, 26, 999, -1])
    elif kind == 16 and len(graph.node) > 1:
        a, b = rng.sample(range(len(graph.node)), 2)
        first, second = copy.deepcopy(graph.node[a]), copy.deepcopy(graph.node[b])
        graph.node[a].CopyFrom(second)
        graph.node[b].CopyFrom(first)
    elif tensor:
        values = numpy_helper.to_array(tensor)
        if values.dtype.kind == "f":
            scaled = np.float32(rng.choice([1e20, 1e38, 1e-38, 0.0, -1.0]))
            with np.errstate(all="ignore"):
                tensor.CopyFrom(numpy_helper.from_array((values * scaled).astype(values.dtype), tensor.name))


# --- Cases ------------------------------------------------------------------------------------------------------------


class Fuzzer:
    def __init__(self, options):
        self.options = options
        self.binary = os.path.abspath(options.binary)
        self.base = os.path.join(os.path.abspath(options.out), "base")
        self.executions = 0
        self.counts = collections.Counter()
        self.findings = []
        self.missed = collections.Counter()

    def tool(self, here, *arguments):
        self.executions += 1
        command = [self.binary, *arguments]
        if arguments[0] not in ("inspect",):
            command += ["--threads", "1"]
        return launch(command, here)

    def prepare(self):
        """Files that cases start from: data in every format, and folders of runs and verdicts."""
        marker = os.path.join(self.base, "ready")
        stamp = hashlib.sha256(open(self.binary, "rb").read() + open(__file__, "rb").read()).hexdigest()
        if os.path.exists(marker) and open(marker).read() == stamp:
            return
        shutil.rmtree(self.base, ignore_errors=True)
        os.makedirs(self.base)
        self.make_data()
        property_text = self.property_text(0.9)
        with open(os.path.join(self.base, "p.vnnlib"), "w") as f:
            f.write(property_text)
        with open(os.path.join(self.base, "sat.vnnlib"), "w") as f:
            f.write(self.property_text(-1.0))
        for name in ("p", "sat"):
            self.tool(self.base, "verify", os.path.join(TESTDATA, "external.onnx"), f"{name}.vnnlib", "--timeout", "10", "--out",
                      f"verify-{name}")
        mlp = [os.path.join(TESTDATA, "mlp.onnx"), "--data", os.path.join(TESTDATA, "data_mlp.npz")]
        images = [os.path.join(TESTDATA, "cnn_nhwc.onnx"), "--data", os.path.join(TESTDATA, "data_images.npz")]
        with open(os.path.join(self.base, "r.dr"), "w") as f:
            f.write(REQUIREMENTS)
        near = ["--seeds", "3", "--radius", "0.05", "--budget", "8s", "--max-executions", "200000", "--quiet"]
        runs = {"run-nc": mlp + ["--criterion", "nc"], "run-ssc": mlp + ["--criterion", "ssc"],
                "run-kmnc": mlp + ["--criterion", "kmnc", "--sections", "5", "--profile", os.path.join(TESTDATA, "data_mlp.npz")],
                "run-dr": mlp + ["--requirements", "r.dr"], "run-images": images + ["--criterion", "nbc", "--profile",
                                                                                    os.path.join(TESTDATA, "data_images.npz")]}
        for name, arguments in runs.items():
            result = self.tool(self.base, "run", *arguments, *near, "--out", name)
            if result.code not in (0, 1):
                print(f"no folder {name}: {result.err.strip()[:200]}")
        with open(marker, "w") as f:
            f.write(stamp)

    def property_text(self, number):
        lines = [f"(declare-const X_{i} Real)" for i in range(6)] + ["(declare-const Y_0 Real)", "(declare-const Y_1 Real)"]
        lines += [f"(assert (>= X_{i} -0.5))\n(assert (<= X_{i} 0.5))" for i in range(6)]
        lines.append(f"(assert (or (and (>= Y_0 {number})) (and (<= Y_1 -{abs(number)}) (>= Y_0 Y_1))))")
        return "\n".join(lines) + "\n"

    def make_data(self):
        rng = np.random.default_rng(0)
        x = rng.random((20, 8, 8, 1), np.float32)
        y = rng.integers(0, 3, 20)
        base = self.base
        np.savez(os.path.join(base, "d.npz"), x=x, y=y)
        for name in ("cnn_nchw", "external", "smooth", "two_outputs"):
            with np.load(os.path.join(TESTDATA, name + ".npz")) as arrays:
                np.savez(os.path.join(base, name + "-x.npz"), x=arrays["x"])
        np.save(os.path.join(base, "d.npy"), x)
        with open(os.path.join(base, "d-images-idx3-ubyte"), "wb") as f:
            f.write(struct.pack(">IIII", 0x803, 20, 8, 8) + (x * 255).astype(np.uint8).tobytes())
        with open(os.path.join(base, "d-labels-idx1-ubyte"), "wb") as f:
            f.write(struct.pack(">II", 0x801, 20) + y.astype(np.uint8).tobytes())
        with gzip.open(os.path.join(base, "e-images-idx3-ubyte.gz"), "wb") as f:
            f.write(struct.pack(">IIII", 0x803, 20, 8, 8) + (x * 255).astype(np.uint8).tobytes())
        rows = ["a,b,c,d,label"] + [",".join(f"{v:.3f}" for v in row) + f",{k % 3}" for k, row in enumerate(rng.random((20, 4)))]
        with open(os.path.join(base, "d.csv"), "w") as f:
            f.write("\n".join(rows) + "\n")
        with open(os.path.join(base, "data_batch_1.bin"), "wb") as f:
            for k in range(4):
                f.write(bytes([k % 10]) + rng.integers(0, 256, 3072, np.uint8).tobytes())
        for label in ("0", "1"):
            os.makedirs(os.path.join(base, "pictures", label))
            for k in range(2):
                with open(os.path.join(base, "pictures", label, f"{k}.png"), "wb") as f:
                    f.write(png(rng.integers(0, 256, (8, 8), np.uint8)))
        np.savez(os.path.join(base, "region.npz"), lower=np.zeros((1, 4), np.float32), upper=np.full((1, 4), 5, np.float32))
        with open(os.path.join(base, "region.json"), "w") as f:
            json.dump([{"lower": 0.0, "upper": [5.0, 5.0, 5.0, 5.0]}], f)
        np.savez(os.path.join(base, "profile.npz"), samples=np.array([60]), neurons=np.array([8, 6]), mean=np.array([1.0, 1.0]),
                 low=np.full(14, -1, np.float32), high=np.ones(14, np.float32))

    # Each case makes files in `here` and returns results and, where it can tell itself, a problem.

    def case_model(self, rng, here):
        name = rng.choice(MODELS)
        with open(os.path.join(TESTDATA, name + ".onnx"), "rb") as f:
            data = f.read()
        if name == "external":
            shutil.copy(os.path.join(TESTDATA, "external.bin"), here)
        if rng.random() < 0.3:
            data = changed_bytes(rng, data)
        else:
            model = onnx.load_model_from_string(data)
            for _ in range(rng.randint(1, 3)):
                try:
                    change_structure(rng, model)
                except Exception:  # Not a change that the onnx package lets one write.
                    pass
            data = model.SerializeToString()
        with open(os.path.join(here, "m.onnx"), "wb") as f:
            f.write(data)
        source = {"mlp": "data_mlp.npz", "cnn_nhwc": "data_images.npz", "demo/fashion_cnn": "demo/fashion_test.npz"}
        if name in source:
            source = os.path.join(TESTDATA, source[name])
        else:
            source = os.path.join(self.base, name + "-x.npz")
        which = rng.randrange(8)
        if which == 0:
            return self.tool(here, "inspect", "m.onnx", *rng.choice([[], ["--json"]]))
        if which in (1, 2):
            return self.tool(here, "eval", "m.onnx", "--data", source, "--limit", "20", "--out", "y.npy")
        if which in (3, 4):
            criteria = rng.choice(["nc", "ssc", "tknc", "vvc", "lipschitz", "safety"])
            return self.tool(here, "coverage", "m.onnx", "--data", source, "--limit", "30", "--criterion", criteria)
        if which in (5, 6):
            return self.tool(here, "run", "m.onnx", "--data", source, "--limit", "30", "--seeds", "3", *BUDGET, "--out", "run",
                             "--criterion", rng.choice(["nc", "ssc", "kmnc", "nbc", "safety", "tknc"]),
                             "--profile", source)
        with open(os.path.join(here, "p.vnnlib"), "w") as f:
            f.write(self.property_text(rng.choice([0.9, 0.0, 100.0])))
        return self.tool(here, "verify", "m.onnx", "p.vnnlib", "--timeout", "2", "--out", "v")

    def case_graph(self, rng, here):
        folder = os.path.join(TESTDATA, "operators")
        name = rng.choice(sorted(file[:-5] for file in os.listdir(folder) if file.endswith(".onnx")))
        model = onnx.load(os.path.join(folder, name + ".onnx"), load_external_data=False)
        if rng.random() < 0.2:
            data = changed_bytes(rng, model.SerializeToString())
        else:
            for _ in range(rng.randint(1, 3)):
                try:
                    change_structure(rng, model)
                except Exception:  # Not a change that the onnx package lets one write.
                    pass
            data = model.SerializeToString()
        with open(os.path.join(here, "m.onnx"), "wb") as f:
            f.write(data)
        if rng.random() < 0.3:
            return self.tool(here, "inspect", "m.onnx")
        source = os.path.join(folder, name + ".npz")
        np.save(os.path.join(here, "x.npy"), np.load(source)["x"])
        return self.tool(here, "eval", "m.onnx", "--data", "x.npy", "--out", "y.npy")

    def case_property(self, rng, here):
        text = random_property(rng)
        if rng.random() < 0.5:
            text = changed_tokens(rng, text, PROPERTY_WORDS)
        data = text.encode()
        if rng.random() < 0.15:
            data = gzip.compress(data)
            data = changed_bytes(rng, data, 2) if rng.random() < 0.6 else data
        with open(os.path.join(here, "p.vnnlib"), "wb") as f:
            f.write(data)
        model = os.path.join(TESTDATA, "external.onnx")
        result = self.tool(here, "verify", model, "p.vnnlib", "--timeout", "2", "--out", "v")
        if result.code == 0 and problem(result) is None and os.path.exists(os.path.join(here, "v")):
            return self.both(here, "v", result)
        return result

    def both(self, here, folder, result):
        """A folder that the tool wrote is judged by both checkers: what it claims must hold."""
        first = self.tool(here, "check", folder)
        if problem(first) is not None:
            return first
        if first.code != 0:
            return result, f"check rejects what verify wrote: {first.out.strip()[-160:]}{first.err.strip()[-160:]}"
        code, said = second(here, folder)
        if code in (1, 3):
            return result, f"the second checker rejects what verify wrote: {said[-200:]}"
        return result

    def case_language(self, rng, here):
        lines = REQUIREMENTS.splitlines()
        text = "\n".join(rng.sample(lines, rng.randint(1, 3)))
        words = LANGUAGE_WORDS if rng.random() < 0.5 else ["0", "1", "2", "3", "0.5", "-1", "100"]
        text = changed_tokens(rng, text, words)
        with open(os.path.join(here, "r.dr"), "w") as f:
            f.write(text)
        arguments = [os.path.join(TESTDATA, "mlp.onnx"), "--data", os.path.join(TESTDATA, "data_mlp.npz"), "--requirements", "r.dr"]
        if rng.random() < 0.5:
            return self.tool(here, "coverage", *arguments, "--limit", "20", "--print", "3", "--open", "3")
        return self.tool(here, "run", *arguments, "--seeds", "3", "--radius", "0.05", *BUDGET, "--out", "run")

    def case_data(self, rng, here):
        base = self.base
        kind = rng.choice(["d.npz", "d.npy", "d-images-idx3-ubyte", "e-images-idx3-ubyte.gz", "d.csv", "data_batch_1.bin", "pictures",
                           "values"])
        model = os.path.join(TESTDATA, "cnn_nhwc.onnx")
        if kind == "d.csv":
            model = os.path.join(TESTDATA, "mlp.onnx")
            with open(os.path.join(base, kind)) as f:
                text = f.read()
            text = changed_tokens(rng, text, [",", "\n", "\"", ";", "NaN", "inf", "-", "x", "\t", "\r", "1e400", "label", " "])
            with open(os.path.join(here, kind), "w", newline="") as f:
                f.write(text)
        elif kind == "pictures":
            shutil.copytree(os.path.join(base, kind), os.path.join(here, kind))
            victim = os.path.join(here, kind, rng.choice("01"), rng.choice(["0.png", "1.png"]))
            with open(victim, "rb") as f:
                data = f.read()
            data = changed_bytes(rng, data, 3) if rng.random() < 0.6 else png_header(rng, data)
            with open(victim, "wb") as f:
                f.write(data)
        elif kind == "values":
            kind = "d.npz"
            shape = rng.choice([(20, 8, 8, 1), (20, 64), (20, 1, 8, 8), (0, 8, 8, 1), (20, 8, 8), (1, 64), (20, 8, 8, 3), (64,), ()])
            dtype = rng.choice(["f4", "f8", "f2", "u1", "i8", "i4", "?", "c8", "U3", "O", ">f4", "u8"])
            x = np.asarray(np.random.default_rng(rng.randrange(1 << 30)).random(shape)) * rng.choice([1, 255, 1e30])
            with np.errstate(all="ignore"):
                x = np.asarray(x).astype(object if dtype == "O" else dtype)
                if x.dtype.kind == "f" and x.size:
                    x.flat[rng.randrange(x.size)] = rng.choice(FLOATS)
            y = rng.choice([np.zeros(20, int), np.full(20, -1), np.full(20, 1 << 40), np.zeros((20, 3)), np.array(["a"] * 20), np.zeros(3, int),
                            np.full(20, np.nan)])
            with np.errstate(all="ignore"):
                np.savez(os.path.join(here, kind), **{rng.choice(["x", "x", "x", "images", "data"]): x, rng.choice(["y", "labels"]): y})
        else:
            with open(os.path.join(base, kind), "rb") as f:
                data = f.read()
            if kind.endswith(".npz") and rng.random() < 0.6:
                data = changed_npz(rng, data)
            elif kind.endswith(".gz") and rng.random() < 0.5:
                data = gzip.compress(changed_bytes(rng, gzip.decompress(data), 3))
            else:
                data = changed_bytes(rng, data[:64], 3) + data[64:] if rng.random() < 0.6 else changed_bytes(rng, data)
            with open(os.path.join(here, kind), "wb") as f:
                f.write(data)
            if kind.startswith("d-"):
                shutil.copy(os.path.join(base, "d-labels-idx1-ubyte"), here)
        which = rng.randrange(3)
        if which == 0:
            return self.tool(here, "eval", model, "--data", kind, "--out", "y.npy")
        if which == 1:
            return self.tool(here, "coverage", model, "--data", kind, "--criterion", "nc", "--criterion", "kmnc", "--profile", kind)
        return self.tool(here, "run", model, "--data", kind, "--criterion", "nc", "--seeds", "3", *BUDGET, "--out", "run")

    def case_support(self, rng, here):
        kind = rng.choice(["region.npz", "region.json", "profile.npz"])
        with open(os.path.join(self.base, kind), "rb") as f:
            data = f.read()
        if kind.endswith("json"):
            data = changed_tokens(rng, data.decode(), ["[", "]", "{", "}", ",", ":", "null", "true", "\"lower\"", "\"upper\"", "1e999", "-5"]).encode()
        else:
            data = changed_npz(rng, data) if rng.random() < 0.7 else changed_bytes(rng, data)
        with open(os.path.join(here, kind), "wb") as f:
            f.write(data)
        flag = ["--region", kind] if kind.startswith("region") else ["--profile", kind]
        criterion = "nc" if kind.startswith("region") else rng.choice(["nbc", "kmnc", "snac"])
        arguments = [os.path.join(TESTDATA, "mlp.onnx"), "--data", os.path.join(TESTDATA, "data_mlp.npz"), "--criterion", criterion, *flag]
        if kind.startswith("profile") and rng.random() < 0.5:
            return self.tool(here, "coverage", *arguments)
        result = self.tool(here, "run", *arguments, "--seeds", "3", *BUDGET, "--out", "run")
        if result.code in (0, 1) and problem(result) is None and os.path.exists(os.path.join(here, "run", "run.json")):
            judged = self.tool(here, "check", "run")
            if problem(judged) is not None:
                return judged
            if judged.code != 0:
                return result, f"check rejects what run wrote: {judged.out.strip()[-200:]}{judged.err.strip()[-100:]}"
        return result

    def case_inputs(self, rng, here):
        """Models with several inputs or inputs of integers, options about them, and arrays that are a little wrong."""
        name = rng.choice(["several", "tokens"])
        with open(os.path.join(TESTDATA, "inputs", name + ".npz"), "rb") as f:
            data = f.read()
        if rng.random() < 0.4:
            data = changed_npz(rng, data) if rng.random() < 0.7 else changed_bytes(rng, data)
        with open(os.path.join(here, "d.npz"), "wb") as f:
            f.write(data)
        array = np.full(rng.choice([(2, 1, 3), (1, 5), (5,), (6,), (), (0,), (2, 2, 3), (1, 0, 5)]), rng.choice([0.5, 1, -3, 1e30, np.nan]), dtype="f8")
        # Numbers that a type does not hold become whatever it makes of them; numpy refuses that where an array is made.
        with np.errstate(invalid="ignore", over="ignore"):
            array = array.astype(rng.choice(["f4", "f8", "i8", "u1"]) if rng.random() < 0.5 else "f4")
        stored = io.BytesIO()
        np.save(stored, array)
        stored = stored.getvalue()
        with open(os.path.join(here, "a.npy"), "wb") as f:
            f.write(changed_bytes(rng, stored, 3) if rng.random() < 0.4 else stored)
        usual = ["--dim", "height=4", "--dim", "width=4"] if name == "several" else ["--dim", "length=5"]
        names = ["image", "state", "gain", "offsets", "tokens", "mask", "x", ""]
        for _ in range(rng.randint(0, 3)):
            usual += rng.choice([
                ["--fix-input", rng.choice(names) + "=" + rng.choice(["a.npy", "d.npz", "1", "-0.5", "nan", "1e999", "", "x.npy"])],
                ["--dim", rng.choice(["height", "width", "length", "batch", "image:2", "state:1", "tokens:1", ":", "x"]) + "="
                 + rng.choice(["4", "5", "1", "0", "-1", "1000000", "99999999999999999999", "x"])],
                ["--from", rng.choice(["embedded", "masked", "u", "relu1", "scores", "tokens", "nowhere", ""])],
                ["--domain", rng.choice(["0..1", "image=0..1", "image=0..1,state=-1..1,gain=0..1,offsets=0..1", "=", "embedded=-1..1,mask=0..1"])]])
        model = os.path.join(TESTDATA, "inputs", name + ".onnx")
        which = rng.randrange(4)
        if which == 0:
            return self.tool(here, "inspect", model, *[a for pair in zip(usual[::2], usual[1::2]) if pair[0] != "--domain" for a in pair])
        if which == 1:
            flags = [a for pair in zip(usual[::2], usual[1::2]) if pair[0] != "--domain" for a in pair]
            return self.tool(here, "eval", model, "--data", "d.npz", "--out", "y.npy", *flags)
        if which == 2:
            return self.tool(here, "coverage", model, "--data", "d.npz", "--criterion", rng.choice(["nc", "ssc"]), *usual)
        result = self.tool(here, "run", model, "--data", "d.npz", "--criterion", rng.choice(["nc", "ssc", "safety"]), "--seeds", "3", *BUDGET,
                           "--out", "run", *usual)
        if result.code in (0, 1) and problem(result) is None and os.path.exists(os.path.join(here, "run", "run.json")):
            judged = self.tool(here, "check", "run")
            if problem(judged) is not None:
                return judged
            if judged.code != 0:
                return result, f"check rejects what run wrote: {judged.out.strip()[-200:]}{judged.err.strip()[-100:]}"
        return result

    def case_nnet(self, rng, here):
        """A .nnet file that is a little wrong."""
        sizes = [rng.randint(1, 4) for _ in range(rng.randint(2, 5))]
        row = lambda count: ",".join(f"{rng.uniform(-2, 2):.3f}" for _ in range(count)) + ","
        lines = ["// made by a fuzzer", f"{len(sizes) - 1},{sizes[0]},{sizes[-1]},{max(sizes)},", ",".join(map(str, sizes)) + ",", "0,"]
        lines += [",".join(["-1"] * sizes[0]), ",".join(["1"] * sizes[0]), row(sizes[0] + 1), ",".join(["2"] * (sizes[0] + 1))]
        for before, after in zip(sizes, sizes[1:]):
            lines += [row(before) for _ in range(after)] + [row(1) for _ in range(after)]
        text = "\n".join(lines) + "\n"
        if rng.random() < 0.8:
            text = changed_tokens(rng, text, [",", "-", "1e999", "nan", "0", "4096", "1048576", "//", "\n", "x", "1e-50"])
        with open(os.path.join(here, "m.nnet"), "wb") as f:
            f.write(changed_bytes(rng, text.encode(), 3) if rng.random() < 0.3 else text.encode())
        np.save(os.path.join(here, "x.npy"), np.zeros((3, sizes[0]), np.float32))
        if rng.random() < 0.5:
            return self.tool(here, "inspect", "m.nnet")
        return self.tool(here, "eval", "m.nnet", "--data", "x.npy", "--out", "y.npy")

    def folders(self):
        return sorted(n for n in os.listdir(self.base) if n.startswith(("run-", "verify-")))

    def case_folder(self, rng, here):
        name = rng.choice(self.folders())
        folder = os.path.join(here, name)
        shutil.copytree(os.path.join(self.base, name), folder)
        for side in ("r.dr", "p.vnnlib", "sat.vnnlib"):
            shutil.copy(os.path.join(self.base, side), here)
        files = [os.path.join(p, f) for p, _, fs in os.walk(folder) for f in fs if f != "lock"]
        victim = rng.choice(sorted(files))
        if name.startswith("run-") and rng.random() < 0.4:
            victim = os.path.join(folder, "journal")
        with open(victim, "rb") as f:
            data = f.read()
        kind = rng.randrange(6)
        if kind == 0:
            os.remove(victim)
        elif kind == 1:
            data = data[:rng.randrange(len(data) + 1)]
        elif kind == 2 and victim.endswith(".npz"):
            data = changed_npz(rng, data)
        elif kind == 3 and victim.endswith((".json", ".md", ".txt")):
            data = changed_tokens(rng, data.decode("utf-8", "replace"), ["{", "}", "null", "[", "]", "\"", "-1", ",", ":"]).encode()
        else:
            data = changed_bytes(rng, data)
        if kind:
            with open(victim, "wb") as f:
                f.write(data)
        which = rng.randrange(4)
        if which < 2 or name.startswith("verify-"):
            return self.tool(here, "check", name)
        if which == 2:
            return self.tool(here, "replay", name)
        criterion = {"run-nc": ["--criterion", "nc"], "run-ssc": ["--criterion", "ssc"], "run-dr": ["--requirements", "r.dr"]}
        if name not in criterion:
            return self.tool(here, "replay", name)
        return self.tool(here, "run", os.path.join(TESTDATA, "mlp.onnx"), "--data", os.path.join(TESTDATA, "data_mlp.npz"), *criterion[name],
                         "--seeds", "3", "--radius", "0.05", "--resume", *BUDGET, "--out", name)

    def case_certificate(self, rng, here):
        folders = [(n, f) for n in self.folders() for f in certificates(os.path.join(self.base, n))]
        if not folders:
            return None
        name, file = rng.choice(folders)
        shutil.copytree(os.path.join(self.base, name), os.path.join(here, name))
        for side in ("r.dr", "p.vnnlib", "sat.vnnlib"):
            shutil.copy(os.path.join(self.base, side), here)
        path = os.path.join(here, name, file)
        with open(path, "rb") as f:
            content = f.read()[:-32]
        before = content
        while content == before:
            content = bytearray(before)
            for _ in range(rng.randint(1, 2)):
                at = rng.randrange(40, len(content))
                content[at] = rng.choice([content[at] ^ (1 << rng.randrange(8)), rng.randrange(256)])
            content = bytes(content)
        with open(path, "wb") as f:
            f.write(content + hashlib.sha256(content).digest())
        first = self.tool(here, "check", name)
        if problem(first) is not None:
            return first
        code, said = second(here, name)
        if code == 3:
            return first, f"the second checker fails: {said[:160]}"
        self.counts[f"certificate: check {first.code}, second {code}"] += 1
        # check judges more of a run folder than the second checker does, so only acceptance by one that the other
        # rejects on the certificate counts.
        rejected = "rejected" in first.out
        if rejected and code == 0 or first.code == 0 and code == 1:
            return first, f"checkers differ: check {first.code} {first.out.strip()[-150:]!r}, second {code} {said[-150:]!r}"
        return first

    def case_edit(self, rng, here):
        name = rng.choice(self.folders())
        folder = os.path.join(here, name)
        shutil.copytree(os.path.join(self.base, name), folder)
        for side in ("r.dr", "p.vnnlib", "sat.vnnlib"):
            shutil.copy(os.path.join(self.base, side), here)
        files = [os.path.relpath(os.path.join(p, f), folder) for p, _, fs in os.walk(folder) for f in fs]
        files = sorted(f for f in files if f.endswith((".json", ".npz", ".md", ".csv", ".txt", ".certificate", ".dcc")))
        file = rng.choice(files)
        what = edit(rng, os.path.join(folder, file))
        if what is None:
            self.counts["edits that change nothing"] += 1
            return None
        # Sealing again would undo the edit of a hash.
        is_hash = re.match(r"(files\.|\w*sha256 )", what) is not None
        sealed = rng.random() < 0.7 and not is_hash and seal(folder)
        what += " (sealed again)" if sealed else ""
        result = self.tool(here, "check", name)
        if problem(result) is not None:
            return result
        place = f"{name.split('-')[0]}/{re.sub(r'[0-9]+', 'N', file)}: {re.sub(r'[0-9]+', 'N', what.split(' -> ')[0])}"
        if result.code in (1, 2):
            self.counts["edits noticed" + (", hashes made to fit" if sealed else "")] += 1
            return result
        if listed(result.out + result.err, file, what):
            self.counts["edits listed as not verified"] += 1
            return result
        if file in certificates(folder) and second(here, name)[0] == 0:
            self.counts["edits that leave a valid proof"] += 1
            return result
        self.counts["edits missed"] += 1
        self.missed[place] += 1
        return result, f"missed: {name}/{file}: {what}"

    def case_operator(self, rng, here):
        model, shape = random_model(rng)
        onnx.save(model, os.path.join(here, "m.onnx"))
        x = np.random.default_rng(rng.randrange(1 << 30)).uniform(-2, 2, shape).astype(np.float32)
        np.savez(os.path.join(here, "x.npz"), x=x)
        expected = reference(model, x)
        result = self.tool(here, "eval", "m.onnx", "--data", "x.npz", "--scale", "1", "--out", "y.npy")
        if problem(result) is not None or expected is None or not np.isfinite(expected).all():
            return result
        names = "+".join(n.op_type for n in model.graph.node)
        close = lambda y: y.size == expected.size and np.allclose(y.ravel(), expected.ravel(), rtol=1e-4, atol=1e-4)
        if result.code == 0:
            y = np.load(os.path.join(here, "y.npy"))
            if not close(y):
                return result, f"eval of {names} differs from the reference by {difference(y, expected)}"
        try:
            read = second_checker.Model(os.path.join(here, "m.onnx"))
            values = read.run(x)[0][read.answer.ids]
            if not close(values):
                return result, f"the second checker's {names} differs from the reference by {difference(values, expected)}"
            self.counts["operator: the second checker agrees"] += 1
        except second_checker.NotCovered:
            self.counts["operator: not covered by the second checker"] += 1
        return result

    # The loop.

    def one(self, kind, number):
        rng = random.Random(f"{self.options.seed}/{kind}/{number}")
        here = tempfile.mkdtemp(prefix="fuzz-")
        try:
            outcome = getattr(self, "case_" + kind)(rng, here)
            result, wrong = outcome if isinstance(outcome, tuple) else (outcome, None)
            if result is None:
                return None
            wrong = wrong or problem(result)
            self.counts[f"{kind}: exit {result.code}"] += 1
            if wrong:
                self.keep(kind, number, here, result, wrong)
            return result, wrong
        finally:
            shutil.rmtree(here, ignore_errors=True)

    def keep(self, kind, number, here, result, wrong):
        self.findings.append((kind, number, wrong))
        folder = os.path.join(self.options.out, f"{kind}-{number}")
        if kind != "edit":
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(here, folder, symlinks=True)
        with open(os.path.join(self.options.out, "findings.txt"), "a") as f:
            shown = " ".join(result.arguments)
            f.write(f"{wrong}\n  {shown}\n  python3 fuzz/fuzz.py --binary {self.options.binary} --seed {self.options.seed} "
                    f"--case {kind}:{number}\n")
        if kind != "edit" or self.options.verbose:
            print(f"finding {kind}:{number}: {wrong}", flush=True)

    def run(self):
        os.makedirs(self.options.out, exist_ok=True)
        self.prepare()
        if self.options.case:
            kind, number = self.options.case.split(":")
            outcome = self.one(kind, int(number))
            if outcome is None:
                print("nothing to do in this case")
                return 0
            result, wrong = outcome
            print(" ".join(result.arguments), "-> exit", result.code, f"{result.cpu:.1f} s, {result.rss >> 20} MiB")
            print(result.out[-3000:] + result.err[-3000:])
            print("finding:" if wrong else "no finding", wrong or "")
            return 1 if wrong else 0
        kinds = self.options.only.split(",") if self.options.only else KINDS
        begin, number = time.monotonic(), self.options.start
        while time.monotonic() - begin < self.options.seconds:
            for kind in kinds:
                self.one(kind, number)
            number += 1
        print(f"executions: {self.executions}; cases {self.options.start}..{number - 1} of {', '.join(kinds)}; seed {self.options.seed}")
        for key, count in sorted(self.counts.items()):
            print(f"  {key}: {count}")
        for place, count in self.missed.most_common(60):
            print(f"  missed {count}: {place}")
        print(f"findings: {len(self.findings)}")
        return 1 if self.findings else 0


KINDS = ["model", "graph", "property", "language", "data", "support", "inputs", "nnet", "folder", "certificate", "operator", "edit"]
PROPERTY_WORDS = ["(", ")", "assert", "and", "or", "not", "<=", ">=", "<", ">", "=", "X_0", "Y_0", "X_99", "Y_9", "+", "-", "*", "/",
                  "declare-const", "Real", "declare-fun", ";", "true", "false", "X_", "=>", "ite", "let"]
LANGUAGE_WORDS = ["exists", "forall", "x", "x1", "x2", ":", "ap", "u", "v", "[", "]", "(", ")", "{", "}", "|", "and", "or", "not", "=>",
                  "iff", "xor", "in", "box", "dist", "all", "any", "for", "if", "K", "hidden", "layers", "neurons", "..", "..=", ",", "<", "<=",
                  ">", ">=", "=", "!=", "+", "-", "*", "/", "abs", "require", "\"a\"", ";", "#", "output", "input", "logits", "l2", "true"]
REQUIREMENTS = """# Requirements that cases start from.
require "a": exists x: ap[x][2,0] and u[x][2,1] >= 0.25
for k in hidden, i in neurons(k): exists x: ap[x][k,i]
exists x: |{ap[x][2,i] for i in neurons(2)}| >= 3
forall x: v[x][output,0] - 2*v[x][output,1] <= 100
exists x1, x2: dist[l2](x1, x2) <= 0.5 and ap[x1][2,3] != ap[x2][2,3]
exists x: x in box(0, [5, 5, 5, 5]) and abs(u[x][3,0]) < 0.5 or not (v[x][input,0] > 1)
"""


def reference(model, x):
    """What onnxruntime makes of a model, or the onnx package; None if it makes no sense or cannot be told."""
    try:
        if onnxruntime is not None:
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            options.log_severity_level = 4
            session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
            return session.run(None, {"x": x})[0]
        # The package's own evaluator trains in old forms of BatchNormalization and mixes up uneven padding in pools.
        if any(n.op_type in ("BatchNormalization", "MaxPool", "AveragePool") for n in model.graph.node):
            return None
        with np.errstate(all="ignore"):
            return ReferenceEvaluator(model).run(None, {"x": x})[0]
    except Exception:  # Whatever it is, the model is at fault or the oracle.
        return None


def difference(y, expected):
    return "shape" if y.size != expected.size else f"{np.abs(y.ravel() - expected.ravel()).max():.3g}"


def random_model(rng):
    """A model of one or two operators on an image or a vector, with drawn attributes; and the input's shape."""
    numbers = np.random.default_rng(rng.randrange(1 << 30))
    draw = lambda *dims: numbers.uniform(-1, 1, dims).astype(np.float32)
    nodes, constants = [], []

    def constant(array):
        name = f"c{len(constants)}"
        constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def add(kind, inputs, **attributes):
        out = f"t{len(nodes)}"
        nodes.append(helper.make_node(kind, inputs, [out], **{k: v for k, v in attributes.items() if v is not None}))
        return out
    opset = rng.choice([9, 11, 13, 18])
    c, h, w = rng.choice([1, 2, 4]), rng.randint(3, 7), rng.randint(3, 7)
    shape = rng.choice([(1, c, h, w), (1, c, h, w), (1, c * h)])
    t, image = "x", len(shape) == 4
    for _ in range(rng.choice([1, 1, 2])):
        if image:
            kernel = [rng.randint(1, min(3, h)), rng.randint(1, min(3, w))]
            window = dict(kernel_shape=kernel, strides=rng.choice([None, [1, 1], [2, 1], [2, 2], [3, 2]]))
            if rng.random() < 0.3:
                window["auto_pad"] = rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
            elif rng.random() < 0.6:
                window["pads"] = [rng.randrange(k) for k in kernel * 2]
        kinds = ["Relu", "LeakyRelu", "Clip", "Abs", "Add", "Sub", "Mul", "Div", "PRelu", "HardSigmoid", "Transpose", "Max", "Min", "Flatten",
                 "Neg", "Sum", "Mean", "Sigmoid", "Tanh", "Elu", "Softplus", "Dropout", "Identity", "Concat", "ReduceMean"]
        kinds += ["Conv", "MaxPool", "AveragePool", "BatchNormalization", "GlobalAveragePool", "GlobalMaxPool", "Pad"] * 3 if image else \
            ["Gemm", "MatMul"] * 5
        kind = rng.choice(kinds)
        if kind == "Conv":
            group = rng.choice([1, 1, c])
            filters = group * rng.randint(1, 2)
            inputs = [t, constant(draw(filters, c // group, *kernel))] + ([constant(draw(filters))] if rng.random() < 0.6 else [])
            if "auto_pad" not in window and rng.random() < 0.3:
                window["dilations"] = rng.choice([[1, 2], [2, 2], [2, 1]])
            add("Conv", inputs, group=group, **window)
            break
        if kind in ("MaxPool", "AveragePool"):
            if opset >= 10 and rng.random() < 0.4:
                window["ceil_mode"] = 1
            if kind == "AveragePool":
                window["count_include_pad"] = rng.choice([None, 0, 1])
            elif opset >= 10 and "auto_pad" not in window and rng.random() < 0.3:
                window["dilations"] = rng.choice([[1, 2], [2, 1]])
            add(kind, [t], **window)
            break
        if kind == "BatchNormalization":
            t = add(kind, [t] + [constant(draw(c)) for _ in range(3)] + [constant(np.abs(draw(c)) + 0.1)], epsilon=rng.choice([None, 0.01]))
        elif kind == "Pad" and opset >= 11:
            pads = [0, 0, rng.randrange(3), rng.randrange(3), 0, 0, rng.randrange(3), rng.randrange(3)]
            mode = rng.choice([None, "constant", "reflect", "edge"])
            add(kind, [t, constant(np.array(pads, np.int64))] + ([constant(draw())] if mode is None and rng.random() < 0.5 else []), mode=mode)
            break
        elif kind == "Gemm":
            m = rng.randint(1, 4)
            flip = rng.random() < 0.5
            weight = draw(m, c * h) if flip else draw(c * h, m)
            add(kind, [t, constant(weight), constant(draw(*rng.choice([(m,), (1, m), (1,)])))], transB=int(flip),
                alpha=rng.choice([None, 0.5]), beta=rng.choice([None, 0.25, 2.0]))
            break
        elif kind == "MatMul":
            add(kind, [t, constant(draw(c * h, rng.randint(1, 4)))])
            break
        elif kind in ("GlobalAveragePool", "GlobalMaxPool"):
            add(kind, [t])
            break
        elif kind == "Flatten":
            add(kind, [t], axis=rng.choice([None, 1]))
            break
        elif kind == "Transpose":
            perm = [0] + rng.sample(range(1, len(shape)), len(shape) - 1)
            add(kind, [t], perm=perm)
            break
        elif kind == "ReduceMean":
            axes = sorted(rng.sample(range(1, len(shape)), rng.randint(1, len(shape) - 1)))
            keep = rng.choice([None, 0, 1])
            if opset >= 18:
                add(kind, [t, constant(np.array(axes, np.int64))], keepdims=keep)
            else:
                add(kind, [t], axes=axes, keepdims=keep)
            break
        elif kind == "Clip":
            if opset >= 11:
                t = add(kind, [t, constant(np.float32(-0.5)), constant(np.float32(0.75))][:rng.randint(1, 3)])
            else:
                t = add(kind, [t], min=-0.5, max=rng.choice([None, 0.75]))
        elif kind in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Mean"):
            wide = rng.choice([shape, (1,) * len(shape), (1, shape[1]) + (1,) * (len(shape) - 2)])
            other = constant(draw(*wide) + (2 if kind == "Div" else 0)) if rng.random() < 0.7 else t
            if kind in ("Mul", "Div") and other == t:
                other = constant(draw(*wide) + 2)
            inputs = [t, other] if rng.random() < 0.7 or kind == "Div" else [other, t]
            if kind in ("Max", "Min", "Sum", "Mean") and rng.random() < 0.4:
                inputs.append(constant(draw(*wide)))
            t = add(kind, inputs)
        elif kind == "PRelu":
            t = add(kind, [t, constant(np.abs(draw(*((shape[1],) + (1,) * (len(shape) - 2) if rng.random() < 0.7 else (1,)))))])
        elif kind == "Concat":
            t = add(kind, [t, t], axis=rng.choice([1, -1]))
            break
        elif kind in ("LeakyRelu", "Elu", "HardSigmoid"):
            t = add(kind, [t], alpha=rng.choice([None, 0.3]))
        elif kind != "Pad":
            t = add(kind, [t])
    if not nodes:
        add("Relu", ["x"])
    value = lambda name, dims: helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
    graph = helper.make_graph(nodes, "g", [value("x", list(shape))], [value(nodes[-1].output[0], None)], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), shape


def random_property(rng):
    """A property of `external.onnx` that can be read: boxes, perhaps thin or empty, and nested conditions on outputs."""
    number = lambda: rng.choice([f"{rng.uniform(-2, 2):.4f}", f"{rng.uniform(-0.3, 0.3):.9f}", str(rng.randint(-2, 2)), "0.1",
                                 f"{rng.uniform(-9, 9):.2e}"])

    def total(depth=0):
        if depth > 1 or rng.random() < 0.6:
            return rng.choice(["Y_0", "Y_1", number()])
        sign = rng.choice("+-*")
        right = number() if sign == "*" else total(depth + 1)
        return f"({sign} {total(depth + 1)} {right})"

    def condition(depth=0):
        if depth > 1 or rng.random() < 0.5:
            return f"({rng.choice(['<=', '>=', '<', '>', '='] if rng.random() < 0.2 else ['<=', '>='])} {total()} {total()})"
        if rng.random() < 0.1:
            return f"(not {condition(depth + 1)})"
        return f"({rng.choice(['and', 'or'])} {' '.join(condition(depth + 1) for _ in range(rng.randint(1, 3)))})"
    lines = [f"(declare-const X_{i} Real)" for i in range(6)] + ["(declare-const Y_0 Real)", "(declare-const Y_1 Real)"]
    boxes = []
    for _ in range(rng.choice([1, 1, 1, 2])):
        ends = []
        for i in range(6):
            low = rng.uniform(-1, 1)
            width = rng.choice([0.0, 1e-9, 0.1, 0.5, rng.random(), -0.1 if rng.random() < 0.05 else 0.2])
            ends += [f"(>= X_{i} {low:.6f})", f"(<= X_{i} {low + width:.6f})"]
        boxes.append(ends)
    if len(boxes) == 1:
        lines += [f"(assert {e})" for e in boxes[0]]
    else:
        lines.append(f"(assert (or {' '.join('(and ' + ' '.join(b) + ')' for b in boxes)}))")
    lines += [f"(assert {condition()})" for _ in range(rng.randint(1, 2))]
    return "\n".join(lines) + "\n"


def certificates(folder):
    found = []
    for path, _, files in os.walk(folder):
        found += [os.path.relpath(os.path.join(path, f), folder) for f in files if f.endswith((".dcc", ".certificate"))]
    return sorted(found)


def png(pixels):
    height, width = pixels.shape
    raw = b"".join(b"\0" + row.tobytes() for row in pixels)
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")


def png_header(rng, data):
    header = bytearray(data[16:29])
    at = rng.choice([0, 4])
    header[at:at + 4] = struct.pack(">I", rng.choice([0, 1, 7, 9, 65535, 0x7fffffff]))
    if rng.random() < 0.3:
        header[8] = rng.choice([1, 2, 4, 16, 0])
        header[9] = rng.choice([0, 2, 3, 4, 6])
    body = b"IHDR" + bytes(header)
    return data[:12] + body + struct.pack(">I", zlib.crc32(body)) + data[33:]


def read_npz(data):
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        return {n: z.read(n) for n in z.namelist()}


def write_npz(members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, data in members.items():
            z.writestr(name, data)
    return out.getvalue()


def changed_npz(rng, data):
    """One member of the archive changed, header or values, and the archive written anew."""
    try:
        members = read_npz(data)
    except zipfile.BadZipFile:
        return changed_bytes(rng, data)
    name = rng.choice(sorted(members))
    kind = rng.randrange(5)
    if kind == 0:
        del members[name]
    elif kind == 1:
        header = members[name][:128]
        members[name] = changed_bytes(rng, header, 3) + members[name][128:]
    elif kind == 2:
        members[name] = members[name][:rng.randrange(len(members[name]) + 1)]
    else:
        try:
            array = np.load(io.BytesIO(members[name]))
            if array.size:
                array = array.copy()
                value = rng.choice(FLOATS) if array.dtype.kind == "f" else np.array(rng.choice(EDGES), np.int64)
                with np.errstate(all="ignore"):
                    array.flat[rng.randrange(array.size)] = np.asarray(value).astype(array.dtype)
                if kind == 4:
                    array = array[:-1] if array.ndim else array
            out = io.BytesIO()
            np.save(out, array)
            members[name] = out.getvalue()
        except ValueError:
            members[name] = changed_bytes(rng, members[name])
    return write_npz(members)


# --- One value of a file ----------------------------------------------------------------------------------------------


def edit(rng, path):
    """Changes one value of a file; what was changed, or None."""
    with open(path, "rb") as f:
        data = f.read()
    if path.endswith(".json"):
        return edit_json(rng, path, data)
    if path.endswith(".npz"):
        return edit_npz(rng, path, data)
    if path.endswith((".dcc", ".certificate")):
        content = bytearray(data[:-32])
        at = rng.randrange(8, len(content))
        content[at] ^= 1 << rng.randrange(8)
        keep_seal = rng.random() < 0.2
        with open(path, "wb") as f:
            f.write(bytes(content) + (data[-32:] if keep_seal else hashlib.sha256(content).digest()))
        return f"byte {at} -> changed" + (" (seal kept)" if keep_seal else "")
    text = data.decode("utf-8")
    numbers = list(re.finditer(r"(?<![\w.])\d+(?:\.\d+)?(?![\w])", text))
    if not numbers:
        return None
    match = rng.choice(numbers)
    old = match.group()
    new = other_number(rng, old)
    with open(path, "w", newline="") as f:
        f.write(text[:match.start()] + new + text[match.end():])
    line = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
    return f"{line[:60].strip() or 'number'} {old} -> {new}"


def other_number(rng, text):
    digits = [k for k, c in enumerate(text) if c.isdigit()]
    at = rng.choice(digits)
    new = text[:at] + str((int(text[at]) + rng.randint(1, 9)) % 10) + text[at + 1:]
    return new if float(new) != float(text) else text + "1"


def leaves(value, path=()):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, path + (key,))
    elif isinstance(value, list):
        for key, inner in enumerate(value):
            yield from leaves(inner, path + (key,))
    else:
        yield path, value


def edit_json(rng, path, data):
    content = json.loads(data)
    places = list(leaves(content))
    # Long lists would draw every edit: choose the field first, then one of its values.
    fields = sorted({tuple("*" if isinstance(p, int) else p for p in place) for place, _ in places})
    field = rng.choice(fields)
    place, old = rng.choice([(p, v) for p, v in places if tuple("*" if isinstance(q, int) else q for q in p) == field])
    if isinstance(old, bool):
        new = not old
    elif isinstance(old, int):
        new = old + rng.choice([1, -1, 10])
    elif isinstance(old, float):
        new = old * rng.choice([0.5, 1.5, 2.0]) if old else 0.25
    elif isinstance(old, str):
        new = re.sub(r"[0-9a-zA-Z]", lambda m: "1" if m.group() != "1" else "2", old, count=1) if old else "x"
    else:
        new = 1
    inner = content
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = new
    with open(path, "w") as f:
        json.dump(content, f, indent=2)
    return f"{'.'.join(str(p) for p in place)} {str(old)[:40]!r} -> {str(new)[:40]!r}"


def edit_npz(rng, path, data):
    members = read_npz(data)
    name = rng.choice(sorted(members))
    array = np.load(io.BytesIO(members[name])).copy()
    if not array.size:
        return None
    at = rng.randrange(array.size)
    old = array.flat[at]
    if array.dtype.kind == "f":
        new = old + np.asarray(rng.choice([0.25, -0.1, 1.0])).astype(array.dtype) if np.isfinite(old) else 0.5
    elif array.dtype.kind == "b":
        new = not old
    else:
        new = int(old) + rng.choice([1, 2]) if int(old) < 100 else int(old) - 1
    array.flat[at] = new
    if array.flat[at] == old:
        return None
    out = io.BytesIO()
    np.save(out, array)
    members[name] = out.getvalue()
    with open(path, "wb") as f:
        f.write(write_npz(members))
    return f"{name.removesuffix('.npy')}[{at}] {old} -> {array.flat[at]}"


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def seal(folder):
    """Makes the hashes that a folder holds of its own files fit again, as somebody with intent would; whether it has any."""
    path = os.path.join(folder, "run.json")
    if os.path.exists(path):
        with open(path, "rb") as f:
            content = json.loads(f.read())
        if not isinstance(content.get("files"), dict):
            return False
        for name in content["files"]:
            beside = os.path.join(folder, name)
            if os.path.isdir(beside):
                names = sorted(n for n in os.listdir(beside) if os.path.isfile(os.path.join(beside, n)))
                listing = "".join(f"{sha256(open(os.path.join(beside, n), 'rb').read())}  {n}\n" for n in names)
                content["files"][name] = sha256(listing.encode())
            elif os.path.exists(beside):
                content["files"][name] = sha256(open(beside, "rb").read())
        with open(path, "w") as f:
            json.dump(content, f, indent=2)
        return True
    path = os.path.join(folder, "verify.json")
    with open(path, "rb") as f:
        content = json.loads(f.read())
    if "sha256" not in content:
        return False
    for field, name in (("certificate_sha256", "certificate.dcc"), ("counterexample_sha256", "counterexample.txt")):
        beside = os.path.join(folder, name)
        if content.get(field) is not None and os.path.exists(beside):
            content[field] = sha256(open(beside, "rb").read())
    content["sha256"] = ""
    content["sha256"] = sha256(json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode())
    with open(path, "w") as f:
        json.dump(content, f, indent=2)
    return True


def listed(output, file, what):
    """Whether what was changed is named in a line of `check` about what it did not verify."""
    field = re.split(r"[\s\[]", what)[0].lower().lstrip("(")
    words = [field] + [p for p in field.split(".") if not p.isdigit()] + (["version"] if field == "tool" else [])
    if file.endswith(".md"):
        words = [w for w in re.findall(r"[a-z_]+", what.split(" -> ")[0].lower()) if len(w) > 3]
    base = os.path.basename(file).lower()
    for line in output.lower().splitlines():
        if "not verified" not in line or not (base in line or "without the data" in line or base == "verify.json"):
            continue
        if any(re.search(rf"(?<!\w){re.escape(w)}(?!\w)", line) for w in words):
            return True
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", default=os.path.join(ROOT, "target", "release", "deepconcolic"))
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0, help="the number of the first case")
    parser.add_argument("--only", help="kinds, with commas: " + ", ".join(KINDS))
    parser.add_argument("--case", metavar="KIND:N", help="one case, with what it printed")
    parser.add_argument("--out", default=os.path.join(tempfile.gettempdir(), "deepconcolic-fuzz"), help="findings go here")
    parser.add_argument("--verbose", action="store_true", help="print every missed edit")
    return Fuzzer(parser.parse_args()).run()


if __name__ == "__main__":
    sys.exit(main())
