#!/usr/bin/env python3
"""A second checker for what deepconcolic claims, independent in language and loader.

    python3 checker/deepconcolic_check.py FOLDER [--model MODEL] [--property PROP] [--quiet]

FOLDER is one that `deepconcolic verify --out` or `deepconcolic run --out` wrote. Exit code 0: everything that was
judged is accepted. 1: something is rejected. 2: the folder or the model cannot be judged, with the reason.

It needs Python 3.10 or later, numpy and onnx. It reads ONNX (through the onnx package's protobuf classes only), VNN-LIB
and certificates by itself, written from the ONNX operator documents and from docs/certificates.md; it shares no code and
no arithmetic with the Rust program. It is slower: minutes where that takes seconds.

What it judges
  verify, unsat   the certificate refutes every alternative of the property file, as read here, for the model as read here
  verify, sat     the counterexample lies in the property's box (or, in an input in which no single-precision number does, within
                  1e-4 of it) and meets its conditions when run here
  run             every entry of every certificate; the boxes of the run; that every infeasible row of requirements.npz
                  for nc, nbc, snac and kmnc follows in every box by the first rows of the table "What follows"; for
                  lipschitz, that the bound of every region is shown by a certificate about it
What it does not judge is printed, with counts: certificates about the output of a final Softmax or Sigmoid, entries about executions alone (their proof is one execution by the tool
itself), infeasible rows of other criteria, bounds of slopes for which early layers were eliminated, the suite, and everything
else in the folder.

How it computes. The model becomes variables: inputs, sums of earlier variables, and kinked curves of one variable, numbered in
the file's own element order; reshapes, transposes, slices and concatenations only move numbers of variables about.
Arithmetic is float64. Every quantity that decides is a lower bound, and the error of each matrix product, in any order of
summation, is bounded by k * 2**-52 times the product of the magnitudes, k its number of terms plus four. A pulled
back coefficient is used as it was computed: what rounding did to it is a difference times a variable of known size, and
is taken off the bound. Constants that are not exact (batch normalisation, averages) carry an error bound of their own.
"""

import os

# Its matrices are small: threads would only wait for each other.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import gzip
import hashlib
import json
import math
import re
import struct
import sys
import zipfile
from fractions import Fraction

import numpy as np
import onnx
from onnx import numpy_helper

EPS = 2.0 ** -52  # twice the unit roundoff
MOST_CASES = 1 << 10
HUGE = 1e100
TINY = 1e-150


class Rejected(Exception):
    """What was claimed does not follow."""


class NotCovered(Exception):
    """This checker cannot judge it."""


# --- Certificates -----------------------------------------------------------------------------------------------------


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def raw(self, n):
        if n > len(self.data) - self.at:
            raise Rejected("the certificate ends too early")
        self.at += n
        return self.data[self.at - n:self.at]

    def byte(self):
        return self.raw(1)[0]

    def count(self):
        value = shift = 0
        while True:
            b = self.byte()
            value |= (b & 127) << shift
            if b < 128:
                break
            shift += 7
            if shift > 63:
                raise Rejected("a number is too large")
        if value >= 1 << 64:
            raise Rejected("a number is too large")
        return value

    def length(self, least):
        n = self.count()
        if n * least > len(self.data) - self.at:
            raise Rejected("the certificate ends too early")
        return n

    def index(self):
        n = self.count()
        if n >= 1 << 32:
            raise Rejected("an index is too large")
        return n

    def text(self):
        try:
            return bytes(self.raw(self.length(1))).decode("utf-8")
        except UnicodeDecodeError:
            raise Rejected("a text is not UTF-8") from None

    def single(self):
        return struct.unpack("<f", self.raw(4))[0]

    def double(self):
        return struct.unpack("<d", self.raw(8))[0]


LEAF, PHASE, CUT, CORNER, CHANGES, FORWARD = range(6)


def read_certificate(data):
    """The certificate as plain data: model digest, boxes, entries of (text, trees by box and alternative)."""
    if len(data) < 40 or hashlib.sha256(data[:-32]).digest() != data[-32:]:
        raise Rejected("the seal is broken")
    r = Bytes(data[:-32])
    magic = bytes(r.raw(8))
    if magic not in (b"DCCERT2\n", b"DCCERT3\n"):
        raise Rejected("it does not begin as a certificate of version 2 or 3")
    model = bytes(r.raw(32)).hex()
    names = [r.text() for _ in range(r.length(1))]
    boxes = []
    for _ in range(r.length(1)):
        n = r.length(16)
        lower = np.frombuffer(r.raw(8 * n), "<f8").astype(float)
        upper = np.frombuffer(r.raw(8 * n), "<f8").astype(float)
        boxes.append((lower, upper, read_changes(r, lower, upper) if magic == b"DCCERT3\n" else None))
    entries = []
    for _ in range(r.length(1)):
        text = r.text()
        trees = [[read_tree(r, names) for _ in range(r.length(1))] for _ in boxes]
        entries.append((text, trees))
    if r.at != len(r.data):
        raise Rejected("something follows the certificate's end")
    return {"model": model, "boxes": boxes, "entries": entries}


def read_changes(r, lower, upper):
    """The limit on changes of a box, or None."""
    kind = r.byte()
    if kind not in (0, 1):
        raise Rejected("an unknown kind of box")
    if kind == 0:
        return None
    allowed = r.index()
    centre = np.frombuffer(r.raw(8 * len(lower)), "<f8").astype(float)
    positions = np.array([r.index() for _ in lower], np.int64)
    if not ((lower <= centre).all() and (centre <= upper).all()):
        raise Rejected("the centre of changes lies outside its box")
    if len(positions) and positions.max() >= len(lower):
        raise Rejected("a position is none of the box")
    return Changes(centre, positions, allowed)


def read_factors(r):
    return [(r.index(), r.single()) for _ in range(r.length(5))]


def read_unit(r, names):
    return unit(names, r.index(), r.index(), r.index())


def unit(names, number, element, part):
    if number >= len(names):
        raise Rejected("a unit has no name")
    return (names[number], element, part)


def read_tree(r, names):
    nodes = []
    for _ in range(r.length(1)):
        kind = r.byte()
        if kind == LEAF:
            factors = read_factors(r)
            slopes, number, element, part = [], 0, 0, 0
            for _ in range(r.length(2)):
                step = r.byte()
                if step == 127:
                    number, element, part = r.index(), r.index(), r.index()
                else:
                    element, part = element + step, 0
                slopes.append((unit(names, number, element, part), r.byte()))
            multipliers = [r.single() for _ in range(r.length(4))]
            nodes.append((LEAF, factors, slopes, multipliers))
        elif kind == PHASE:
            nodes.append((PHASE, read_unit(r, names)))
        elif kind == CUT:
            nodes.append((CUT, r.index(), r.double()))
        elif kind == CORNER:
            nodes.append((CORNER,))
        elif kind == CHANGES:
            most, positions, last = r.index(), [], 0
            for _ in range(r.length(1)):
                last += r.index()
                positions.append(last)
            nodes.append((CHANGES, positions, most))
        elif kind == FORWARD:
            nodes.append((FORWARD, read_factors(r)))
        else:
            raise Rejected("an unknown kind of node")
    return nodes


# --- The model as variables -------------------------------------------------------------------------------------------


class Const:
    """A tensor that depends on no input: numbers and how far each may be from the exact one."""

    def __init__(self, value, error=None):
        self.value = np.asarray(value)
        self.error = error

    def err(self):
        return np.zeros(self.value.shape) if self.error is None else self.error

    @property
    def shape(self):
        return self.value.shape

    def map(self, f):
        return Const(f(self.value), None if self.error is None else f(self.error))


class Var:
    """A tensor of variables, by number, in the file's order; `kind` says what made it."""

    def __init__(self, ids):
        self.ids = np.asarray(ids)

    @property
    def shape(self):
        return self.ids.shape

    def map(self, f):
        return Var(f(self.ids))


class Sums:
    """Variables first.. that are sums: row k has the terms starts[k]..starts[k+1]."""

    def __init__(self, first, starts, cols, weights, const, werr=None, cerr=None):
        self.first, self.n = first, len(const)
        self.starts, self.cols = np.asarray(starts, np.int64), np.asarray(cols, np.int64)
        self.weights, self.const = np.asarray(weights, float), np.asarray(const, float)
        self.werr = werr
        self.cerr = np.zeros(self.n) if cerr is None else np.asarray(cerr, float)
        # Where the sums end a chain of comparisons: what each is the largest (sign 1) or smallest of, -1 for none.
        self.members, self.sign = None, 1.0

    def rows(self, index):
        """For some rows: for each term its row's place in `index`, and where it is in the arrays."""
        lengths = self.starts[index + 1] - self.starts[index]
        row = np.repeat(np.arange(len(index)), lengths)
        offset = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return row, np.repeat(self.starts[index], lengths) + offset


class Curves:
    """Variables first.. that are one kinked curve of a variable each: parts (from, slope, intercept)."""

    def __init__(self, first, inputs, parts, name, elements, part):
        self.first, self.n = first, len(inputs)
        self.inputs, self.parts = np.asarray(inputs, np.int64), parts
        self.name, self.elements, self.part = name, elements, part


class Opaque:
    """Variables first.. that are some function of others: it can be run, not bounded."""

    def __init__(self, first, n, inputs, function, kind):
        self.first, self.n, self.inputs, self.function, self.kind = first, n, inputs, function, kind


RELU = ((-math.inf, 0.0, 0.0), (0.0, 1.0, 0.0))
ACTIVATIONS = {"Relu", "LeakyRelu", "PRelu", "Clip", "Abs", "HardSigmoid", "Sigmoid", "Tanh", "Elu", "Selu", "Celu",
               "Softplus", "Softsign", "Gelu", "Mish", "HardSwish"}
HEADS = {"Softmax", "LogSoftmax", "Sigmoid"}


def sigmoid(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


class Model:
    def __init__(self, path, input_shape=None, mean=None, std=None):
        self.path = path
        proto = onnx.load(path)
        self.digest = digest(path)
        self.unknown, self.lost = [], False
        graph = proto.graph
        self.opset = max((o.version for o in proto.opset_import if o.domain in ("", "ai.onnx")), default=1)
        self.blocks, self.count = [], 0
        self.values, self.layers, self.comparisons = {}, [], {}
        constants = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
        for name, array in constants.items():
            self.values[name] = Const(as_number(array))
        inputs = [i for i in graph.input if i.name not in constants]
        if len(inputs) != 1:
            raise NotCovered("the model has several inputs")
        shape = [d.dim_value if d.HasField("dim_value") else None for d in inputs[0].type.tensor_type.shape.dim]
        if input_shape:
            shape = list(input_shape)
        shape = [1 if d is None and k == 0 else d for k, d in enumerate(shape)]
        if any(d is None for d in shape):
            raise NotCovered("the input's shape is open")
        self.inputs = int(np.prod(shape, dtype=int))
        self.count = self.inputs
        x = Var(np.arange(self.inputs).reshape(shape))
        self.input_ids = x.ids.ravel()
        if mean is not None:
            x = self.scaled(x, None, Const(-self.channels(x, mean)))
        if std is not None:
            s = self.channels(x, std)
            x = self.scaled(x, Const(1 / s, np.abs(EPS / s)), None)
        self.values[inputs[0].name] = x
        for node in graph.node:
            self.node(node)
        self.node_names = {n.output[0]: n.name for n in graph.node}
        self.outputs = []
        for o in graph.output:
            if o.type.tensor_type.elem_type not in (0, 1, 10, 11, 16):
                continue  # The answer is the first output of real numbers.
            if o.name in self.values:
                self.outputs.append((o.name, self.values[o.name]))
            elif not self.outputs:
                raise NotCovered(f"output {o.name!r} cannot be traced: {', '.join(self.unknown)}")
        if self.lost:
            raise NotCovered(f"layers cannot be numbered: {', '.join(self.unknown)}")
        answers = [v for _, v in self.outputs if isinstance(v, Var)]
        if not answers:
            raise NotCovered("no output can be traced to the input: " + (", ".join(self.unknown) or "none depends on it"))
        self.answer = answers[0]
        self.head = None
        self.logits = self.answer
        self.finish_layers()

    def channels(self, x, numbers):
        numbers = np.asarray(numbers, float)
        if numbers.size == 1:
            return np.full([1] * len(x.shape), numbers.ravel()[0])
        if numbers.size == x.ids.size:
            return numbers.reshape(x.shape)
        axes = [1, 3] if len(x.shape) == 4 else [len(x.shape) - 1]
        axes = [a for a in axes if x.shape[a] == numbers.size]
        if len(axes) != 1:
            raise NotCovered("mean or std fits no axis")
        return numbers.reshape([-1 if a == axes[0] else 1 for a in range(len(x.shape))])

    def finish_layers(self):
        """Hidden layers: activations in the file's order that an output needs, without a final Softmax or Sigmoid."""
        if self.answer.ids.size == 0:
            raise NotCovered("an output without elements")
        last = self.block_of(int(self.answer.ids.ravel()[0]))
        dropped = None
        if isinstance(last, Opaque) and last.kind in HEADS and self.answer.ids.size == last.n \
                and set(self.answer.ids.ravel()) == set(range(last.first, last.first + last.n)):
            self.head = last.kind
            self.logits = Var(last.inputs[self.answer.ids - last.first])
            dropped = next((n for n, _, _, post in self.layers if post.ids.size and post.ids.ravel()[0] == last.first), None)
        needed = self.ancestors([v.ids for _, v in self.outputs if isinstance(v, Var)])
        kept = []
        for name, kind, pre, post in self.layers:
            if name == dropped and not self.feeds(post.ids):
                continue
            if needed[post.ids].any():
                kept.append((name, kind, pre, post))
        self.layers = kept

    def block_of(self, variable):
        return next((b for b in self.blocks if b.first <= variable < b.first + b.n), None)

    def feeds(self, ids):
        """Whether some block reads these variables."""
        wanted = np.zeros(self.count, bool)
        wanted[ids] = True
        return any(wanted[b.cols if isinstance(b, Sums) else b.inputs].any() for b in self.blocks)

    def ancestors(self, ids):
        mark = np.zeros(self.count, bool)
        for i in ids:
            mark[i] = True
        for b in reversed(self.blocks):
            mine = mark[b.first:b.first + b.n]
            if not mine.any():
                continue
            if isinstance(b, Sums):
                _, at = b.rows(np.flatnonzero(mine))
                mark[b.cols[at]] = True
            elif isinstance(b, Curves):
                mark[b.inputs[mine]] = True
            else:
                mark[b.inputs] = True
        return mark

    # Blocks.

    def new(self, block):
        self.blocks.append(block)
        self.count += block.n
        return np.arange(block.first, block.first + block.n)

    def sums(self, shape, starts, cols, weights, const, werr=None, cerr=None):
        if werr is not None and not np.any(werr):
            werr = None
        return Var(self.new(Sums(self.count, starts, cols, weights, const, werr, cerr)).reshape(shape))

    def even(self, shape, cols, weights, const=None, werr=None, cerr=None):
        """Sums with the same number of terms each: arrays (rows, terms)."""
        rows, terms = cols.shape
        const = np.zeros(rows) if const is None else np.broadcast_to(const, shape).ravel()
        cerr = None if cerr is None else np.broadcast_to(cerr, shape).ravel()
        werr = None if werr is None else np.broadcast_to(werr, cols.shape).ravel()
        weights = np.broadcast_to(weights, cols.shape).ravel()
        return self.sums(shape, np.arange(rows + 1) * terms, cols.ravel(), weights, const, werr, cerr)

    def scaled(self, x, factor, shift):
        """x * factor + shift, each a Const or None."""
        shape = np.broadcast_shapes(x.shape, *(c.shape for c in (factor, shift) if c is not None))
        cols = np.broadcast_to(x.ids, shape).reshape(-1, 1)
        spread = lambda a: np.broadcast_to(a, shape).reshape(-1, 1)
        weights = np.ones_like(cols, float) if factor is None else spread(factor.value).astype(float)
        werr = None if factor is None else spread(factor.err())
        const = None if shift is None else np.broadcast_to(shift.value, shape)
        cerr = None if shift is None else shift.err()
        return self.even(shape, cols, weights, const, werr, cerr)

    def constants(self, c):
        """Variables that are numbers."""
        n = c.value.size
        return self.sums(c.shape, np.zeros(n + 1, int), [], [], c.value.ravel().astype(float), None, c.err().ravel())

    def curves(self, x, parts, name, part=0, elements=None):
        elements = np.arange(x.ids.size) if elements is None else elements
        block = Curves(self.count, x.ids.ravel(), parts, name, elements, part)
        return Var(self.new(block).reshape(x.shape))

    def opaque(self, x, shape, function, kind):
        n = int(np.prod(shape, dtype=int))
        block = Opaque(self.count, n, x.ids.ravel(), lambda v: function(v.reshape(x.shape)).ravel(), kind)
        return Var(self.new(block).reshape(shape))

    def dot(self, x, w, constant=None):
        """Rows of variables (n, k) times a constant matrix (k, m), plus a constant (m)."""
        n, k = x.shape
        m = w.value.shape[1]
        cols = np.repeat(x.ids, m, axis=0)
        weights = np.tile(w.value.T.astype(float), (n, 1))
        werr = None if w.error is None else np.tile(w.error.T, (n, 1))
        const = None if constant is None else constant.value
        cerr = None if constant is None else constant.err()
        return self.even((n, m), cols, weights, const, werr, cerr)

    # Nodes.

    def node(self, node):
        name = node.output[0]
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        inputs = [self.values.get(i) if i else None for i in node.input]
        missing = [i for i, v in zip(node.input, inputs) if i and v is None]
        if missing:
            self.lost |= node.op_type in ACTIVATIONS
            return  # Depends on what is not covered; refused when it is needed.
        method = getattr(self, "op_" + node.op_type, None)
        if method is None or node.domain not in ("", "ai.onnx"):
            self.unknown.append(node.op_type)
            self.lost |= node.op_type in ACTIVATIONS or node.domain not in ("", "ai.onnx")
            return
        try:
            result = method(inputs, attributes, name)
        except (NotImplementedError, IndexError, KeyError, AttributeError):
            self.unknown.append(f"this form of {node.op_type}")
            self.lost |= node.op_type in ACTIVATIONS
            return
        if not isinstance(result, list):
            result = [result]
        for out, value in zip(node.output, result):
            if out:
                self.values[out] = value
        if node.op_type in ACTIVATIONS and isinstance(inputs[0], Var):
            self.layers.append((name, node.op_type, inputs[0], result[0]))

    def comparison(self, name):
        """The name of the next comparison that a Max or Min with many inputs becomes."""
        self.comparisons[name] = self.comparisons.get(name, 0) + 1
        n = self.comparisons[name]
        return name if n == 1 else f"{name}#{n}"

    # Views: they move numbers of variables about.

    def op_Identity(self, i, a, name):
        return i[0].map(lambda v: v)

    def op_Dropout(self, i, a, name):
        if len(i) > 2 and i[2] is not None and np.any(i[2].value):
            raise NotImplementedError
        return i[0].map(lambda v: v)

    def op_Cast(self, i, a, name):
        if isinstance(i[0], Var):
            if a["to"] not in (1, 10, 11, 16):
                raise NotImplementedError
            return i[0].map(lambda v: v)
        dtype = onnx.helper.tensor_dtype_to_np_dtype(a["to"])
        return Const(as_number(i[0].value.astype(dtype)))

    def op_Reshape(self, i, a, name):
        shape = [int(d) for d in (i[1].value if len(i) > 1 else a["shape"])]
        if not a.get("allowzero", 0):
            shape = [i[0].shape[k] if d == 0 else d for k, d in enumerate(shape)]
        return i[0].map(lambda v: v.reshape(shape))

    def op_Flatten(self, i, a, name):
        axis = a.get("axis", 1)
        axis = axis + len(i[0].shape) if axis < 0 else axis
        rows = int(np.prod(i[0].shape[:axis], dtype=int))
        return i[0].map(lambda v: v.reshape(rows, -1))

    def op_Transpose(self, i, a, name):
        return i[0].map(lambda v: v.transpose(a.get("perm")))

    def axes(self, i, a, position=1):
        if len(i) > position and i[position] is not None:
            return [int(x) for x in np.atleast_1d(i[position].value)]
        return [int(x) for x in a["axes"]] if "axes" in a else None

    def op_Squeeze(self, i, a, name):
        axes = self.axes(i, a)
        return i[0].map(lambda v: np.squeeze(v, None if axes is None else tuple(axes)))

    def op_Unsqueeze(self, i, a, name):
        axes = self.axes(i, a)
        rank = len(i[0].shape) + len(axes)
        axes = sorted(x % rank for x in axes)

        def widen(v):
            for x in axes:
                v = np.expand_dims(v, x)
            return v
        return i[0].map(widen)

    def op_Concat(self, i, a, name):
        axis = a["axis"]
        if all(isinstance(t, Const) for t in i):
            error = None if all(t.error is None for t in i) else np.concatenate([t.err() for t in i], axis)
            return Const(np.concatenate([t.value for t in i], axis), error)
        i = [self.constants(t) if isinstance(t, Const) else t for t in i]
        return Var(np.concatenate([t.ids for t in i], axis))

    def op_Split(self, i, a, name):
        axis = a.get("axis", 0)
        if len(i) > 1 and i[1] is not None:
            sizes = [int(x) for x in i[1].value]
        elif "split" in a:
            sizes = [int(x) for x in a["split"]]
        else:
            raise NotImplementedError
        ends = np.cumsum(sizes)[:-1]
        whole = i[0].ids if isinstance(i[0], Var) else i[0].value
        return [type(i[0])(p) for p in np.split(whole, ends, axis)]

    def op_Slice(self, i, a, name):
        if len(i) > 1:
            starts, ends = i[1].value, i[2].value
            axes = self.axes(i, a, 3)
            steps = i[4].value if len(i) > 4 and i[4] is not None else None
        else:
            starts, ends, axes, steps = a["starts"], a["ends"], self.axes(i, a, 9), None
        rank = len(i[0].shape)
        axes = range(len(starts)) if axes is None else axes
        steps = [1] * len(starts) if steps is None else steps
        index = [slice(None)] * rank
        for axis, s, e, t in zip(axes, starts, ends, steps):
            s, e, t, n = int(s), int(e), int(t), i[0].shape[axis]
            e = None if t < 0 and e <= -n - 1 else e
            index[axis] = slice(s, e, t)
        return i[0].map(lambda v: v[tuple(index)])

    def op_Gather(self, i, a, name):
        index = i[1].value.astype(int)
        return i[0].map(lambda v: np.take(v, index, a.get("axis", 0)))

    def op_Expand(self, i, a, name):
        shape = np.broadcast_shapes(i[0].shape, tuple(int(x) for x in i[1].value))
        return i[0].map(lambda v: np.broadcast_to(v, shape))

    def op_Tile(self, i, a, name):
        return i[0].map(lambda v: np.tile(v, [int(x) for x in i[1].value]))

    def op_Pad(self, i, a, name):
        mode = a.get("mode", b"constant").decode()
        pads = [int(x) for x in (i[1].value if len(i) > 1 else a["pads"])]
        fill = i[2].value if len(i) > 2 and i[2] is not None else a.get("value", 0.0)
        if len(i) > 3 and i[3] is not None or isinstance(i[0], Const) or min(pads) < 0:
            raise NotImplementedError
        rank = len(i[0].shape)
        width = [(pads[k], pads[k + rank]) for k in range(rank)]
        if mode != "constant":
            return i[0].map(lambda v: np.pad(v, width, mode=mode))
        number = self.constants(Const(np.asarray(fill, float).reshape(1))).ids[0]
        return i[0].map(lambda v: np.pad(v, width, constant_values=number))

    def op_Shape(self, i, a, name):
        shape = np.array(i[0].shape, np.int64)
        return Const(shape[a.get("start", 0):a.get("end", len(shape))])

    def op_Constant(self, i, a, name):
        (kind, value), = a.items()
        if kind == "value":
            return Const(as_number(numpy_helper.to_array(value)))
        return Const(np.asarray(value, np.int64 if kind.startswith("value_int") else float))

    def op_ConstantOfShape(self, i, a, name):
        value = as_number(numpy_helper.to_array(a["value"])).ravel()[0] if "value" in a else 0.0
        return Const(np.full([int(x) for x in i[0].value], value))

    # Sums.

    def op_Add(self, i, a, name):
        return self.add(i[0], i[1], 1.0)

    def op_Sub(self, i, a, name):
        return self.add(i[0], i[1], -1.0)

    def op_Sum(self, i, a, name):
        total = i[0]
        for t in i[1:]:
            total = self.add(total, t, 1.0)
        return total

    def add(self, p, q, sign):
        if isinstance(p, Const) and isinstance(q, Const):
            return folded(p.value + q.value if sign > 0 else p.value - q.value, p.err() + q.err())
        if isinstance(q, Const):
            return self.scaled(p, None, q if sign > 0 else Const(-q.value, q.error))
        if isinstance(p, Const):
            return self.scaled(q, Const(np.float64(sign)), p)
        shape = np.broadcast_shapes(p.shape, q.shape)
        cols = np.stack([np.broadcast_to(t.ids, shape).ravel() for t in (p, q)], 1)
        return self.even(shape, cols, np.array([1.0, sign]))

    def op_Neg(self, i, a, name):
        return self.multiply(i[0], Const(np.float64(-1.0)))

    def op_Mul(self, i, a, name):
        return self.multiply(i[0], i[1])

    def multiply(self, p, q):
        if isinstance(p, Const) and isinstance(q, Const):
            error = np.abs(p.value) * q.err() + np.abs(q.value) * p.err() + p.err() * q.err()
            return folded(p.value * q.value, error)
        if isinstance(p, Const):
            p, q = q, p
        if isinstance(q, Var):
            raise NotImplementedError
        return self.scaled(p, q, None)

    def op_Div(self, i, a, name):
        p, q = i
        if isinstance(p, Const) and isinstance(q, Const) and p.value.dtype.kind == q.value.dtype.kind == "i":
            return Const(np.trunc(p.value / q.value).astype(np.int64))
        if isinstance(q, Var) or q.error is not None:
            raise NotImplementedError
        inverse = 1.0 / q.value.astype(float)
        return self.multiply(p, Const(inverse, np.abs(inverse) * EPS))

    def op_Sqrt(self, i, a, name):
        if isinstance(i[0], Var) or i[0].error is not None:
            raise NotImplementedError
        return folded(np.sqrt(i[0].value), 0.0)

    def op_Mean(self, i, a, name):
        inverse = 1.0 / len(i)
        return self.multiply(self.op_Sum(i, a, name), Const(np.float64(inverse), np.float64(EPS)))

    def op_MatMul(self, i, a, name):
        p, q = i
        if isinstance(p, Var) and isinstance(q, Const) and len(q.shape) == 2 and len(p.shape) >= 1:
            flat = Var(p.ids.reshape(-1, p.shape[-1]))
            out = self.dot(flat, q)
            return Var(out.ids.reshape(p.shape[:-1] + (q.shape[1],)))
        if isinstance(p, Const) and isinstance(q, Var) and len(p.shape) == 2 and len(q.shape) == 2:
            out = self.dot(Var(q.ids.T), Const(p.value.T, None if p.error is None else p.error.T))
            return Var(out.ids.T)
        if isinstance(p, Const) and isinstance(q, Const):
            n = p.shape[-1] + 4
            error = np.abs(p.value) @ q.err() + p.err() @ (np.abs(q.value) + q.err())
            return Const(p.value @ q.value, error * 2 + n * EPS * (np.abs(p.value) @ np.abs(q.value)))
        raise NotImplementedError

    def op_Gemm(self, i, a, name):
        p, q = i[0], i[1]
        if a.get("transA", 0):
            p = p.map(np.transpose)
        if a.get("transB", 0):
            q = q.map(np.transpose)
        alpha, beta = float(a.get("alpha", 1.0)), float(a.get("beta", 1.0))
        if isinstance(p, Const) or isinstance(q, Var):
            raise NotImplementedError
        if alpha != 1.0:
            q = self.multiply(q, Const(np.float64(alpha)))
        bias = i[2] if len(i) > 2 else None
        if bias is not None and beta != 1.0:
            bias = self.multiply(bias, Const(np.float64(beta)))
        if isinstance(bias, Var):
            return self.add(self.dot(p, q), bias, 1.0)
        if bias is not None:
            shape = (p.shape[0], q.shape[1])
            bias = bias.map(lambda v: np.broadcast_to(v, shape))
        return self.dot(p, q, bias)

    def op_BatchNormalization(self, i, a, name):
        if a.get("training_mode", 0) or a.get("spatial", 1) == 0:
            raise NotImplementedError
        scale, bias, mean, variance = (t.value.astype(float) for t in i[1:5])
        factor = scale / np.sqrt(variance + float(a.get("epsilon", np.float32(1e-5))))
        ferr = np.abs(factor) * 8 * EPS
        shift = bias - mean * factor
        serr = 4 * EPS * (np.abs(bias) + np.abs(mean * factor)) + np.abs(mean) * ferr
        spread = lambda v: v.reshape([1, -1] + [1] * (len(i[0].shape) - 2))
        return self.scaled(i[0], Const(spread(factor), spread(ferr)), Const(spread(shift), spread(serr)))

    def reduce(self, i, a, mean):
        rank = len(i[0].shape)
        axes = self.axes(i, a)
        if axes is None or len(axes) == 0:
            if a.get("noop_with_empty_axes", 0):
                return i[0].map(lambda v: v)
            axes = list(range(rank))
        axes = [x % rank for x in axes]
        if isinstance(i[0], Const):
            raise NotImplementedError
        rest = [k for k in range(rank) if k not in axes]
        cols = i[0].ids.transpose(rest + axes).reshape(-1, int(np.prod([i[0].shape[k] for k in axes], dtype=int)))
        shape = tuple(1 if k in axes else d for k, d in enumerate(i[0].shape))
        weight = 1.0 / cols.shape[1] if mean else 1.0
        werr = np.full(cols.shape, weight * EPS if mean else 0.0)
        out = self.even(shape, cols, np.full(cols.shape, weight), None, werr)
        if a.get("keepdims", 1):
            return out
        return out.map(lambda v: np.squeeze(v, tuple(axes)))

    def op_ReduceMean(self, i, a, name):
        return self.reduce(i, a, True)

    def op_ReduceSum(self, i, a, name):
        return self.reduce(i, a, False)

    def op_GlobalAveragePool(self, i, a, name):
        return self.reduce([i[0]], {"axes": range(2, len(i[0].shape))}, True)

    def windows(self, shape, kernel, a):
        """For each spatial axis: positions (output, tap) in the input, -1 for padding; and padded extent facts."""
        rank = len(kernel)
        strides = a.get("strides") or [1] * rank
        dilations = a.get("dilations") or [1] * rank
        auto = a.get("auto_pad", b"NOTSET").decode()
        pads = list(a.get("pads") or [0] * (2 * rank)) if auto == "NOTSET" else [0] * (2 * rank)
        found, ends = [], []
        for k in range(rank):
            size, reach = shape[k], (kernel[k] - 1) * dilations[k] + 1
            if auto in ("SAME_UPPER", "SAME_LOWER"):
                count = -(-size // strides[k])
                total = max(0, (count - 1) * strides[k] + reach - size)
                pads[k] = total // 2 if auto == "SAME_UPPER" else total - total // 2
                pads[k + rank] = total - pads[k]
            room = size + pads[k] + pads[k + rank] - reach
            count = (-(-room // strides[k]) if a.get("ceil_mode", 0) else room // strides[k]) + 1
            if a.get("ceil_mode", 0) and (count - 1) * strides[k] >= size + pads[k]:
                count -= 1  # A window that would begin in the padding after the end is left out.
            at = np.arange(count)[:, None] * strides[k] + np.arange(kernel[k])[None] * dilations[k] - pads[k]
            ends.append(size + pads[k + rank])
            found.append(at)
        return found, ends

    def patches(self, x, kernel, a):
        """Numbers of variables under each window: (channels, outputs, taps), -1 for padding; and the output's extent."""
        spatial = x.shape[2:]
        at, ends = self.windows(spatial, kernel, a)
        if x.shape[0] != 1:
            raise NotImplementedError
        flat = np.zeros((1, 1), int)
        valid, padded = np.ones((1, 1), bool), np.ones((1, 1), bool)
        for k, positions in enumerate(at):
            inside = (positions >= 0) & (positions < spatial[k])
            counted = positions < ends[k]  # Padding that was asked for, not what ceil_mode adds.
            combine = lambda p, q, f: f(p[:, None, :, None], q[None, :, None, :]).reshape(
                p.shape[0] * q.shape[0], p.shape[1] * q.shape[1])
            flat = combine(flat, np.where(inside, positions, 0), lambda p, q: p * spatial[k] + q)
            valid = combine(valid, inside, np.logical_and)
            padded = combine(padded, counted, np.logical_and)
        ids = x.ids[0].reshape(x.shape[1], -1)[:, flat]
        ids = np.where(valid[None], ids, -1)
        return ids, padded, tuple(p.shape[0] for p in at)

    def op_Conv(self, i, a, name):
        x, w = i[0], i[1]
        bias = i[2] if len(i) > 2 else None
        if isinstance(x, Const) or isinstance(w, Var) or w.error is not None:
            raise NotImplementedError
        kernel = list(w.shape[2:])
        ids, _, extent = self.patches(x, kernel, a)
        groups, filters = a.get("group", 1), w.shape[0]
        channels = x.shape[1] // groups
        if w.shape[1] != channels:
            raise NotImplementedError
        outputs, taps = ids.shape[1:]
        each = filters // groups
        starts, cols, weights = [0], [], []
        for g in range(groups):
            under = ids[g * channels:(g + 1) * channels].transpose(1, 0, 2).reshape(outputs, -1)
            good = under >= 0
            lengths = good.sum(1)
            for f in range(g * each, (g + 1) * each):
                row = np.broadcast_to(w.value[f].astype(float).reshape(1, -1), under.shape)
                cols.append(under[good])
                weights.append(row[good])
                starts.append(lengths)
        starts = np.concatenate([[0], np.cumsum(np.concatenate(starts[1:]))])
        const, cerr = np.zeros(filters), np.zeros(filters)
        if bias is not None:
            const, cerr = bias.value.astype(float), bias.err()
        shape = (1, filters) + extent
        return self.sums(shape, starts, np.concatenate(cols), np.concatenate(weights),
                         np.repeat(const, outputs), None, np.repeat(cerr, outputs))

    def op_AveragePool(self, i, a, name):
        ids, padded, extent = self.patches(i[0], list(a["kernel_shape"]), a)
        channels, outputs, taps = ids.shape
        good = ids >= 0
        if a.get("count_include_pad", 0):
            number = np.broadcast_to(padded.sum(1)[None], (channels, outputs))
        else:
            number = good.sum(2)
        lengths = good.sum(2).ravel()
        weights = np.repeat(1.0 / number.ravel(), lengths)
        shape = (1, channels) + extent
        starts = np.concatenate([[0], np.cumsum(lengths)])
        return self.sums(shape, starts, ids[good], weights, np.zeros(len(lengths)), weights * EPS)

    # Curves.

    def op_Relu(self, i, a, name):
        return self.curves(i[0], RELU, name)

    def op_LeakyRelu(self, i, a, name):
        alpha = float(a.get("alpha", np.float32(0.01)))
        return self.curves(i[0], ((-math.inf, alpha, 0.0), (0.0, 1.0, 0.0)), name)

    def op_Abs(self, i, a, name):
        if isinstance(i[0], Const):
            return i[0].map(np.abs)
        return self.curves(i[0], ((-math.inf, -1.0, 0.0), (0.0, 1.0, 0.0)), name)

    def op_Clip(self, i, a, name):
        if self.opset < 11:
            low, high = a.get("min", -math.inf), a.get("max", math.inf)
        else:
            given = [float(t.value.ravel()[0]) if t is not None else None for t in i[1:]] + [None, None]
            low = -math.inf if given[0] is None else given[0]
            high = math.inf if given[1] is None else given[1]
        return self.clip(i[0], float(low), float(high), name)

    def clip(self, x, low, high, name):
        if isinstance(x, Const):
            return x.map(lambda v: np.clip(v, low, high))
        if low > high:
            raise NotImplementedError
        parts = [(-math.inf, 1.0, 0.0)]
        if low > -math.inf:
            parts = [(-math.inf, 0.0, low), (low, 1.0, 0.0)]
        if high < math.inf:
            parts.append((high, 0.0, high))
        return self.curves(x, tuple(parts), name)

    def op_HardSigmoid(self, i, a, name):
        alpha = float(a.get("alpha", np.float32(0.2)))
        beta = float(a.get("beta", np.float32(0.5)))
        inner = self.scaled(i[0], Const(np.float64(alpha)), Const(np.float64(beta)))
        return self.clip(inner, 0.0, 1.0, name)

    def op_PRelu(self, i, a, name):
        x, slope = i[0], i[1]
        if isinstance(slope, Var):
            raise NotImplementedError
        gate = self.curves(x, RELU, name)
        below = self.add(x, gate, -1.0)
        below = self.multiply(below, slope.map(lambda v: np.broadcast_to(v, x.shape)))
        return self.add(gate, below, 1.0)

    def largest(self, members, shape, name, sign=1.0):
        """The largest (sign 1) or smallest (-1) of each row's members, -1 where there is none: a chain of comparisons."""
        rows = len(members)
        order = np.argsort(members < 0, axis=1, kind="stable")
        members = np.take_along_axis(members, order, 1)
        first, gates = members[:, 0], []
        for part in range(1, members.shape[1]):
            here = np.flatnonzero(members[:, part] >= 0)
            if not len(here):
                break
            cols = [np.stack([members[here, part], first[here]], 1)]
            cols += [g[here][:, None] for g in gates]
            cols = np.concatenate(cols, 1)
            weights = np.array([sign, -sign] + [-1.0] * len(gates))
            good = cols >= 0
            lengths = good.sum(1)
            starts = np.concatenate([[0], np.cumsum(lengths)])
            spread = np.broadcast_to(weights, cols.shape)
            difference = self.sums((len(here),), starts, cols[good], spread[good], np.zeros(len(here)))
            gate = self.curves(difference, RELU, name, part, here)
            full = np.full(rows, -1)
            full[here] = gate.ids
            gates.append(full)
        cols = np.stack([first] + gates, 1)
        good = cols >= 0
        weights = np.broadcast_to(np.array([1.0] + [sign] * len(gates)), cols.shape)
        starts = np.concatenate([[0], np.cumsum(good.sum(1))])
        found = self.sums(shape, starts, cols[good], weights[good], np.zeros(rows))
        self.blocks[-1].members, self.blocks[-1].sign = members, sign
        return found

    def op_MaxPool(self, i, a, name):
        if a.get("storage_order", 0):
            raise NotImplementedError
        ids, _, extent = self.patches(i[0], list(a["kernel_shape"]), a)
        shape = (1, ids.shape[0]) + extent
        return self.largest(ids.reshape(-1, ids.shape[2]), shape, name)

    def op_GlobalMaxPool(self, i, a, name):
        ids = i[0].ids.reshape(i[0].shape[0] * i[0].shape[1], -1)
        return self.largest(ids, i[0].shape[:2] + (1,) * (len(i[0].shape) - 2), name)

    def extreme(self, i, name, sign):
        total = i[0]
        for t in i[1:]:
            if isinstance(total, Const) and isinstance(t, Const):
                pick = np.maximum if sign > 0 else np.minimum
                total = Const(pick(total.value, t.value), total.err() + t.err())
                continue
            pair = [self.constants(v) if isinstance(v, Const) else v for v in (total, t)]
            shape = np.broadcast_shapes(pair[0].shape, pair[1].shape)
            members = np.stack([np.broadcast_to(v.ids, shape).ravel() for v in pair], 1)
            total = self.largest(members, shape, self.comparison(name), sign)
        return total

    def op_Max(self, i, a, name):
        return self.extreme(i, name, 1.0)

    def op_Min(self, i, a, name):
        return self.extreme(i, name, -1.0)

    # Smooth functions: run, never bounded.

    def smooth(self, i, function, kind):
        if isinstance(i[0], Const):
            raise NotImplementedError
        return self.opaque(i[0], i[0].shape, function, kind)

    def op_Sigmoid(self, i, a, name):
        return self.smooth(i, sigmoid, "Sigmoid")

    def op_Tanh(self, i, a, name):
        return self.smooth(i, np.tanh, "Tanh")

    def op_Elu(self, i, a, name):
        alpha = a.get("alpha", 1.0)
        return self.smooth(i, lambda x: np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x), "Elu")

    def op_Selu(self, i, a, name):
        alpha, gamma = a.get("alpha", 1.67326319217681884765625), a.get("gamma", 1.05070102214813232421875)
        return self.smooth(i, lambda x: gamma * np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x), "Selu")

    def op_Softplus(self, i, a, name):
        return self.smooth(i, lambda x: np.logaddexp(0, x), "Softplus")

    def op_Softsign(self, i, a, name):
        return self.smooth(i, lambda x: x / (1 + np.abs(x)), "Softsign")

    def op_Softmax(self, i, a, name):
        if self.opset < 13 and a.get("axis", 1) % len(i[0].shape) != len(i[0].shape) - 1:
            raise NotImplementedError
        axis = a.get("axis", -1 if self.opset >= 13 else 1)

        def softmax(x):
            e = np.exp(x - x.max(axis, keepdims=True))
            return e / e.sum(axis, keepdims=True)
        return self.smooth(i, softmax, "Softmax")

    def op_LogSoftmax(self, i, a, name):
        if self.opset < 13 and a.get("axis", 1) % len(i[0].shape) != len(i[0].shape) - 1:
            raise NotImplementedError
        axis = a.get("axis", -1 if self.opset >= 13 else 1)

        def log_softmax(x):
            x = x - x.max(axis, keepdims=True)
            return x - np.log(np.exp(x).sum(axis, keepdims=True))
        return self.smooth(i, log_softmax, "LogSoftmax")

    # Running it.

    def run(self, x):
        """Values of all variables at an input, in float64, and how far each may be from the real value (inf after a
        smooth function)."""
        v, e = np.zeros(self.count), np.zeros(self.count)
        v[:self.inputs] = np.asarray(x, float).ravel()
        for b in self.blocks:
            mine = slice(b.first, b.first + b.n)
            if isinstance(b, Sums):
                row, at = b.rows(np.arange(b.n))
                c, w = b.cols[at], b.weights[at]
                v[mine] = np.bincount(row, w * v[c], b.n) + b.const
                mass = np.bincount(row, np.abs(w * v[c]), b.n) + np.abs(b.const)
                carried = np.bincount(row, np.abs(w) * e[c], b.n)
                if b.werr is not None:
                    carried += np.bincount(row, b.werr[at] * (np.abs(v[c]) + e[c]), b.n)
                terms = np.bincount(row, minlength=b.n) + 4
                e[mine] = (carried + b.cerr + terms * EPS * mass) * (1 + 1e-9) + TINY
            elif isinstance(b, Curves):
                u = v[b.inputs]
                v[mine] = curve(b.parts, u)
                steep = max(abs(s) for _, s, _ in b.parts)
                e[mine] = steep * e[b.inputs] * (1 + 1e-9) + 4 * EPS * np.abs(v[mine])
            else:
                v[mine] = b.function(v[b.inputs])
                e[mine] = np.inf
        return v, e


def digest(path):
    """SHA-256 of the file, followed by those of its weight files in the order in which it first refers to them."""
    proto = onnx.load(path, load_external_data=False)
    total = hashlib.sha256()
    names = [path]
    tensors = list(proto.graph.initializer)
    tensors += [a.t for n in proto.graph.node for a in n.attribute if a.HasField("t")]
    for t in tensors:
        for entry in t.external_data:
            if entry.key == "location":
                beside = os.path.join(os.path.dirname(path), entry.value)
                if beside not in names:
                    names.append(beside)
    for name in names:
        with open(name, "rb") as f:
            total.update(f.read())
    return total.hexdigest()


def as_number(array):
    array = np.asarray(array)
    if array.dtype.kind in "iub":
        return array.astype(np.int64)
    return array.astype(float)


def folded(value, error):
    value = np.asarray(value)
    if value.dtype.kind == "i":
        return Const(value)
    error = (error + np.abs(value) * EPS) * (1 + 1e-9)
    return Const(value, error)


# --- Kinked curves ----------------------------------------------------------------------------------------------------


def curve(parts, x):
    y = parts[0][1] * x + parts[0][2]
    for start, slope, cut in parts[1:]:
        y = np.where(x >= start, slope * x + cut, y)
    return y


def points(parts, l, u):
    """Where a line is furthest from the curve over l..u: the ends, and the kinks between (else l again)."""
    kinks = [np.where((l < p[0]) & (p[0] < u), p[0], l) for p in parts[1:]]
    return [l, u] + kinks


def first_part(parts, l):
    index = np.zeros(np.shape(l), int)
    for start, _, _ in parts[1:]:
        index = index + (start <= l)
    return index


def kinks_inside(parts, l, u):
    return sum(((l < p[0]) & (p[0] < u)).astype(int) for p in parts[1:]) + np.zeros(np.shape(l), int)


def flat(parts, l, u):
    slopes = np.array([p[1] for p in parts])
    return (kinks_inside(parts, l, u) == 0) & (slopes[first_part(parts, l)] == 0)


def ranges(parts, l, u):
    values = [curve(parts, p) for p in points(parts, l, u)]
    low, high = np.minimum.reduce(values), np.maximum.reduce(values)
    slack = 4 * EPS
    return low - np.abs(low) * slack, high + np.abs(high) * slack


def lines(parts, l, u, share=None):
    """Slope and value at 0 of a line below and one above the curve over l..u. `share`: where the free slope lies between
    that of the left part and that of the right one (nan: that of the wider part)."""
    slopes, cuts = np.array([p[1] for p in parts]), np.array([p[2] for p in parts])
    first = first_part(parts, l)
    inside = kinks_inside(parts, l, u)
    left = slopes[first]
    right = slopes[np.minimum(first + 1, len(parts) - 1)]
    kinks = np.array([0.0] + [p[0] for p in parts[1:]])
    kink = kinks[np.minimum(first + 1, len(parts) - 1)]
    default = np.where(kink - l > u - kink, 0.0, 1.0)
    share = default if share is None else np.where(np.isnan(share), default, share)
    free = left + share * (right - left)
    at = points(parts, l, u)
    with np.errstate(all="ignore"):
        chord = (curve(parts, u) - curve(parts, l)) / (u - l)
    chord = np.where(np.isfinite(chord), chord, 0.0)
    convex = left < right
    low_slope = np.where(inside >= 2, chord, np.where(convex, free, chord))
    high_slope = np.where(inside >= 2, chord, np.where(convex, chord, free))

    def cut(slope, pick, sign):
        best = None
        for p in at:
            value, rise = curve(parts, p), slope * p
            room = value - rise - sign * np.where(rise == 0, 0.0, 8 * EPS * (np.abs(value) + np.abs(rise)))
            best = room if best is None else pick(best, room)
        return best
    low_cut, high_cut = cut(low_slope, np.minimum, 1.0), cut(high_slope, np.maximum, -1.0)
    straight = inside == 0
    pick = lambda p, q: np.where(straight, p, q)
    return pick(left, low_slope), pick(cuts[first], low_cut), pick(left, high_slope), pick(cuts[first], high_cut)


# --- Cones and pulling back -------------------------------------------------------------------------------------------


class Cone:
    """What some variables depend on, numbered anew and densely: inputs first, then step by step."""

    def __init__(self, model, targets):
        targets = np.asarray(targets, np.int64)
        mark = model.ancestors([targets])
        place = np.full(model.count, -1)
        self.inputs = np.flatnonzero(mark[:model.inputs])
        place[self.inputs] = np.arange(len(self.inputs))
        self.n, self.steps, self.globals = len(self.inputs), [], [self.inputs]
        self.units, self.unit_inputs = {}, []
        for b in model.blocks:
            index = np.flatnonzero(mark[b.first:b.first + b.n])
            if not len(index):
                continue
            if isinstance(b, Opaque):
                raise NotCovered(f"it depends on {b.kind}")
            mine = slice(self.n, self.n + len(index))
            place[b.first + index] = np.arange(self.n, self.n + len(index))
            self.n += len(index)
            self.globals.append(b.first + index)
            if isinstance(b, Sums):
                row, at = b.rows(index)
                self.steps.append(SumStep(mine, b, index, row, place[b.cols[at]], at))
                if b.members is not None:
                    members = b.members[index]
                    self.steps[-1].members = np.where(members >= 0, place[members], -1)
                    self.steps[-1].sign = b.sign
            else:
                step = CurveStep(mine, b, index, place[b.inputs[index]], len(self.unit_inputs))
                for k, element in enumerate(b.elements[index]):
                    self.units[(b.name, int(element), b.part)] = step.first_unit + k
                self.unit_inputs.extend(step.inputs)
                self.steps.append(step)
        self.globals = np.concatenate(self.globals)
        self.targets = place[targets]
        self.unit_inputs = np.asarray(self.unit_inputs, int)
        self.curves = [s for s in self.steps if isinstance(s, CurveStep)]

    def parts_of(self, number):
        return next(s for s in self.curves if s.first_unit <= number < s.first_unit + s.n)


class SumStep:
    def __init__(self, mine, block, index, row, cols, at):
        self.mine, self.n = mine, len(index)
        self.const, self.cerr = block.const[index], block.cerr[index]
        self.row, self.local = row, cols
        self.w = block.weights[at]
        self.werr = None if block.werr is None else block.werr[at]
        self.terms = int(np.bincount(row, minlength=1).max(initial=0)) + 4
        self.used, where = np.unique(cols, return_inverse=True) if len(cols) else (cols, cols)
        self.where = where
        self.members, self.sign = None, 1.0
        self.dense = None
        if self.n * len(self.used) <= 1 << 22:
            self.dense = np.zeros((self.n, len(self.used)))
            np.add.at(self.dense, (row, where), self.w)
            # Two terms on one variable were added up: that rounds.
            if len(np.unique(row * max(1, len(self.used)) + where)) < len(row):
                twice = np.zeros_like(self.dense)
                np.add.at(twice, (row, where), np.abs(self.w))
                extra = twice[row, where] * 4 * EPS
                self.werr = extra if self.werr is None else self.werr + extra
        contiguous = len(self.used) and self.used[-1] - self.used[0] == len(self.used) - 1
        self.into = slice(self.used[0], self.used[-1] + 1) if contiguous else self.used

    def interval(self, low, high, size):
        """Bounds of the sums by interval arithmetic, and the magnitudes behind them."""
        a, b = low[self.local], high[self.local]
        up = self.w > 0
        lo = np.bincount(self.row, self.w * np.where(up, a, b), self.n) + self.const
        hi = np.bincount(self.row, self.w * np.where(up, b, a), self.n) + self.const
        mass, slack = self.masses(size)
        error = (self.terms * EPS * mass + slack) * (1 + 1e-9) + TINY
        return lo - error, hi + error

    def masses(self, size):
        mass = np.bincount(self.row, np.abs(self.w) * size[self.local], self.n) + np.abs(self.const)
        slack = self.cerr
        if self.werr is not None:
            slack = slack + np.bincount(self.row, self.werr * size[self.local], self.n)
        return mass * (1 + 1e-9), slack * (1 + 1e-9)

    def times(self, a):
        """Coefficients of the sums times their weights."""
        if self.dense is not None:
            return a @ self.dense
        flat_a = a.reshape(-1, self.n)
        out = np.empty((len(flat_a), len(self.used)))
        for k, row in enumerate(flat_a):
            out[k] = np.bincount(self.where, row[self.row] * self.w, len(self.used))
        return out.reshape(a.shape[:-1] + (len(self.used),))


class CurveStep:
    def __init__(self, mine, block, index, inputs, first_unit):
        self.mine, self.n, self.inputs, self.parts = mine, len(index), inputs, block.parts
        self.name, self.part, self.first_unit = block.name, block.part, first_unit
        self.names = block.elements[index]
        self.units = slice(first_unit, first_unit + len(index))
        self.single = len(np.unique(inputs)) == len(inputs)


class Pull:
    """Lower bounds of sums of a cone's variables over boxes, B boxes and R sums at a time."""

    def __init__(self, cone, size, masses):
        self.cone, self.size, self.masses = cone, size, masses

    def run(self, a, constant, upto, bent, lower, upper, conditions=None, rooms=None):
        """a: (B, R, variables before step `upto`'s own); bent[k]: lines of curve step k, each (B or 1, n);
        lower, upper: (B or 1, inputs). conditions: (B, units) coefficient and (B) constant. rooms: how inputs move, one for
        each box, where few may change."""
        size = self.size
        total, error = constant, EPS * (np.abs(constant) + np.abs(a) @ size[:a.shape[-1]])
        steps = self.cone.steps[:upto]
        curve_number = sum(isinstance(s, CurveStep) for s in steps)
        for number in range(len(steps) - 1, -1, -1):
            step = steps[number]
            mine = a[..., step.mine]
            if isinstance(step, SumStep):
                if not mine.any():
                    continue
                mass, slack = self.masses[number]
                magnitude = np.abs(mine)
                error = error + magnitude @ (mass * ((step.n + 4) * EPS) + slack)
                total = total + mine @ step.const
                if len(step.used):
                    a[..., step.into] += step.times(mine)
                    error = error + EPS * (np.abs(a[..., step.into]) @ size[step.into])
            else:
                curve_number -= 1
                ls, lc, us, uc = bent[curve_number]
                up, down = np.maximum(mine, 0), np.minimum(mine, 0)
                through = up * ls[:, None, :] + down * us[:, None, :]
                beside = up * lc[:, None, :] + down * uc[:, None, :]
                s = size[step.inputs]
                total = total + beside.sum(-1)
                error = error + (step.n + 4) * EPS * np.abs(beside).sum(-1) + 2 * EPS * (np.abs(through) @ s)
                if conditions is not None:
                    through = through - conditions[0][:, None, step.units]
                if step.single:
                    a[..., step.inputs] += through
                else:
                    np.add.at(a, (Ellipsis, step.inputs), through)
                error = error + 4 * EPS * (np.abs(a[..., step.inputs]) @ s + np.abs(through) @ s)
            error = error + EPS * np.abs(total)
        ends = a[..., :len(self.cone.inputs)]
        n = len(self.cone.inputs)
        if rooms is None:
            up, down = np.maximum(ends, 0), np.minimum(ends, 0)
            reach = np.einsum("brn,bn->br", up, np.broadcast_to(lower, (len(a), lower.shape[1])))
            reach = reach + np.einsum("brn,bn->br", down, np.broadcast_to(upper, (len(a), upper.shape[1])))
        else:
            reach = np.array([room.least(mine) for room, mine in zip(rooms, ends)])
            error = error + (6 * n + 24) * EPS * (np.abs(ends) @ size[:n])
        error = error + (2 * n + 8) * EPS * (np.abs(ends) @ size[:n])
        if conditions is not None:
            total = total + conditions[1][:, None]
            error = error + 2 * EPS * conditions[2][:, None]
        result = total + reach
        error = (error + EPS * (np.abs(result) + np.abs(total))) * (1 + 1e-6) + TINY
        good = (np.abs(result) <= HUGE) & (error <= HUGE)
        return np.where(good, result - error, -np.inf)


class Region:
    """What is known over one box, in which few positions may change or all: bounds of variables, each worked out once."""

    def __init__(self, model, lower, upper, changes=None):
        self.model, self.changes = model, changes
        self.low, self.high = np.full(model.count, np.nan), np.full(model.count, np.nan)
        self.low[:model.inputs], self.high[:model.inputs] = lower, upper
        self.unit_bounds = {}

    def prepare(self, targets):
        """Bounds of everything that some variables depend on."""
        mark = self.model.ancestors([np.asarray(targets, np.int64)])
        # Over a box intervals of the first sums are exact.
        deep = self.changes is not None
        for b in self.model.blocks:
            index = np.flatnonzero(mark[b.first:b.first + b.n])
            if not len(index):
                continue
            if isinstance(b, Opaque):
                raise NotCovered(f"it depends on {b.kind}")
            new = index[np.isnan(self.low[b.first + index])]
            if isinstance(b, Sums):
                self.bound_sums(b, new)
            else:
                self.bound_units(b, new, deep)
                deep = True

    def bound_sums(self, b, index):
        if not len(index):
            return
        row, at = b.rows(index)
        step = SumStep.__new__(SumStep)
        step.row, step.local, step.n, step.w = row, b.cols[at], len(index), b.weights[at]
        step.const, step.cerr = b.const[index], b.cerr[index]
        step.werr = None if b.werr is None else b.werr[at]
        step.terms = int(np.bincount(row, minlength=1).max(initial=0)) + 4
        size = np.maximum(np.abs(self.low), np.abs(self.high))
        low, high = step.interval(self.low, self.high, size)
        self.low[b.first + index], self.high[b.first + index] = low, high

    def bound_units(self, b, index, deep):
        if not len(index):
            return
        inputs = b.inputs[index]
        l, u = self.low[inputs].copy(), self.high[inputs].copy()
        if deep:
            for group in self.groups(b, index, np.flatnonzero(~flat(b.parts, l, u))):
                cone = Cone(self.model, inputs[group])
                pull, bent, ends = self.ready(cone)
                rows = max(1, (1 << 22) // max(1, cone.n))
                for k in range(0, len(group), rows):
                    chunk = group[k:k + rows]
                    a = np.zeros((1, 2 * len(chunk), cone.n))
                    which = cone.targets[k:k + rows]
                    a[0, np.arange(len(chunk)), which] = 1.0
                    a[0, len(chunk) + np.arange(len(chunk)), which] = -1.0
                    zeros = np.zeros((1, 2 * len(chunk)))
                    bound = pull.run(a, zeros, len(cone.steps), bent, *ends, rooms=self.rooms(cone))[0]
                    l[chunk] = np.maximum(l[chunk], bound[:len(chunk)])
                    u[chunk] = np.minimum(u[chunk], -bound[len(chunk):])
        at = b.first + index
        bounds = self.unit_bounds.setdefault(id(b), (np.full(b.n, np.nan), np.full(b.n, np.nan)))
        bounds[0][index], bounds[1][index] = l, u
        with np.errstate(invalid="ignore"):
            self.low[at], self.high[at] = ranges(b.parts, np.minimum(l, u), u)

    def groups(self, b, index, open_units):
        """Units that read the same variables are worked on together: channels of one pixel, outputs of a dense layer."""
        if not len(open_units):
            return []
        inputs = b.inputs[index[open_units]]
        firsts = np.array([x.first for x in self.model.blocks])
        keys = {}
        for k, variable in zip(open_units, inputs):
            block = self.model.blocks[np.searchsorted(firsts, variable, "right") - 1] if variable >= firsts[0] else None
            if isinstance(block, Sums):
                r = variable - block.first
                key = (id(block), block.cols[block.starts[r]:block.starts[r + 1]].tobytes())
            else:
                key = int(variable)
            keys.setdefault(key, []).append(k)
        return [np.array(g) for g in keys.values()]

    def ready(self, cone):
        """For pulls over the whole box: magnitudes, lines and ends."""
        size = self.sizes(cone)
        masses = [s.masses(size) if isinstance(s, SumStep) else None for s in cone.steps]
        bent = [tuple(v[None] for v in lines(s.parts, *self.of_step(cone, s))) for s in cone.curves]
        ends = self.low[cone.inputs][None], self.high[cone.inputs][None]
        return Pull(cone, size, masses), bent, ends

    def rooms(self, cone):
        """How the inputs of a cone move over the whole region, where few may."""
        if self.changes is None:
            return None
        elements = cone.inputs
        return [Room(self.changes, Limits.whole(self.changes), elements, self.low[elements], self.high[elements])]

    def sizes(self, cone):
        return np.maximum(np.abs(self.low[cone.globals]), np.abs(self.high[cone.globals]))

    def of_step(self, cone, step):
        """Bounds of a curve step's units."""
        block = next(b for b in self.model.blocks if isinstance(b, Curves) and b.first <= cone.globals[step.mine.start]
                     < b.first + b.n)
        index = cone.globals[step.mine] - block.first
        l, u = self.unit_bounds[id(block)]
        return np.minimum(l[index], u[index]), u[index]


# --- Few changes ------------------------------------------------------------------------------------------------------


class Changes:
    """At most `allowed` positions differ from the centre; every element belongs to a position."""

    def __init__(self, centre, positions, allowed):
        self.centre, self.positions, self.allowed = centre, positions, allowed

    def key(self):
        return (self.centre.tobytes(), self.partition().tobytes(), self.allowed)

    def partition(self):
        """Positions numbered by their first element, so that the same ones are written the same way."""
        _, first, inverse = np.unique(self.positions, return_index=True, return_inverse=True)
        return first[inverse]

    def admits(self, other):
        """Whether every input that another limit lets through passes this one."""
        same = np.array_equal(self.centre, other.centre) and np.array_equal(self.partition(), other.partition())
        return same and self.allowed >= other.allowed


class Limits:
    """Nested limits on how many positions change: (how many, the limit round it), and the innermost one of a position."""

    def __init__(self, limits, of):
        self.limits, self.of = limits, of

    @classmethod
    def whole(cls, changes):
        return cls([(changes.allowed, None)], np.zeros(len(changes.positions), np.int64))

    def room(self, limit):
        room = math.inf
        while limit is not None:
            allowed, limit = self.limits[limit]
            room = min(room, allowed)
        return room

    def take(self, position):
        """This with one change of a position less; None if that is not allowed."""
        limit = int(self.of[position])
        if self.room(limit) == 0:
            return None
        limits = list(self.limits)
        while limit is not None:
            allowed, parent = limits[limit]
            limits[limit] = (allowed - 1, parent)
            limit = parent
        return Limits(limits, self.of)

    def split(self, positions, most):
        """At most so many of some positions change, or more; the second is None if no input is there."""
        positions = np.asarray(positions, np.int64)
        if not len(positions) or (np.diff(positions) <= 0).any() or positions[-1] >= len(self.of):
            raise Rejected("a split names positions that are none")
        limit = int(self.of[positions[0]])
        if (self.of[positions] != limit).any():
            raise Rejected("the positions of a split lie on both sides of another")
        of = self.of.copy()
        of[positions] = len(self.limits)
        few, many = Limits(self.limits + [(most, limit)], of), None
        left = self.room(limit) - most - 1
        if left >= 0:
            rest = len(self.limits)
            limits = [(a, rest if parent == limit else parent) for a, parent in self.limits] + [(left, limit)]
            of = self.of.copy()
            of[of == limit] = rest
            of[positions] = limit
            many = Limits(limits, of)
        return few, many


class Room:
    """How the inputs of a cone move in a part of a region with a limit on changes: ends, with those that stand still at the
    centre; which of the others may stay there, by place; and how many may not."""

    def __init__(self, changes, limits, elements, lower, upper):
        centre, positions = changes.centre[elements], changes.positions[elements]
        self.empty = bool((lower > upper).any())
        moved = np.unique(positions[(lower > centre) | (upper < centre)])
        for position in moved:
            limits = limits.take(position) if limits is not None else None
        if limits is None:
            self.empty = True
        if self.empty:
            return
        rooms = {k: limits.room(k) for k in range(len(limits.limits))}
        is_free = np.isin(positions, moved)
        is_open = np.array([rooms[int(k)] > 0 for k in limits.of[positions]], bool)
        still = ((lower >= centre) & (upper <= centre)) | ~(is_free | is_open)
        self.lower, self.upper = np.where(still, centre, lower), np.where(still, centre, upper)
        self.centre = centre
        self.counted = np.flatnonzero(~still & ~is_free)
        self.places, self.place = np.unique(positions[self.counted], return_inverse=True)
        self.limits = limits
        own = np.unique(limits.of[self.places])
        self.flat = min(rooms[int(own[0])], len(self.places)) if len(own) == 1 else None
        self.moving = np.flatnonzero(~still)

    def most(self, amounts):
        """The most that places can take off, given what each does: (rows, places)."""
        if not len(self.places):
            return np.zeros(len(amounts))
        if self.flat is not None:
            k = int(self.flat)
            return -np.sort(-amounts, axis=1)[:, :k].sum(1)
        found = np.zeros(len(amounts))
        for row, mine in enumerate(amounts):
            limits = self.limits
            for place in np.argsort(-mine, kind="stable"):
                left = limits.take(self.places[place])
                if left is not None:
                    limits = left
                    found[row] += mine[place]
        return found

    def least(self, a):
        """The least value of sums of the inputs, (rows, inputs), before rounding is taken off."""
        value = np.maximum(a, 0) * self.lower + np.minimum(a, 0) * self.upper
        if not len(self.counted):
            return value.sum(1)
        at = a[:, self.counted] * self.centre[self.counted]
        amounts = np.zeros((len(a), len(self.places)))
        np.add.at(amounts, (slice(None), self.place), np.maximum(at - value[:, self.counted], 0.0))
        value[:, self.counted] = at
        return value.sum(1) - self.most(amounts)


class Forward:
    """Bounds over parts in which at most three inputs move, by lines: every variable lies between two linear functions of
    how far these are from the middle of their ends; (variables, 4) each, the value in the middle first."""

    def __init__(self, judge, room):
        cone, self.cone = judge.cone, judge.cone
        if len(room.moving) > 3:
            raise Rejected("more inputs move in a leaf than lines go forward from")
        low, high = np.zeros((cone.n, 4)), np.zeros((cone.n, 4))
        n = len(cone.inputs)
        low[:n, 0], high[:n, 0] = room.lower, room.upper
        self.radius = np.zeros(3)
        for k, at in enumerate(room.moving):
            middle = 0.5 * room.lower[at] + 0.5 * room.upper[at]
            self.radius[k] = np.nextafter(max(room.upper[at] - middle, middle - room.lower[at]), np.inf)
            low[at, 0] = high[at, 0] = middle
            low[at, 1 + k] = high[at, 1 + k] = 1.0
        self.low, self.high = low, high
        for step in cone.steps:
            if isinstance(step, SumStep):
                mine = self.sums(step, np.arange(step.n), step.row, step.local, step.w, step.werr)
                low[step.mine], high[step.mine] = mine
            else:
                x, y = low[step.inputs], high[step.inputs]
                slack = 16 * EPS * (self.size(x) + self.size(y)) + TINY
                l, u = x[:, 0] - self.swing(x) - slack, y[:, 0] + self.swing(y) + slack
                ls, lc, us, uc = (v[:, None] for v in lines(step.parts, l, u))
                below = np.where(ls >= 0, x, y) * ls
                above = np.where(us >= 0, y, x) * us
                error = 16 * EPS * (np.maximum(np.abs(ls), np.abs(us))[:, 0] * (self.size(x) + self.size(y))
                                    + np.abs(lc)[:, 0] + np.abs(uc)[:, 0]) + TINY
                below[:, 0] += lc[:, 0] - error
                above[:, 0] += uc[:, 0] + error
                low[step.mine], high[step.mine] = below, above

    def swing(self, line):
        return np.abs(line[:, 1:]) @ self.radius

    def size(self, line):
        return np.abs(line[:, 0]) + self.swing(line)

    def sums(self, step, index, row, local, w, werr):
        """Lines of sums: rows and weights of their terms."""
        below, above = np.where((w > 0)[:, None], self.low[local], self.high[local]), None
        above = np.where((w > 0)[:, None], self.high[local], self.low[local])
        n = len(index)
        low = np.stack([np.bincount(row, w * below[:, k], n) for k in range(4)], 1)
        high = np.stack([np.bincount(row, w * above[:, k], n) for k in range(4)], 1)
        size = np.maximum(self.size(self.low), self.size(self.high))[local]
        mass = np.bincount(row, np.abs(w) * size, n) + np.abs(step.const[index])
        slack = step.cerr[index]
        if werr is not None:
            slack = slack + np.bincount(row, werr * size, n)
        error = (2 * (step.terms + 8) * EPS * mass + slack) * (1 + 1e-6) + TINY
        error = np.where(mass <= HUGE, error, np.inf)
        low[:, 0] += step.const[index] - error
        high[:, 0] += step.const[index] + error
        return low, high

    def upper(self, terms, constant):
        """An upper bound of a sum of variables."""
        sizes = np.maximum(self.size(self.low), self.size(self.high))
        weights, total, mass, count = spelled_out(self.cone, terms, constant, sizes)
        line = np.array([total, 0.0, 0.0, 0.0])
        for v, w in weights.items():
            line = line + w * (self.high[v] if w > 0 else self.low[v])
        return rounded_up(line[0] + np.abs(line[1:]) @ self.radius, mass, count)


def spelled_out(cone, terms, constant, sizes):
    """A sum of variables with the sums among them, maxima excepted, spelled out, so that what they share is counted once:
    weights by variable, the constant, the magnitudes that rounding is in proportion to, and how many were added up."""
    weights, total, mass, count = {}, constant, abs(constant), 16
    for variable, weight in terms.items():
        step = next((s for s in cone.steps if isinstance(s, SumStep)
                     and s.mine.start <= variable < s.mine.stop and s.members is None), None)
        if step is None:
            own, error = [(variable, 1.0)], 0.0
        else:
            k = variable - step.mine.start
            at = np.flatnonzero(step.row == k)
            own = list(zip(step.local[at].tolist(), step.w[at].tolist()))
            error = step.cerr[k] + (0.0 if step.werr is None else float(step.werr[at] @ sizes[step.local[at]]))
            total += weight * step.const[k]
            mass += abs(weight * step.const[k])
        mass += abs(weight) * error / EPS
        for v, w in own:
            weights[v] = weights.get(v, 0.0) + weight * w
            mass += abs(weight * w) * float(sizes[v])
            count += 4
    return weights, total, mass, count


def rounded_up(value, mass, count):
    bound = value + 2 * count * EPS * mass * (1 + 1e-6) + TINY
    return bound if abs(bound) <= HUGE and mass <= HUGE else np.inf


class Interpolation:
    """Bounds over parts in which one input moves: every variable is what it is at both ends of the part, (variables, 2), and
    in between off the straight line between the two by at most `below` and `above`."""

    def __init__(self, judge, room):
        cone, self.cone = judge.cone, judge.cone
        self.ends, self.below, self.above = np.zeros((cone.n, 2)), np.zeros(cone.n), np.zeros(cone.n)
        n = len(cone.inputs)
        self.ends[:n, 0], self.ends[:n, 1] = room.lower, room.upper
        with np.errstate(all="ignore"):
            for step in cone.steps:
                if isinstance(step, CurveStep):
                    x = step.inputs
                    found = bent(step.parts, self.ends[x].T, self.below[x], self.above[x])
                elif step.members is None:
                    found = self.sums(step)
                else:
                    found = self.extremes(step)
                self.ends[step.mine], self.below[step.mine], self.above[step.mine] = found[0].T, found[1], found[2]

    def sizes(self):
        return np.abs(self.ends).max(1) + self.below + self.above

    def sums(self, step):
        w, x = step.w, step.local
        total = lambda values: np.bincount(step.row, values, step.n)
        ends = np.stack([total(w * self.ends[x, k]) + step.const for k in (0, 1)])
        below = total(np.abs(w) * np.where(w > 0, self.below[x], self.above[x]))
        above = total(np.abs(w) * np.where(w > 0, self.above[x], self.below[x]))
        sizes = self.sizes()[x]
        mass = total(np.abs(w) * sizes) + np.abs(step.const)
        slack = step.cerr + (0.0 if step.werr is None else total(step.werr * sizes))
        error = (2 * (step.terms + 8) * EPS * mass + slack) * (1 + 1e-6) + TINY
        error = np.where(mass <= HUGE, error, np.inf)
        return ends, below + error, above + error

    def extremes(self, step):
        """The largest of lines less the chord is largest at an end. The least is decided by one line or by two that cross."""
        there = step.members >= 0
        ends = np.where(there, step.sign * self.ends[step.members].transpose(2, 0, 1), -np.inf)
        sides = (self.below, self.above) if step.sign > 0 else (self.above, self.below)
        below, above = (np.where(there, side[step.members], 0.0) for side in sides)
        top = ends.max(2)
        most = np.max([(ends[k] - top[k][:, None] + above).max(1) for k in (0, 1)], 0)
        falls = np.where(there, top[:, :, None] - ends + below, np.inf)
        least = falls.max(0).min(1)
        for i in range(falls.shape[2]):
            for j in range(i):
                a, b = falls[:, :, i], falls[:, :, j]
                before, after = a[0] - b[0], a[1] - b[1]
                crosses = (before < 0) != (after < 0)
                share = np.clip(np.where(crosses, before / (before - after), 0.0), 0.0, 1.0)
                most_of = np.maximum(np.minimum(a, b).max(0), np.where(crosses, a[0] + share * (a[1] - a[0]), 0.0))
                least = np.where(np.isfinite(a + b).all(0), np.minimum(least, most_of), least)
        size = np.abs(np.where(there, ends, 0.0)).max((0, 2)) + below.max(1) + above.max(1)
        error = 32 * EPS * size + TINY
        below, above = np.maximum(least, 0.0) + error, np.maximum(most, 0.0) + error
        return (top, below, above) if step.sign > 0 else (-top, above, below)

    def upper(self, terms, constant):
        """An upper bound of a sum of variables."""
        weights, total, mass, count = spelled_out(self.cone, terms, constant, self.sizes())
        ends, above = np.full(2, total), 0.0
        for v, w in weights.items():
            ends = ends + w * self.ends[v]
            above += abs(w) * (self.above[v] if w > 0 else self.below[v])
        return rounded_up(float(ends.max()) + above, mass, count)


def bent(parts, ends, below, above):
    """A curve of variables that are off the line between their ends by at most `below` and `above`: the same of it. With x on
    the line and d how far off it, f(x + d) less the chord of f is linear wherever x + d is on one part of the curve, so that the
    corners of these polygons of (x, d) decide."""
    (a, b), (first, last) = ends, (curve(parts, x) for x in ends)
    least, most = np.zeros(len(a)), np.zeros(len(a))

    def corner(value, chord, where):
        nonlocal least, most
        away = np.where(where, value - chord, 0.0)
        least, most = np.minimum(least, away), np.maximum(most, away)
    for x, chord in ((a, first), (b, last)):
        corner(curve(parts, x - below), chord, True)
        corner(curve(parts, x + above), chord, True)
    for kink, _, _ in parts[1:]:
        there = float(curve(parts, np.array(kink)))
        for x, chord in ((a, first), (b, last)):
            corner(there, chord, (x - below < kink) & (kink < x + above))
        for x in (kink + below, kink - above):
            inside = (np.minimum(a, b) < x) & (x < np.maximum(a, b))
            share = np.clip(np.where(inside, (x - a) / (b - a), 0.0), 0.0, 1.0)
            corner(there, first + share * (last - first), inside)
    furthest = np.maximum(np.abs(a), np.abs(b)) + below + above
    size = np.max([abs(slope) * furthest + abs(cut) for _, slope, cut in parts], 0)
    error = np.where(flat(parts, np.minimum(a, b) - below, np.maximum(a, b) + above), 0.0, 32 * EPS * size + TINY)
    known = np.isfinite(furthest)
    return (np.where(known, np.stack([first, last]), 0.0), np.where(known, error - least, np.inf),
            np.where(known, error + most, np.inf))


# --- Proofs -----------------------------------------------------------------------------------------------------------


class Judge:
    """Judges the tree of one alternative: a box and linear conditions (weights by variable, constant, strict)."""

    def __init__(self, region, atoms):
        self.region, self.atoms = region, atoms
        targets = sorted({v for terms, _, _ in atoms for v in terms})
        self.cone = cone = Cone(region.model, targets)
        self.place = dict(zip(targets, cone.targets))
        self.pull, _, (self.lower, self.upper) = region.ready(cone)
        count = len(cone.unit_inputs)
        self.l, self.u = np.empty(count), np.empty(count)
        for s in cone.curves:
            self.l[s.units], self.u[s.units] = region.of_step(cone, s)
        self.kinks = np.full(count, np.nan)
        for s in cone.curves:
            if len(s.parts) == 2:
                self.kinks[s.units] = s.parts[1][0]
        self.confine()

    def confine(self):
        """Conditions on a unit alone confine it: only inputs that meet every condition matter."""
        for terms, constant, _ in self.atoms:
            if len(terms) != 1:
                continue
            (variable, weight), = terms.items()
            if weight == 0 or math.isnan(weight):
                continue
            end = -constant / weight
            down, up = (0.0, 0.0) if constant == 0 else (np.nextafter(end, -np.inf), np.nextafter(end, np.inf))
            low, high = (down, np.inf) if weight > 0 else (-np.inf, up)
            for k in np.flatnonzero(self.cone.unit_inputs == self.place[variable]):
                l, u = max(low, self.l[k]), min(high, self.u[k])
                if l <= u:
                    self.l[k], self.u[k] = l, u

    def judge(self, tree):
        """The largest value that the weighted conditions can have; raises if the tree shows nothing."""
        cuts = any(node[0] in (CUT, CHANGES) for node in tree)
        seconds = second_halves(tree)
        if any(node[0] == FORWARD for node in tree):
            return self.judge_forward(tree, seconds)
        if self.region.changes is not None and cuts:
            return self.judge_changes(tree, seconds)
        worst = -np.inf
        root = {"at": 0, "phases": [], "lower": self.lower[0], "upper": self.upper[0], "l": self.l, "u": self.u}
        pending, self.leaves = [root], 0
        batch = max(1, min(256, (1 << 22) // max(1, self.cone.n * (64 if cuts else 2))))
        while pending:
            parts = [pending.pop() for _ in range(min(batch, len(pending)))]
            alive = np.ones(len(parts), bool)
            if cuts:
                alive = self.settle(parts)
            leaves = []
            for part, lives in zip(parts, alive):
                node = tree[part["at"]]
                if node[0] == LEAF:
                    leaves.append((part, node, lives))
                    continue
                # Parts that no input is in need no proof, but their nodes are read on: a tree is well formed or not.
                pending.extend(self.halves(part, node, seconds[part["at"]]))
            if leaves:
                self.leaves += len(leaves)
                worst = max(worst, self.leaf(leaves))
        return worst

    def parts_of_changes(self, tree, seconds):
        """The leaves of a tree over a region with a limit on changes, each with its part and how inputs move there."""
        changes = self.region.changes
        if changes is None:
            raise Rejected("a tree counts changes where any number is allowed")
        root = {"at": 0, "phases": [], "lower": self.lower[0], "upper": self.upper[0], "l": self.l, "u": self.u,
                "limits": Limits.whole(changes)}
        pending = [root]
        while pending:
            part = pending.pop()
            node = tree[part["at"]]
            if node[0] in (LEAF, FORWARD):
                self.leaves += 1
                if part["limits"] is None:
                    continue
                room = Room(changes, part["limits"], self.cone.inputs, part["lower"], part["upper"])
                if not room.empty:
                    yield {**part, "lower": room.lower, "upper": room.upper, "room": room}, node
            elif node[0] == CHANGES:
                halves = part["limits"].split(node[1], node[2]) if part["limits"] is not None else (None, None)
                for at, limits in zip((part["at"] + 1, seconds[part["at"]]), halves):
                    pending.append({**part, "at": at, "limits": limits})
            else:
                pending.extend(self.halves(part, node, seconds[part["at"]]))

    def judge_changes(self, tree, seconds):
        """As judge, where few positions may change: leaves alone are bounded, each from the bounds over the region."""
        worst, self.leaves = -np.inf, 0
        for part, node in self.parts_of_changes(tree, seconds):
            lives = self.settle([part])[0]
            worst = max(worst, self.leaf([(part, node, lives)]))
        return worst

    def judge_forward(self, tree, seconds):
        """As judge, of leaves that are bounded by what goes forward from the inputs that move."""
        worst, self.leaves = -np.inf, 0
        if any(node[0] in (LEAF, PHASE) for node in tree):
            raise Rejected("a tree has leaves of two kinds, or splits a unit above lines that go forward")
        for part, (_, factors) in self.parts_of_changes(tree, seconds):
            terms, constant = {}, 0.0
            for number, factor in factors:
                if number >= len(self.atoms):
                    raise Rejected("a leaf names no condition")
                if not (factor > 0 and math.isfinite(factor)):
                    raise Rejected("a factor is not positive")
                mine, c, _ = self.atoms[number]
                constant += factor * c
                for variable, weight in mine.items():
                    place = int(self.place[variable])
                    terms[place] = terms.get(place, 0.0) + factor * weight
            method = Interpolation if len(part["room"].moving) == 1 else Forward
            worst = max(worst, method(self, part["room"]).upper(terms, constant))
        return worst

    def number(self, unit):
        if unit not in self.cone.units:
            raise Rejected("it names a unit that does not matter here")
        return self.cone.units[unit]

    def halves(self, part, node, second):
        if node[0] == PHASE:
            k = self.number(node[1])
            if np.isnan(self.kinks[k]):
                raise Rejected("a split names a unit with several kinks")
            for at, above in ((part["at"] + 1, False), (second, True)):
                yield {**part, "at": at, "phases": part["phases"] + [(k, above)]}
        elif node[0] == CUT:
            _, element, where = node
            place = np.flatnonzero(self.cone.inputs == element)
            if len(place) != 1:
                raise Rejected("a split names an input that does not matter here")
            if not math.isfinite(where):
                raise Rejected("a split is at no number")
            below, above = part["upper"].copy(), part["lower"].copy()
            below[place] = np.minimum(below[place], where)
            above[place] = np.maximum(above[place], where)
            yield {**part, "at": part["at"] + 1, "upper": below}
            yield {**part, "at": second, "lower": above}
        else:
            raise Rejected("a corner inside a tree")

    def halved(self, part):
        l, u = part["l"].copy(), part["u"].copy()
        for k, above in part["phases"]:
            if above:
                l[k] = max(l[k], self.kinks[k])
            else:
                u[k] = min(u[k], self.kinks[k])
        return l, u

    def settle(self, parts):
        """Bounds of units over boxes of their own, each from those of the box it was cut from."""
        bounds = [self.halved(p) for p in parts]
        l, u = np.array([b[0] for b in bounds]), np.array([b[1] for b in bounds])
        lower, upper = np.array([p["lower"] for p in parts]), np.array([p["upper"] for p in parts])
        # Written so that what is no number is never called empty.
        alive = ~(lower > upper).any(1)
        bent = []
        rooms = [p["room"] for p in parts] if "room" in parts[0] else None
        ends = self.intervals(lower[0], upper[0]) if rooms else None
        for upto, step in enumerate(self.cone.steps):
            if not isinstance(step, CurveStep):
                if rooms:
                    ends[0][step.mine], ends[1][step.mine] = step.interval(*ends, self.pull.size)
                continue
            mine = slice(step.units.start, step.units.stop)
            if rooms:
                l[0, mine] = np.maximum(l[0, mine], ends[0][step.inputs])
                u[0, mine] = np.minimum(u[0, mine], ends[1][step.inputs])
            sl, su = l[:, mine], u[:, mine]
            with np.errstate(invalid="ignore"):
                open_units = np.flatnonzero((kinks_inside(step.parts, sl, su) > 0).any(0))
            rows = max(1, (1 << 22) // max(1, 2 * step.mine.start * len(parts)))
            for k in range(0, len(open_units), rows):
                chunk = open_units[k:k + rows]
                n = len(chunk)
                a = np.zeros((len(parts), 2 * n, step.mine.start))
                a[:, np.arange(n), step.inputs[chunk]] = 1.0
                a[:, n + np.arange(n), step.inputs[chunk]] = -1.0
                zeros = np.zeros((len(parts), 2 * n))
                bound = self.pull.run(a, zeros, upto, bent, lower, upper, rooms=rooms)
                at = mine.start + chunk
                l[:, at] = np.maximum(l[:, at], bound[:, :n])
                u[:, at] = np.minimum(u[:, at], -bound[:, n:])
            alive &= ~(l[:, mine] > u[:, mine]).any(1)
            bent.append(lines(step.parts, np.minimum(l[:, mine], u[:, mine]), u[:, mine]))
            if rooms:
                low, high = ranges(step.parts, np.minimum(l[0, mine], u[0, mine]), u[0, mine])
                ends[0][step.mine], ends[1][step.mine] = low, high
        for k, part in enumerate(parts):
            part["l"], part["u"] = l[k], u[k]
        return alive

    def intervals(self, lower, upper):
        """Ends of the cone's variables: those of its inputs, the others still to come."""
        low, high = np.zeros(self.cone.n), np.zeros(self.cone.n)
        low[:len(lower)], high[:len(upper)] = lower, upper
        return low, high

    def leaf(self, leaves):
        """The largest value of the weighted conditions over some leaves."""
        count, units = len(leaves), len(self.l)
        shares = np.full((count, units), np.nan)
        pull, push, magnitude = np.zeros((count, units)), np.zeros(count), np.zeros(count)
        constant = np.zeros((count, 1))
        a = np.zeros((count, 1, self.cone.n))
        slack = np.zeros(count)
        l, u = np.empty((count, units)), np.empty((count, units))
        alive = np.array([lives for _, _, lives in leaves])
        for k, (part, (_, factors, slopes, multipliers), _) in enumerate(leaves):
            l[k], u[k] = self.halved(part)
            touched = {unit for unit, _ in part["phases"]}
            for name, share in slopes:
                number = self.number(name)
                touched.add(number)
                shares[k, number] = share / 255.0
            for number in touched:
                alive[k] &= not l[k, number] > u[k, number]
            if len(multipliers) > len(part["phases"]):
                raise Rejected("a leaf has more multipliers than splits")
            for (unit_number, above), m in zip(part["phases"], multipliers):
                if not (m >= 0 and math.isfinite(m)):
                    raise Rejected("a multiplier is negative or no number")
                signed = m if above else -m
                pull[k, unit_number] += signed
                push[k] += signed * self.kinks[unit_number]
                magnitude[k] += (len(part["phases"]) + 4) * abs(m) * (abs(self.kinks[unit_number])
                                              + self.pull.size[self.cone.unit_inputs[unit_number]])
            for number, factor in factors:
                if number >= len(self.atoms):
                    raise Rejected("a leaf names no condition")
                if not (factor > 0 and math.isfinite(factor)):
                    raise Rejected("a factor is not positive")
                terms, c, _ = self.atoms[number]
                constant[k] -= factor * c
                slack[k] += 4 * (len(factors) + 1) * EPS * abs(factor * c)
                for variable, weight in terms.items():
                    place = self.place[variable]
                    a[k, 0, place] -= factor * weight
                    slack[k] += 4 * (len(factors) + 1) * EPS * abs(factor * weight) * self.pull.size[place]
        bent = [lines(s.parts, np.minimum(l[:, s.units], u[:, s.units]), u[:, s.units], shares[:, s.units])
                for s in self.cone.curves]
        lower = np.array([part["lower"] for part, _, _ in leaves])
        upper = np.array([part["upper"] for part, _, _ in leaves])
        conditions = (pull, push, magnitude) if pull.any() else None
        rooms = [part["room"] for part, _, _ in leaves] if "room" in leaves[0][0] else self.region.rooms(self.cone)
        if rooms is not None and len(rooms) < count:
            rooms = rooms * count
        bound = self.pull.run(a, constant, len(self.cone.steps), bent, lower, upper, conditions, rooms)[:, 0] - slack
        bound = np.where(np.isnan(bound), -np.inf, bound)
        return float(np.max(np.where(alive, -bound, -np.inf)))


def second_halves(tree):
    """For each split where its second half begins; the tree is whole or it is rejected."""
    seconds, open_splits, done = [0] * len(tree), [], False
    for at, node in enumerate(tree):
        if done:
            raise Rejected("nodes follow the end of a tree")
        if node[0] in (PHASE, CUT, CHANGES):
            open_splits.append([at, 0])
            if len(open_splits) > 1 << 12:
                raise Rejected("a tree is too deep")
            continue
        while open_splits and open_splits[-1][1]:
            open_splits.pop()
        if open_splits:
            open_splits[-1][1] = 1
            seconds[open_splits[-1][0]] = at + 1
        else:
            done = True
    if not done:
        raise Rejected("a tree has no end")
    return seconds


# --- Slopes -----------------------------------------------------------------------------------------------------------

BY_SIZE, SLOPE_SPLIT, BY_FORM, BY_SIZE_WITH_FACTORS, BY_FORM_WITH_FACTORS = range(5)
WITH_FACTORS = {BY_SIZE_WITH_FACTORS: BY_SIZE, BY_FORM_WITH_FACTORS: BY_FORM}


def read_eliminated(r, with_factors):
    """How many groups of variables a leaf eliminates. Factors are looked at no further than whether they can be any."""
    groups = r.index()
    factors = [(r.index(), r.single()) for _ in range(r.length(5))] if with_factors else []
    numbers = [group for group, _ in factors]
    if numbers != sorted(set(numbers)) or any(group >= groups for group in numbers):
        raise Rejected("factors of groups that are not eliminated, or not in order")
    if not all(factor > 0 and math.isfinite(factor) for _, factor in factors):
        raise Rejected("a factor is not above 0 or no number")
    return groups


def read_slopes(data):
    """A certificate of how steep outputs are, as plain data."""
    if len(data) < 40 or hashlib.sha256(data[:-32]).digest() != data[-32:]:
        raise Rejected("the seal is broken")
    r = Bytes(data[:-32])
    r.raw(8)
    model = bytes(r.raw(32)).hex()
    names = [r.text() for _ in range(r.length(1))]
    n = r.length(16)
    lower, upper = (np.frombuffer(r.raw(8 * n), "<f8").astype(float) for _ in range(2))
    widths = np.frombuffer(r.raw(8 * r.length(8)), "<f8").astype(float)
    outputs = [r.index() for _ in range(r.length(1))]
    norm, bound = r.text(), r.double()
    trees = []
    for _ in range(r.length(1)):
        nodes = []
        for _ in range(r.length(1)):
            kind = r.byte()
            with_factors, kind = kind in WITH_FACTORS, WITH_FACTORS.get(kind, kind)
            if kind == BY_SIZE:
                nodes.append((kind, read_eliminated(r, with_factors)))
            elif kind == SLOPE_SPLIT:
                nodes.append((kind, read_unit(r, names)))
            elif kind == BY_FORM:
                groups = read_eliminated(r, with_factors)
                nodes.append((kind, groups, [(read_unit(r, names), r.single()) for _ in range(r.length(7))]))
            else:
                raise Rejected("an unknown kind of node")
        trees.append(nodes)
    if r.at != len(r.data):
        raise Rejected("something follows the certificate's end")
    return {"model": model, "box": (lower, upper), "widths": widths, "outputs": outputs, "norm": norm, "bound": bound,
            "trees": trees}


def check_slopes(model, data):
    """Accepts a certificate of how steep outputs are, or raises. Returns it with the number of its leaves."""
    claim = read_slopes(data)
    if claim["model"] != model.digest:
        raise Rejected("it is about another model")
    (lower, upper), widths, outputs = claim["box"], claim["widths"], claim["outputs"]
    if len(lower) != model.inputs or not (lower <= upper).all() or not np.isfinite(lower).all() \
            or not np.isfinite(upper).all():
        raise Rejected("its box is none of the model")
    if len(widths) != model.inputs or not ((widths >= 0) & np.isfinite(widths)).all():
        raise Rejected("widths that are none")
    logits = model.logits.ids.ravel()
    if not outputs or sorted(set(outputs)) != outputs or outputs[-1] >= len(logits):
        raise Rejected("outputs that the model does not have, or not in order")
    if claim["norm"] not in ("l2", "linf", "l1"):
        raise NotCovered(f"slopes in {claim['norm']}")
    if not (claim["bound"] >= 0 and math.isfinite(claim["bound"])):
        raise Rejected("a bound that is none")
    targets = [int(logits[o]) for o in outputs]
    cases = [[t] for t in targets] if claim["norm"] == "linf" else [targets]
    if len(claim["trees"]) != len(cases):
        raise Rejected("not one proof for each case")
    region = Region(model, lower, upper)
    region.prepare(targets)
    leaves = 0
    for case, tree in zip(cases, claim["trees"]):
        judge = SlopeJudge(region, case, claim["norm"], widths)
        leaves += judge.judge(tree, claim["bound"])
    return claim, leaves


class SlopeJudge:
    """Whether derivatives of some outputs over a box stay within a bound."""

    def __init__(self, region, targets, norm, widths):
        self.cone = cone = Cone(region.model, targets)
        self.norm, self.widths = norm, widths[cone.inputs]
        count = len(cone.unit_inputs)
        self.l, self.u = np.empty(count), np.empty(count)
        for s in cone.curves:
            self.l[s.units], self.u[s.units] = region.of_step(cone, s)
        # Roundings of a coefficient on its way from the outputs to the inputs: a sum over all that read a variable, step
        # by step.
        readers = lambda step: int(np.bincount(step.local, minlength=1).max(initial=0))
        self.depth = sum(readers(step) + 4 if isinstance(step, SumStep) else 4 for step in cone.steps) + 8

    def judge(self, tree, bound):
        nodes, pending, leaves = iter(tree), [[]], 0
        while pending:
            phases = pending.pop()
            node = next(nodes, None)
            if node is None:
                raise Rejected("a tree ends too early")
            if node[0] == SLOPE_SPLIT:
                if node[1] not in self.cone.units:
                    raise Rejected("a split names a unit that does not matter here")
                if len(phases) >= 1 << 12:
                    raise Rejected("a tree is too deep")
                number = self.cone.units[node[1]]
                pending += [phases + [(number, True)], phases + [(number, False)]]
                continue
            leaves += 1
            if node[1]:
                raise NotCovered("a bound of slopes for which early layers were eliminated")
            if not self.leaf(node, phases, bound):
                raise Rejected(f"the bound {bound} of slopes does not follow")
        if next(nodes, None) is not None:
            raise Rejected("nodes follow the end of a tree")
        return leaves

    def leaf(self, node, phases, bound):
        l, u = self.l.copy(), self.u.copy()
        for number, above in phases:
            step = self.cone.parts_of(number)
            if len(step.parts) != 2:
                raise Rejected("a split names a unit with several kinks")
            kink = step.parts[1][0]
            if above:
                l[number] = max(l[number], kink)
            else:
                u[number] = min(u[number], kink)
        if (l > u).any():
            return True
        slopes = [slope_ranges(s.parts, l[s.units], u[s.units]) for s in self.cone.curves]
        sizes, columns = self.magnitudes(slopes)
        # What overflows bounds nothing.
        if not np.isfinite(sizes).all():
            return False
        weights, factor = self.weights(sizes)
        if not (np.isfinite(weights).all() and math.isfinite(factor)):
            return False
        if node[0] == BY_SIZE:
            total = (weights * sizes[:len(weights)] ** 2).sum() * factor * (1 + 4 * (len(weights) + 16) * EPS)
            return min(math.sqrt(total) * (1 + 4 * EPS), columns) <= bound
        return self.by_form(node[2], slopes, weights, bound * bound / factor * (1 - 16 * EPS))

    def magnitudes(self, slopes):
        """The largest magnitude of every derivative of a unit combination of the outputs, and a bound in l1."""
        cone, each = self.cone, []
        for target in cone.targets:
            low, high, mass = np.zeros(cone.n), np.zeros(cone.n), np.zeros(cone.n)
            low[target] = high[target] = mass[target] = 1.0
            number = len(cone.curves)
            for step in reversed(cone.steps):
                a, b, m = low[step.mine], high[step.mine], mass[step.mine]
                if isinstance(step, SumStep):
                    if not m.any():
                        continue
                    up = step.w > 0
                    np.add.at(low, step.local, step.w * np.where(up, a[step.row], b[step.row]))
                    np.add.at(high, step.local, step.w * np.where(up, b[step.row], a[step.row]))
                    error = np.abs(step.w) if step.werr is None else np.abs(step.w) + step.werr / EPS
                    np.add.at(mass, step.local, error * m[step.row])
                else:
                    number -= 1
                    s, t = slopes[number]
                    ends = np.stack([a * s, a * t, b * s, b * t])
                    np.add.at(low, step.inputs, ends.min(0))
                    np.add.at(high, step.inputs, ends.max(0))
                    np.add.at(mass, step.inputs, np.maximum(np.abs(s), np.abs(t)) * m)
            size = np.maximum(np.abs(low), np.abs(high)) + 2 * self.depth * EPS * mass
            each.append(np.where(mass == 0, 0.0, size))
        each = np.array(each)
        whole = each[0] if len(each) == 1 else np.sqrt((each ** 2).sum(0)) * (1 + 2 * (len(each) + 8) * EPS)
        columns = math.inf
        if self.norm == "l1":
            n = len(cone.inputs)
            columns = float((each[:, :n].sum(0) * self.widths).max()) * (1 + 2 * (len(each) + 8) * EPS)
        return whole, columns

    def weights(self, sizes):
        """The weight of every input's squared derivative, and what the sum is multiplied with."""
        if self.norm != "linf":
            factor = float(len(self.cone.targets)) if self.norm == "l1" else 1.0
            return np.where(self.widths > 0, self.widths ** 2 * (1 + 4 * EPS) + 1e-290, 0.0), factor
        mine = sizes[:len(self.widths)]
        counts = (self.widths > 0) & (mine > 0)
        weights = np.where(counts, self.widths / np.where(counts, mine, 1.0), 0.0)
        if not counts.any():
            return weights, 1.0
        # Widths may be so small that their squares are none; where a weight is none the factor is infinite.
        with np.errstate(all="ignore"):
            shares = self.widths[counts] * (self.widths[counts] / weights[counts]) + 1e-290
        return weights, float(shares.sum()) * (1 + 4 * (len(shares) + 8) * EPS)

    def by_form(self, multipliers, slopes, weights, square):
        """Whether square * shares^2 - weighted squares - multiples of what is known has no negative value."""
        known = dict(multipliers)
        if len(known) != len(multipliers):
            raise Rejected("a unit has two multipliers")
        if not all(m >= 0 and math.isfinite(m) for m in known.values()):
            raise Rejected("a multiplier is negative or no number")
        cone, outputs = self.cone, len(self.cone.targets)
        names = {number: name for name, number in cone.units.items()}
        size = outputs + sum(int((s < t).sum()) for s, t in slopes)
        if size * cone.n > 1 << 26:
            raise NotCovered("a form with too many unknowns")
        a, mass = np.zeros((size, cone.n)), np.zeros((size, cone.n))
        for k, target in enumerate(cone.targets):
            a[k, target] = mass[k, target] = 1.0
        place, number, facts = outputs, len(cone.curves), []
        for step in reversed(cone.steps):
            if isinstance(step, SumStep):
                for row in range(size):
                    mine, m = a[row, step.mine], mass[row, step.mine]
                    if m.any():
                        a[row] += np.bincount(step.local, step.w * mine[step.row], cone.n)
                        error = np.abs(step.w) if step.werr is None else np.abs(step.w) + step.werr / EPS
                        mass[row] += np.bincount(step.local, error * m[step.row], cone.n)
                continue
            number -= 1
            for k, (s, t) in enumerate(zip(*slopes[number])):
                out, into = step.mine.start + k, step.inputs[k]
                form, m = a[:, out].copy(), mass[:, out].copy()
                if not m.any():
                    continue
                if s < t:
                    unit = np.zeros(size)
                    unit[place] = 1.0
                    facts.append((unit - s * form, t * form - unit, unit + abs(s) * m, unit + abs(t) * m,
                                  known.get(names[step.first_unit + k], 0.0)))
                    a[place, into] += 1.0
                    mass[place, into] += 1.0
                    place += 1
                else:
                    a[:, into] += s * form
                    mass[:, into] += abs(s) * m
        n = len(cone.inputs)
        a, mass = a[:place, :n], mass[:place, :n]
        # A coefficient errs by less than this part of its mass; products and their sums round besides.
        slack, rounding = self.depth * EPS, (n + 2 * len(facts) + 32) * EPS
        size = np.abs(a) + slack * mass
        matrix = -(a * weights) @ a.T
        doubt = (mass * weights) @ size.T
        error = slack * (doubt + doubt.T) + rounding * ((size * weights) @ size.T)
        for above, below, big, bigger, multiplier in facts:
            product = np.outer(above[:place], below[:place])
            matrix -= 0.5 * multiplier * (product + product.T)
            left, right = np.abs(above[:place]) + slack * big[:place], np.abs(below[:place]) + slack * bigger[:place]
            product = slack * (np.outer(big[:place], right) + np.outer(left, bigger[:place])) + rounding * np.outer(left, right)
            error += 0.5 * multiplier * (product + product.T)
        matrix[np.arange(outputs), np.arange(outputs)] += square
        error[np.arange(outputs), np.arange(outputs)] += rounding * square
        return definite(matrix, error * (1 + 1e-6))


def slope_ranges(parts, l, u):
    """The least and the largest slope of the parts that a curve has over l..u, a part met at its end alone not counted."""
    low, high = np.full(np.shape(l), np.inf), np.full(np.shape(l), -np.inf)
    for k, (start, slope, cut) in enumerate(parts):
        # Parts that do not meet exactly bend a rounding error beside the kink.
        blur = lambda j: 0.0 if j >= len(parts) or exactly_meets(parts[j - 1], parts[j]) \
            else 1e-9 * (1 + abs(parts[j][0]))
        begin = -np.inf if k == 0 else start - blur(k)
        end = np.inf if k + 1 == len(parts) else parts[k + 1][0] + blur(k + 1)
        beside = (begin >= u) | (end <= l)
        counts = ~beside | ((l >= u) & (begin <= l) & (l <= end))
        low, high = np.where(counts, np.minimum(low, slope), low), np.where(counts, np.maximum(high, slope), high)
    return low, high


def exactly_meets(left, right):
    at = Fraction(right[0])
    return Fraction(left[1]) * at + Fraction(left[2]) == Fraction(right[1]) * at + Fraction(right[2])


def definite(matrix, error):
    """Whether a symmetric matrix, whose entries may be wrong by so much, has no negative eigenvalue: a Cholesky
    factorisation runs through with more taken off the diagonal than it and the errors can amount to."""
    diagonal = np.diag(matrix)
    if not (diagonal > 0).all() or not np.isfinite(matrix).all() or not np.isfinite(error).all():
        return False
    scale = 2.0 ** np.round(-0.5 * np.log2(diagonal))
    matrix, error = matrix * np.outer(scale, scale), error * np.outer(scale, scale)
    n = len(matrix)
    shift = error.sum(1).max() * (1 + 1e-6) + 8 * (n + 8) * EPS * np.trace(matrix) + TINY
    try:
        np.linalg.cholesky(matrix - shift * np.eye(n))
    except np.linalg.LinAlgError:
        return False
    return True


# --- Requirements -----------------------------------------------------------------------------------------------------
#
# A formula is ("and", parts), ("or", parts), ("not", part), ("atom", terms, constant, relation), ("box", lower, upper),
# ("count", parts, relation, number), ("iff", a, b) or ("xor", a, b). Terms map (layer, side, neuron) to a weight; an atom says
# terms + constant relation 0.

TOKEN = re.compile(r"[ \t\r\n]*(?:(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)|(\w+)|\"((?:\\.|[^\"\\])*)\"|"
                   r"(=>|<=|>=|==|!=|[-+*/<>=(){}\[\]|,:;]))")
NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "!=", "!=": "="}


def model_output(model):
    """The number of the layer that is the output: K, or K+1 after a final Softmax, LogSoftmax or Sigmoid."""
    return len(model.layers) + 2 + (model.head is not None)


class Language:
    """Reads one statement about one input, as certificates hold it."""

    def __init__(self, text, model):
        self.tokens, self.at, self.model = [], 0, model
        position, text = 0, text.strip()
        while position < len(text):
            match = TOKEN.match(text, position)
            if not match:
                raise Rejected(f"a requirement cannot be read: {text[position:position + 20]!r}")
            number, word, quoted, sign = match.groups()
            kind = "n" if number else "w" if word else "q" if quoted is not None else "s"
            self.tokens.append((kind, number or word or quoted or sign))
            position = match.end()
        if self.take("w", "require"):
            self.at += 1
            self.need(":")
        self.quantifier = self.tokens[self.at][1]
        if self.quantifier not in ("exists", "forall"):
            raise Rejected("a requirement begins with exists or forall")
        self.at += 1
        self.input = self.tokens[self.at][1]
        self.at += 1
        if self.peek(",") or self.peek(";"):
            raise Rejected("an entry is about one input")
        self.need(":")
        self.formula = self.implied()
        self.take("s", ";")
        if self.at != len(self.tokens):
            raise Rejected("a requirement goes on after its end")

    def peek(self, text):
        return self.at < len(self.tokens) and self.tokens[self.at][0] in "sw" and self.tokens[self.at][1] == text

    def take(self, kind, text):
        if self.peek(text):
            self.at += 1
            return True
        return False

    def need(self, text):
        if not self.take("s", text):
            raise Rejected(f"a requirement lacks {text!r}")

    def implied(self):
        left = self.disjunction()
        if self.take("s", "=>"):
            return ("or", [("not", left), self.disjunction()])
        for word in ("iff", "xor"):
            if self.take("w", word):
                return (word, left, self.disjunction())
        return left

    def chain(self, word, part):
        parts = [part()]
        while self.take("w", word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else (word, parts)

    def disjunction(self):
        return self.chain("or", lambda: self.chain("and", self.negation))

    def negation(self):
        if self.take("w", "not"):
            return ("not", self.negation())
        return self.comparison()

    def relation(self):
        for sign in ("<=", ">=", "==", "!=", "<", ">", "="):
            if self.take("s", sign):
                return "=" if sign == "==" else sign
        return None

    def comparison(self):
        start = self.at
        try:
            left, parts = self.total(), []
            relation = self.relation()
            if relation is None:
                raise Rejected("a comparison has no sign")
            while relation is not None:
                right = self.total()
                parts.append(compare(left, relation, right))
                left, relation = right, self.relation()
            return parts[0] if len(parts) == 1 else ("and", parts)
        except Rejected:
            self.at = start
        left = self.condition()
        sign = self.relation()
        if sign is None:
            return left
        if sign not in ("=", "!="):
            raise Rejected("conditions are compared with = and !=")
        return ("iff" if sign == "=" else "xor", left, self.condition())

    def condition(self):
        for word, formula in (("true", ("and", [])), ("false", ("or", []))):
            if self.take("w", word):
                return formula
        if self.take("s", "("):
            inner = self.implied()
            self.need(")")
            return inner
        if self.take("w", "ap"):
            return ("atom", {self.neuron("u"): 1.0}, 0.0, ">=")
        for word, kind in (("all", "and"), ("any", "or")):
            if self.take("w", word):
                return (kind, self.members())
        if self.take("s", "|"):
            members = self.members()
            self.need("|")
            relation = self.relation()
            return ("count", members, relation, int(self.tokens[self.next()][1]))
        if self.take("w", self.input):
            if not (self.take("w", "in") and self.take("w", "box")):
                raise Rejected("a requirement cannot be read")
            self.need("(")
            lower = self.ends()
            self.need(",")
            upper = self.ends()
            self.need(")")
            return ("box", lower, upper)
        raise Rejected("a requirement cannot be read")

    def next(self):
        self.at += 1
        if self.at > len(self.tokens):
            raise Rejected("a requirement ends too early")
        return self.at - 1

    def members(self):
        self.need("{")
        found = []
        while not self.take("s", "}"):
            found.append(self.implied())
            self.take("s", ",")
        return found

    def signed(self):
        sign = -1.0 if self.take("s", "-") else 1.0
        kind, text = self.tokens[self.next()]
        if kind != "n":
            raise Rejected("a number is missing")
        return sign * float(text)

    def ends(self):
        if not self.take("s", "["):
            return np.full(self.model.inputs, self.signed())
        found = []
        while not self.take("s", "]"):
            found.append(self.signed())
            self.take("s", ",")
        if len(found) != self.model.inputs:
            raise Rejected("a box has another number of elements than the input")
        return np.array(found)

    def neuron(self, side):
        self.need("[")
        if self.tokens[self.next()][1] != self.input:
            raise Rejected("an unknown input")
        self.need("]")
        self.need("[")
        kind, text = self.tokens[self.next()]
        depth = len(self.model.layers) + 2
        if kind == "n":
            layer = int(text)
        elif kind == "q":
            raise NotCovered("layers by name")
        elif text == "input":
            layer = 1
        elif text == "output":
            layer = model_output(self.model)
        elif text in ("logits", "K"):
            layer = depth
        else:
            raise Rejected("an unknown layer")
        self.need(",")
        neuron = int(self.tokens[self.next()][1])
        self.need("]")
        return (layer, side, neuron)

    # Arithmetic: ({neuron: weight}, constant).

    def total(self):
        terms, constant = self.product()
        terms = dict(terms)
        while self.peek("+") or self.peek("-"):
            sign = 1.0 if self.tokens[self.next()][1] == "+" else -1.0
            more, c = self.product()
            for key, w in more.items():
                terms[key] = terms.get(key, 0.0) + sign * w
            constant += sign * c
        return terms, constant

    def product(self):
        terms, constant = self.unary()
        while self.peek("*") or self.peek("/"):
            times = self.tokens[self.next()][1] == "*"
            more, c = self.unary()
            if more and (terms or not times):
                raise Rejected("arithmetic is not linear")
            if more:
                terms, constant, c = more, c, constant
            if times:
                terms, constant = {k: w * c for k, w in terms.items()}, constant * c
            else:
                terms, constant = {k: w / c for k, w in terms.items()}, constant / c
        return terms, constant

    def unary(self):
        if self.take("s", "-"):
            terms, constant = self.unary()
            return {k: -w for k, w in terms.items()}, -constant
        if self.take("s", "("):
            inner = self.total()
            self.need(")")
            return inner
        for side in "uv":
            if self.peek(side) and self.at + 1 < len(self.tokens) and self.tokens[self.at + 1][1] == "[":
                self.at += 1
                return {self.neuron(side): 1.0}, 0.0
        if self.at < len(self.tokens) and self.tokens[self.at][0] == "n":
            return {}, float(self.tokens[self.next()][1])
        raise Rejected("a requirement cannot be read")


def compare(left, relation, right):
    terms = dict(left[0])
    for key, w in right[0].items():
        terms[key] = terms.get(key, 0.0) - w
    return ("atom", {k: w for k, w in terms.items() if w != 0}, left[1] - right[1], relation)


def normal(formula, wanted=True):
    """Negations pushed down to the atoms."""
    kind = formula[0]
    if kind == "not":
        return normal(formula[1], not wanted)
    if kind in ("and", "or"):
        parts = [normal(p, wanted) for p in formula[1]]
        return (kind if wanted else {"and": "or", "or": "and"}[kind], parts)
    if kind in ("iff", "xor"):
        same = (kind == "iff") == wanted
        case = lambda truth: ("and", [normal(formula[1], truth), normal(formula[2], truth == same)])
        return ("or", [case(True), case(False)])
    if kind == "atom":
        _, terms, constant, relation = formula
        relation = relation if wanted else NEGATED[relation]
        if relation == "!=":
            return ("or", [("atom", terms, constant, "<"), ("atom", terms, constant, ">")])
        return ("atom", terms, constant, relation)
    if kind == "count":
        _, parts, relation, number = formula
        return counted(parts, relation if wanted else NEGATED[relation], number)
    return formula if wanted else ("anything",)


def counted(parts, relation, number):
    if relation == ">":
        return counted(parts, ">=", number + 1)
    if relation == "<":
        return counted(parts, "<=", number - 1) if number > 0 else ("or", [])
    if relation == "=":
        return ("and", [counted(parts, ">=", number), counted(parts, "<=", number)])
    if relation == "!=":
        return ("or", [counted(parts, "<", number), counted(parts, ">", number)])
    truth = relation == ">="
    least = number if truth else max(0, len(parts) - number)
    if least == 0 or least > len(parts):
        return ("and", []) if least == 0 else ("or", [])
    limit = limit_on_changes(parts, number) if not truth else None
    if limit is not None:
        return limit
    parts = [normal(p, truth) for p in parts]
    if least == len(parts):
        return ("and", parts)
    if least == 1:
        return ("or", parts)
    return ("anything",)  # Left out, which makes the formula easier to meet.


def limit_on_changes(parts, number):
    """"At most so many of these positions differ", each member an input element against a number, or an `or` of some."""
    groups = []
    for part in parts:
        group = []
        for member in part[1] if part[0] == "or" else [part]:
            if member[0] != "atom" or member[3] != "!=" or len(member[1]) != 1:
                return None
            ((layer, _, neuron), weight), = member[1].items()
            if layer != 1 or abs(weight) != 1.0:
                return None
            group.append((neuron, -member[2] * weight))
        groups.append(group)
    return ("changes", groups, number)


def limits_of(formula):
    """The limits on changes that a normal formula asks for besides all else."""
    if formula[0] == "and":
        return [limit for part in formula[1] for limit in limits_of(part)]
    return [formula] if formula[0] == "changes" else []


def limited(formula, lower, upper, changes):
    """The limit on changes of a region and a normal formula together, as far as one can say both; False if no input is
    left."""
    for _, groups, number in limits_of(formula):
        named = [neuron for group in groups for neuron, _ in group]
        if sorted(named) != list(range(len(lower))):
            continue
        centre, positions = np.empty(len(lower)), np.empty(len(lower), np.int64)
        for position, group in enumerate(groups):
            for neuron, value in group:
                centre[neuron], positions[neuron] = value, position
        if not ((lower <= centre).all() and (centre <= upper).all()):
            continue
        other = Changes(centre, positions, number)
        if changes is None:
            changes = other
        elif np.array_equal(changes.partition(), other.partition()):
            differ = len(np.unique(changes.partition()[changes.centre != centre]))
            if differ > changes.allowed + number:
                return False
            if differ == 0:
                changes = Changes(changes.centre, changes.positions, min(changes.allowed, number))
    return changes


def expanded(formula, cases, most):
    """The cases (lower, upper, conditions) in which a normal formula holds besides; conditions are (terms, constant,
    strict): terms + constant >= 0, or > 0. What cannot be told is left out: more inputs then meet the case."""
    kind = formula[0]
    if kind == "and":
        for part in formula[1]:
            cases = expanded(part, cases, most)
        return cases
    if kind == "or":
        found = []
        for part in formula[1]:
            found += expanded(part, cases, most)
            if len(found) > most:
                raise NotCovered("too many alternatives")
        return found
    if kind == "box":
        return [(np.maximum(l, formula[1]), np.minimum(u, formula[2]), atoms) for l, u, atoms in cases]
    if kind == "atom":
        _, terms, constant, relation = formula
        more = []
        if relation in (">=", ">", "="):
            more.append((terms, constant, relation == ">"))
        if relation in ("<=", "<", "="):
            more.append(({k: -w for k, w in terms.items()}, -constant, relation == "<"))
        return [(l, u, atoms + more) for l, u, atoms in cases]
    return cases


def alternatives(formula, lower, upper):
    """Boxes with conditions that all inputs of a box lie in if they meet a normal formula; none that are empty."""
    cases = [c for c in expanded(formula, [(lower, upper, [])], MOST_CASES) if (c[0] <= c[1]).all()]
    for l, u, _ in cases:
        if not (np.isfinite(l).all() and np.isfinite(u).all()):
            raise NotCovered("an alternative is unbounded")
    return cases


def resolved(model, atoms):
    """Conditions on variables."""
    depth = len(model.layers) + 2
    found = []
    for terms, constant, strict in atoms:
        here = {}
        for (layer, side, neuron), weight in terms.items():
            if layer == 1:
                ids = model.input_ids
            elif layer == depth:
                ids = model.logits.ids
            elif layer == depth + 1 and model.head is not None:
                ids = model.answer.ids
            elif isinstance(layer, int) and 2 <= layer < depth:
                ids = model.layers[layer - 2][2 if side == "u" else 3].ids
            else:
                raise Rejected(f"there is no layer {layer}")
            flat_ids = ids.ravel()
            if neuron >= len(flat_ids):
                raise Rejected(f"layer {layer} has no neuron {neuron}")
            variable = int(flat_ids[neuron])
            here[variable] = here.get(variable, 0.0) + weight
        if not (math.isfinite(constant) and all(math.isfinite(w) for w in here.values())):
            raise Rejected("a condition has a number that is none")
        found.append((here, constant, strict))
    return found


def check_entry(model, region_cache, box, text, trees):
    """Accepts one entry over one box: its alternatives, or raises. Returns (alternatives, leaves, is about executions)."""
    lower, upper, changes = box
    statement = Language(text, model)
    formula = normal(statement.formula, statement.quantifier == "exists")
    limit = limited(formula, lower, upper, changes)
    cases = alternatives(formula, lower, upper) if limit is not False else []
    if len(trees) != len(cases):
        raise Rejected(f"{len(trees)} proofs for {len(cases)} alternatives")
    leaves, executions = 0, False
    for (l, u, atoms), tree in zip(cases, trees):
        if len(tree) == 1 and tree[0][0] == CORNER:
            executions = True
            continue
        here = limit
        # A box that leaves the centre out limits nothing; more inputs are then looked at.
        if here is not None and not ((l <= here.centre).all() and (here.centre <= u).all()):
            here = None
        key = (l.tobytes(), u.tobytes(), here.key() if here is not None else None)
        if key not in region_cache:
            if len(region_cache) > 64:
                region_cache.clear()
            region_cache[key] = Region(model, l, u, here)
        region = region_cache[key]
        on_variables = resolved(model, atoms)
        region.prepare(sorted({v for terms, _, _ in on_variables for v in terms}))
        judge = Judge(region, on_variables)
        worst = judge.judge(tree)
        leaves += judge.leaves
        if not worst < 0:
            raise Rejected(f"the bound {worst:.3g} does not rule it out")
    # What holds where a requirement limits changes says nothing of the rest of the region.
    return (cases if limit is changes else []), leaves, executions


def contains(outer, inner):
    """Whether a box (lower, upper, limit on changes) holds every input of another."""
    if not ((outer[0] <= inner[0]).all() and (outer[1] >= inner[1]).all()):
        return False
    return outer[2] is None or inner[2] is not None and outer[2].admits(inner[2])


# --- VNN-LIB ----------------------------------------------------------------------------------------------------------


def read_vnnlib(path):
    """The property as a formula, and how many inputs and outputs it declares."""
    with open(path, "rb") as f:
        data = f.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    text = re.sub(r";[^\n]*", "", data.decode("utf-8"))
    stack, top = [], []
    for token in re.findall(r"[()]|[^\s()]+", text):
        if token == "(":
            stack.append(top)
            top = []
        elif token == ")":
            if not stack:
                raise NotCovered("the property's brackets do not match")
            stack[-1].append(top)
            top = stack.pop()
        else:
            top.append(token)
    if stack:
        raise NotCovered("the property's brackets do not match")
    asserts, declared = [], set()
    for form in top:
        if form[0] in ("declare-const", "declare-fun"):
            declared.add(form[1])
        elif form[0] == "assert":
            asserts.append(vnnlib_formula(form[1], declared))
        elif form[0] not in ("set-logic", "set-info", "check-sat", "exit", "set-option", "get-model"):
            raise NotCovered(f"({form[0]} ...) in a property")
    count = lambda letter: sum(name.startswith(letter + "_") for name in declared)
    return ("and", asserts), count("X"), count("Y")


def vnnlib_formula(form, declared):
    if form in ("true", "false"):
        return ("and" if form == "true" else "or", [])
    head = form[0]
    if head in ("and", "or"):
        return (head, [vnnlib_formula(f, declared) for f in form[1:]])
    if head == "not":
        return ("not", vnnlib_formula(form[1], declared))
    if head == "=>":
        return ("or", [("not", vnnlib_formula(form[1], declared)), vnnlib_formula(form[2], declared)])
    if head in ("<", "<=", ">", ">=", "="):
        sides = [vnnlib_sum(f, declared) for f in form[1:]]
        parts = [compare(a, head, b) for a, b in zip(sides, sides[1:])]
        return parts[0] if len(parts) == 1 else ("and", parts)
    raise NotCovered(f"({head} ...) in a property")


def vnnlib_sum(form, declared):
    if isinstance(form, str):
        match = re.fullmatch(r"([XY])_(\d+)", form)
        if match:
            if form not in declared:
                raise NotCovered(f"{form} is not declared")
            return {(match[1], "v", int(match[2])): 1.0}, 0.0
        return {}, float(form)
    head, parts = form[0], [vnnlib_sum(f, declared) for f in form[1:]]
    if head == "-" and len(parts) == 1:
        return {k: -w for k, w in parts[0][0].items()}, -parts[0][1]
    terms, constant = dict(parts[0][0]), parts[0][1]
    for more, c in parts[1:]:
        if head in "+-":
            sign = 1.0 if head == "+" else -1.0
            for key, w in more.items():
                terms[key] = terms.get(key, 0.0) + sign * w
            constant += sign * c
        elif head in "*/":
            if more and (terms or head == "/"):
                raise NotCovered("a property that is not linear")
            if more:
                terms, constant, c = more, c, constant
            scale = (lambda v: v * c) if head == "*" else (lambda v: v / c)
            terms, constant = {k: scale(w) for k, w in terms.items()}, scale(constant)
        else:
            raise NotCovered(f"({head} ...) in a property")
    return terms, constant


def property_cases(formula, model):
    """Alternatives of a property: box, conditions. X with a factor of 1 or -1 bounds the box; every condition is kept too."""
    depth = model_output(model)
    found = []
    for _, _, atoms in expanded(normal(formula), [(None, None, [])], 1 << 16):
        lower, upper = np.full(model.inputs, -np.inf), np.full(model.inputs, np.inf)
        conditions = []
        for terms, constant, strict in atoms:
            renamed = {(1 if k == "X" else depth, side, n): w for (k, side, n), w in terms.items()}
            conditions.append((renamed, constant, strict))
            if len(terms) == 1:
                ((letter, _, n), w), = terms.items()
                if letter != "X":
                    continue
                end = -constant / w
                # A quotient is off by half a step at most; the condition itself is kept too.
                out = 0.0 if abs(w) == 1.0 else math.inf
                if w > 0:
                    lower[n] = max(lower[n], np.nextafter(end, -out) if out else end)
                else:
                    upper[n] = min(upper[n], np.nextafter(end, out) if out else end)
        if (lower <= upper).all() and not any(excludes(condition, lower, upper) for condition in conditions):
            found.append((lower, upper, conditions))
    return found


def excludes(condition, lower, upper):
    """Whether a condition that depends on the input alone, or on nothing, fails all over a box."""
    terms, constant, strict = condition
    if any(layer != 1 for layer, _, _ in terms):
        return False
    if not all(np.isfinite(lower[n]) and np.isfinite(upper[n]) for _, _, n in terms):
        return False
    most = Fraction(constant)
    for (_, _, n), weight in terms.items():
        most += Fraction(weight) * Fraction(float(upper[n] if weight > 0 else lower[n]))
    return most < 0 or (most == 0 and strict)


def implied(case, proven, rounding=0.0):
    """Whether an alternative lies in one that was refuted: its box inside, and every condition refuted there among its own.
    `rounding`: how far coefficients may differ, relative to the largest."""
    lower, upper, atoms = case
    box_l, box_u, wanted = proven
    if not contains((box_l, box_u, None), (lower, upper, None)):
        return False
    have = {}
    for atom in atoms:
        have.setdefault(frozenset(atom[0]), []).append(atom)
    return all(any(harder(mine, atom, rounding) for mine in have.get(frozenset(atom[0]), [])) for atom in wanted)


def harder(mine, other, rounding):
    """Whether what meets the first condition meets the second: the same sum against a number at least as hard."""
    (terms, constant, strict), (other_terms, other_constant, other_strict) = mine, other
    size = max([abs(w) for w in terms.values()], default=0.0)
    if all(abs(w) == 1.0 for w in terms.values()):
        rounding = 0.0  # Numbers as they are written: nothing was computed.
    if any(abs(w - other_terms[k]) > rounding * size for k, w in terms.items()):
        return False
    slack = rounding * abs(constant)
    return constant < other_constant + slack or (constant <= other_constant + slack and (strict or not other_strict or slack > 0))


# --- Folders ----------------------------------------------------------------------------------------------------------


class Report:
    """What was found; printed at the end, and its exit code."""

    def __init__(self):
        self.lines, self.uncovered, self.failures = [], [], 0

    def say(self, text):
        self.lines.append(text)

    def reject(self, text):
        self.failures += 1
        self.lines.append("rejected: " + text)

    def leave(self, text):
        self.uncovered.append(text)

    def end(self, quiet):
        if not quiet:
            for line in self.lines:
                print(line)
            for line in self.uncovered:
                print("not judged here:", line)
        print("rejected" if self.failures else "accepted")
        return 1 if self.failures else 0


def check_certificate(model, data, report, where):
    """Judges one certificate. Returns boxes and accepted entries [(text, is about executions)], or None."""
    certificate = read_certificate(data)
    if certificate["model"] != model.digest:
        raise Rejected("it is about another model")
    for lower, upper, _ in certificate["boxes"]:
        if len(lower) != model.inputs:
            raise Rejected("a box has another number of elements than the input")
        if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
            raise Rejected("a box has an end that is no number")
    accepted, leaves = [], 0
    cases = {}
    caches = [{} for _ in certificate["boxes"]]
    for number, (text, trees) in enumerate(certificate["entries"]):
        about_executions = False
        for k, box in enumerate(certificate["boxes"]):
            try:
                found, n, executions = check_entry(model, caches[k], box, text, trees[k])
            except Rejected as why:
                raise Rejected(f"entry {number}, box {k}: {why} ({text[:80]})") from None
            leaves += n
            about_executions |= executions
            cases.setdefault(number, []).append(found)
        accepted.append((text, about_executions))
    return certificate["boxes"], accepted, leaves, cases


def one_input(reading):
    """Refuses folders whose network is not simply that of the model file."""
    if any(reading.get(key) for key in ("from", "fixed", "dims")):
        raise NotCovered("a model that is cut, or has inputs that are fixed or open axes with extents")


def check_verify(folder, model_path, property_path, report):
    record = load_json(os.path.join(folder, "verify.json"))
    one_input(record)
    model = Model(model_path or record["model"], record.get("input_shape"), record.get("mean"), record.get("std"))
    if record.get("model_sha256") != model.digest:
        raise Rejected("the model is not the one that was verified")
    formula, inputs, outputs = read_vnnlib(property_path or property_copy(folder, record))
    answer = model.answer
    if inputs != model.inputs or outputs != answer.ids.size:
        raise Rejected(f"the property has {inputs} inputs and {outputs} outputs, the model {model.inputs} and "
                       f"{answer.ids.size}")
    wanted = property_cases(formula, model)
    for lower, upper, _ in wanted:
        if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
            raise NotCovered("the property leaves an input unbounded")
    verdict = record["verdict"]
    if verdict == "unsat" and not wanted:
        report.say("unsat, and vacuous: no input lies in the property's box")
    elif verdict == "unsat" and model.head is not None:
        raise NotCovered(f"a certificate about the output of a final {model.head}, which speaks of the logits")
    elif verdict == "unsat":
        with open(os.path.join(folder, "certificate.dcc"), "rb") as f:
            data = f.read()
        boxes, accepted, leaves, cases = check_certificate(model, data, report, folder)
        hull = (np.min([c[0] for c in wanted], 0), np.max([c[1] for c in wanted], 0)) if wanted else boxes[0]
        if len(boxes) != 1 or boxes[0][2] is not None or not (np.array_equal(boxes[0][0], hull[0]) and np.array_equal(boxes[0][1], hull[1])):
            raise Rejected("the certificate is about another region than the box around those of the property")
        proven = [case for number, found in cases.items() if not accepted[number][1] for each in found for case in each]
        rounded = False
        for case in wanted:
            if any(implied(case, p) for p in proven):
                continue
            rounded = True
            if not any(implied(case, p, 8 * EPS) for p in proven):
                raise Rejected("the certificate does not cover every alternative of the property")
        if rounded:
            report.say("coefficients that the property spells out as sums and products are rounded to doubles in the certificate")
        report.say(f"unsat: {len(wanted)} alternatives refuted in real arithmetic, {leaves} leaves")
    elif verdict == "sat":
        check_witness(folder, model, answer, wanted, report)
    else:
        report.say(f"the verdict is {verdict}: nothing is claimed")


def property_copy(folder, record):
    """The property in the folder, else where it was."""
    names = [n for n in ("property.vnnlib", "property.vnnlib.gz") if os.path.exists(os.path.join(folder, n))]
    return os.path.join(folder, names[0]) if names else record["property"]


def has_single(lower, upper):
    """Whether a single-precision number lies between two ends."""
    near = lower.astype(np.float32)
    up = np.where(near.astype(float) < lower, np.nextafter(near, np.float32(np.inf)), near).astype(float)
    return up <= upper


def check_witness(folder, model, answer, wanted, report):
    with open(os.path.join(folder, "counterexample.txt"), encoding="utf-8") as f:
        pairs = re.findall(r"\(\s*([XY])_(\d+)\s+([^\s()]+)\s*\)", f.read())
    x, y = {}, {}
    for letter, index, text in pairs:
        (x if letter == "X" else y)[int(index)] = float(text)
    if sorted(x) != list(range(model.inputs)) or sorted(y) != list(range(answer.ids.size)):
        raise Rejected("the counterexample does not name every input and output once")
    exact = np.array([x[i] for i in range(model.inputs)])
    point = exact.astype(np.float32).astype(float)
    values, errors = model.run(point)
    rounding = single_precision(model, point)
    out = answer.ids.ravel()
    for k, variable in enumerate(out):
        slack = rounding[variable] + errors[variable] if np.isfinite(errors[variable]) else 1e-4 * (1 + abs(y[k]))
        if not abs(values[variable] - y[k]) <= slack + 1e-6 * abs(y[k]):
            raise Rejected(f"Y_{k} is {y[k]:.9g} in the file and {values[variable]:.9g} when run here")
    best = None
    for lower, upper, atoms in wanted:
        # Where no single-precision number lies between the ends, the nearest one stands for them.
        room = np.where(has_single(lower, upper), 0.0, 1e-4)
        if not ((lower - room <= point) & (point <= upper + room)).all():
            continue
        inside = "in" if ((lower <= point) & (point <= upper)).all() else "as near as single precision allows to"
        shortfall, by = 0.0, "strictly in real arithmetic"
        for terms, constant, strict in resolved(model, atoms):
            value = sum(w * values[v] for v, w in terms.items()) + constant
            # A smooth function has no error bound here; a part in a million is far more than it is off.
            errors_here = [errors[v] if np.isfinite(errors[v]) else 1e-6 * (1 + abs(values[v])) for v in terms]
            error = sum(abs(w) * e for w, e in zip(terms.values(), errors_here))
            float_error = sum(abs(w) * rounding[v] for v, w in terms.items()) + 1e-7 * abs(constant)
            if all(v < model.inputs for v in terms):
                continue  # On the inputs alone: the box.
            if not (value > error or (not strict and value >= 0 and error == 0)):
                if value < -(float_error + error):
                    shortfall = max(shortfall, -value)
                else:
                    by = "by single-precision rounding alone"
        if shortfall == 0.0:
            best = (inside, by)
            if by.startswith("strictly"):
                break
    if best is None:
        raise Rejected("the counterexample does not meet the property")
    report.say(f"sat: the counterexample lies {best[0]} the property's box and meets it {best[1]}")


def single_precision(model, point):
    """How far a single-precision execution may be from the real values at a point (nothing is said of smooth functions)."""
    values, _ = model.run(point)
    unit = 2.0 ** -23
    error = np.zeros(model.count)
    for b in model.blocks:
        mine = slice(b.first, b.first + b.n)
        if isinstance(b, Sums):
            row, at = b.rows(np.arange(b.n))
            c, w = b.cols[at], np.abs(b.weights[at])
            carried = np.bincount(row, w * error[c], b.n)
            mass = np.bincount(row, w * (np.abs(values[c]) + error[c]), b.n) + np.abs(b.const)
            terms = np.bincount(row, minlength=b.n) + 4
            error[mine] = carried + terms * unit * mass
        elif isinstance(b, Curves):
            steep = max(abs(s) for _, s, _ in b.parts)
            error[mine] = steep * error[b.inputs] + 4 * unit * np.abs(values[mine])
        else:
            error[mine] = 1e-5
    return error


def check_run(folder, model_path, report):
    run = load_json(os.path.join(folder, "run.json"))
    settings = run["settings"]
    arguments = settings["model"]
    one_input(arguments)
    kept = arguments["model"][4:] if arguments["model"].startswith("run:") else None
    named = os.path.join(folder, kept) if kept else arguments["model"]
    model = Model(model_path or named, arguments.get("input_shape"), arguments.get("mean"),
                  arguments.get("std"))
    if settings["sha256"] != model.digest:
        raise Rejected("the model is not the one of the run")
    with np.load(os.path.join(folder, "suite.npz")) as suite:
        parent = suite["parent"]
        seeds = suite["x"][parent < 0].reshape(int((parent < 0).sum()), -1).astype(float)
    with np.load(os.path.join(folder, "requirements.npz")) as table:
        states = table["state"]
    boxes = run_boxes(run, settings, model, seeds, folder)
    facts = [Facts() for _ in boxes] if boxes is not None else None
    files = sorted(os.listdir(os.path.join(folder, "certificates"))) \
        if os.path.isdir(os.path.join(folder, "certificates")) else []
    files = [f for f in files if f.endswith(".dcc") or f.endswith(".certificate")]
    entries = executions = leaves = 0
    slopes = []
    for name in files:
        with open(os.path.join(folder, "certificates", name), "rb") as f:
            data = f.read()
        try:
            if data[:8] == b"DCSLOPE1":
                claim, n = check_slopes(model, data)
                slopes.append(claim)
                leaves += n
                continue
            about, accepted, n, cases = check_certificate(model, data, report, name)
        except Rejected as why:
            report.reject(f"{name}: {why}")
            continue
        leaves += n
        entries += len(accepted)
        executions += sum(e for _, e in accepted)
        for k, mine in enumerate(boxes or []):
            if any(contains(b, mine) for b in about):
                for text, by_execution in accepted:
                    facts[k].learn(plain_conditions(text, model), by_execution)
    report.say(f"{len(files)} certificates, {entries + len(slopes)} entries, {leaves} leaves")
    if run.get("lipschitz"):
        follow_slopes(run, settings, model, seeds, boxes, slopes, report)
    if executions:
        report.leave(f"{executions} entries about executions alone; what they claim is counted as the tool's own word")
    infeasible = np.flatnonzero(states == 2)
    if run.get("lipschitz"):
        report.leave("that pairs of tests are as steep as the run says")
    elif not len(infeasible):
        report.say("no requirement is called infeasible")
    elif facts is None:
        report.leave(f"that {len(infeasible)} infeasible requirements follow: the search region is not in the folder as numbers")
    else:
        follow(run, settings, model, folder, states, infeasible, facts, report)
    report.leave("the suite, the counts and words of run.json and statement.md, and every other file of the folder")


def run_boxes(run, settings, model, seeds, folder):
    """The boxes of the search region, or None if they are not in the folder."""
    domain = run_domain(settings, model)
    if domain is None:
        return None
    low, high = domain
    if settings.get("region") is not None:
        return region_file(folder, low, high)
    norm = (settings.get("knobs") or {}).get("norm") or run.get("norm") or "linf"
    radius = settings.get("radius")
    if radius is None:
        return [(low, high, None)]
    if norm.startswith("l0"):
        positions = input_positions(settings, norm, model.inputs)
        return [few_changes(low, high, seed, positions, int(radius)) for seed in seeds]
    reach = radius * (high - low)
    found = []
    for seed in seeds:
        edge = 4 * EPS * (np.abs(seed) + reach)
        found.append((np.maximum(low, seed - reach - edge), np.minimum(high, seed + reach + edge), None))
    return found


def input_positions(settings, norm, elements):
    """The position of every input element: itself, or in l0 the pixel of an image, the same for all of its channels."""
    shape = (settings.get("shapes") or {}).get("input") or [elements]
    index = np.arange(elements)
    if norm == "l0" and len(shape) == 3 and elements == math.prod(shape):
        return index // shape[2] if shape[2] <= 4 else index % (shape[1] * shape[2])
    return index


def few_changes(low, high, seed, positions, allowed):
    """The domain with so many positions that differ from a seed; without a limit where that says more than there is."""
    inside = ((low <= seed) & (seed <= high)).all()
    limited = inside and allowed < len(np.unique(positions))
    return (low, high, Changes(seed, positions, allowed) if limited else None)


def run_domain(settings, model):
    """The domain as numbers: one pair for all elements or one each, in single precision."""
    domain = settings.get("domain")
    if not isinstance(domain, dict):
        return None
    ends = [np.asarray(domain[side], np.float32).astype(float).ravel() for side in ("lower", "upper")]
    return tuple(np.broadcast_to(e, (model.inputs,)) for e in ends)


def region_file(folder, low, high):
    names = [n for n in os.listdir(folder) if n.startswith("region.")]
    if len(names) != 1:
        return None
    path = os.path.join(folder, names[0])
    found = []
    if path.endswith(".npz"):
        with np.load(path) as arrays:
            lower, upper = arrays["lower"], arrays["upper"]
        pairs = zip(lower.reshape(len(lower), -1), upper.reshape(len(upper), -1))
    else:
        pairs = [(e["lower"], e["upper"]) for e in load_json(path)]
    for lower, upper in pairs:
        box = [np.broadcast_to(np.asarray(v, np.float32).astype(float).ravel(), low.shape) for v in (lower, upper)]
        box = np.maximum(box[0], low), np.minimum(box[1], high), None
        if (box[0] <= box[1]).all():
            found.append(box)
    return found


class Facts:
    """What no input of one box meets: for each sum of neurons the easiest condition, and conditions together; apart from
    those, what no execution by the tool meets."""

    def __init__(self):
        self.conditions, self.together, self.by_execution = {}, {}, set()

    def learn(self, cases, by_execution):
        """Takes over an entry with one alternative and no box of its own: conditions that no input meets together."""
        for atoms in cases:
            if by_execution:
                self.by_execution.add(shape(atoms))
            elif len(atoms) == 1:
                terms, constant, strict = atoms[0]
                key = frozenset(terms.items())
                known, easier = self.conditions.get(key), (constant, not strict)
                self.conditions[key] = easier if known is None else max(known, easier)
            else:
                self.together.setdefault(frozenset(frozenset(t.items()) for t, _, _ in atoms), []).append(atoms)

    def refutes(self, atoms):
        for terms, constant, strict in atoms:
            known = self.conditions.get(frozenset(terms.items()))
            if known is not None and (constant < known[0] or constant == known[0] and (strict or known[1])):
                return True
        key = frozenset(frozenset(t.items()) for t, _, _ in atoms)
        nothing = np.zeros(0)
        return any(implied((nothing, nothing, atoms), (nothing, nothing, known)) for known in self.together.get(key, []))


def shape(atoms):
    return frozenset((frozenset(t.items()), c, s) for t, c, s in atoms)


def plain_conditions(text, model):
    """The conditions of an entry, as a list with one member, if it is one alternative without a box or a limit on changes;
    else an empty list: an entry with a box of its own says nothing of the rest of the region."""
    statement = Language(text, model)
    formula = normal(statement.formula, statement.quantifier == "exists")
    cases = expanded(formula, [(None, None, [])], MOST_CASES) if not has_box(formula) else []
    return [cases[0][2]] if len(cases) == 1 else []


def has_box(formula):
    return formula[0] in ("box", "changes") or formula[0] in ("and", "or") and any(has_box(p) for p in formula[1])


def follow(run, settings, model, folder, states, infeasible, facts, report):
    """Every infeasible row of a neuron criterion follows in every box: some condition of it is refuted."""
    rows = neuron_rows(settings, model, folder, len(states))
    if rows is None:
        report.leave(f"that {len(infeasible)} infeasible requirements of {settings.get('criterion') or 'a file'} follow")
        return
    shown = by_word = missing = 0
    for row in infeasible:
        atoms, label = rows(int(row))
        holds = [f.refutes(atoms) for f in facts]
        if all(holds):
            shown += 1
        elif all(h or shape(atoms) in f.by_execution for h, f in zip(holds, facts)):
            by_word += 1
        else:
            missing += 1
            if missing <= 5:
                report.reject(f"row {row} is called infeasible and does not follow: {label}")
    if missing > 5:
        report.reject(f"and {missing - 5} more")
    report.say(f"{shown} of {len(infeasible)} infeasible requirements follow in real arithmetic in each of {len(facts)} boxes")
    if by_word:
        report.leave(f"{by_word} infeasible requirements that rest on executions by the tool alone")


def follow_slopes(run, settings, model, seeds, boxes, slopes, report):
    """Every bound that a run gives for a region is shown by a certificate about all of it, in the run's norm and widths."""
    rows = run["lipschitz"]
    if boxes is None or len(boxes) != len(rows):
        report.leave(f"that the bounds of {len(rows)} regions follow: they are not in the folder as numbers")
        return
    norm = (settings.get("knobs") or {}).get("ratio_norm")
    low, high = run_domain(settings, model)
    of_label = (settings.get("knobs") or {}).get("lipschitz_output") == "label" and len(seeds) == len(boxes)
    shown = bounded = 0
    for number, (row, box) in enumerate(zip(rows, boxes)):
        outputs = list(range(model.logits.ids.size))
        if of_label:
            values, _ = model.run(seeds[number])
            outputs = [int(np.argmax(values[model.logits.ids.ravel()]))]
        upper = row.get("upper")
        if upper is None:
            continue
        bounded += 1
        fits = [s["bound"] for s in slopes if s["norm"] == norm and contains((*s["box"], None), box)
                and np.array_equal(s["widths"], high - low) and s["outputs"] == outputs]
        if any(bound <= upper * (1 + 1e-9) for bound in fits):
            shown += 1
        else:
            report.reject(f"the bound {upper} of region {row.get('region')} does not follow")
    report.say(f"{shown} of {bounded} bounds of how steep the outputs are follow in real arithmetic")


def neuron_rows(settings, model, folder, count):
    """A function from a row of requirements.npz to its conditions and text, for criteria on single neurons; else None."""
    criterion = settings.get("criterion")
    knobs = settings.get("knobs") or {}
    if criterion not in ("nc", "nbc", "snac", "kmnc") or knobs.get("scaled"):
        return None
    chosen = knobs.get("layers")
    names = [layer[0] for layer in model.layers]
    sizes = [layer[2].ids.size for layer in model.layers]
    if chosen:
        picked = chosen if isinstance(chosen, list) else str(chosen).split(",")
        picked = [layer_number(p, settings, names, model) for p in picked]
        if None in picked:
            return None
        picked = sorted(set(picked))
    elif knobs.get("neurons"):
        picked = None
    else:
        picked = list(range(len(names)))
    each = {"nc": 1, "snac": 1, "nbc": 2, "kmnc": int(knobs.get("sections") or 1000)}[criterion]
    if picked is None:
        for guess in (list(range(len(names))),):
            if sum(sizes[k] for k in guess) * each == count:
                picked = guess
    if picked is None or sum(sizes[k] for k in picked) * each != count:
        return None
    starts = np.cumsum([0] + [sizes[k] * each for k in picked])
    profile = load_profile(folder, sizes) if criterion != "nc" else None
    if criterion != "nc" and profile is None:
        return None
    threshold = knobs.get("threshold")

    def row(number):
        at = int(np.searchsorted(starts, number, "right")) - 1
        layer, slot = picked[at], number - int(starts[at])
        neuron, part = divmod(slot, each)
        u, v = (layer + 2, "u", neuron), (layer + 2, "v", neuron)
        label = f"{criterion}, layer {layer + 2}, neuron {neuron}" + (f", part {part}" if each > 1 else "")
        if criterion == "nc":
            return [({u: 1.0}, 0.0, False) if threshold is None else ({v: 1.0}, -float(threshold), True)], label
        low, high = (float(ends[layer][neuron]) for ends in profile)
        if criterion == "snac" or criterion == "nbc" and part == 0:
            return [({u: 1.0}, -high, True)], label
        if criterion == "nbc":
            return [({u: -1.0}, low, True)], label
        last = part + 1 == each or low == high
        edge = lambda k: high if k == each else low + (high - low) * (k / each)
        return [({u: 1.0}, -edge(part), False), ({u: -1.0}, edge(each if last else part + 1), not last)], label
    return row


def layer_number(text, settings, names, model):
    text = str(text).strip()
    if text in names:
        return names.index(text)
    for k, (name, *_rest) in enumerate(model.layers):
        node = model.node_names.get(name)
        if node == text:
            return k
    if text.isdigit() and 2 <= int(text) < len(names) + 2:
        return int(text) - 2
    return None


def load_profile(folder, sizes):
    path = os.path.join(folder, "profile.npz")
    if not os.path.exists(path):
        return None
    with np.load(path) as arrays:
        if [int(n) for n in arrays["neurons"]] != sizes:
            return None
        ends = np.cumsum(sizes)[:-1]
        return [np.split(arrays[side].astype(float), ends) for side in ("low", "high")]


def load_json(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", help="a folder that `verify --out` or `run --out` wrote")
    parser.add_argument("--model", help="the model, if it is not where the folder says")
    parser.add_argument("--property", help="the property file, if it is not where the folder says")
    parser.add_argument("--quiet", action="store_true", help="print the verdict alone")
    options = parser.parse_args()
    return judge_folder(options.folder, options.model, options.property, options.quiet)


def judge_folder(folder, model=None, property_file=None, quiet=False):
    """Judges a folder and prints what was found; the exit code."""
    report = Report()
    try:
        if os.path.exists(os.path.join(folder, "run.json")):
            check_run(folder, model, report)
        else:
            check_verify(folder, model, property_file, report)
    except Rejected as why:
        report.reject(str(why))
    except NotCovered as why:
        print(f"not judged here: {why}")
        return 2
    except (OSError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as why:
        print(f"cannot judge {folder}: {type(why).__name__}: {why}")
        return 2
    return report.end(quiet)


if __name__ == "__main__":
    sys.exit(main())
