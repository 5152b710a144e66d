"""Judges a run of ssc, vsc, svc or vvc on a small network by another way: all sign patterns of the first
hidden layer are listed, and for each a linear program over both inputs at once says whether two of them meet
a pair of neurons.

usage: patterns.py RUN MODEL [--sigma S] [--sigma-condition S]

RUN is the folder of a run with one seed whose conditions are in the first of two dense layers with Relu
between; the box is read from its certificates. Needs numpy, onnx and scipy.
"""

import argparse
import itertools
import json
import pathlib
import struct
import sys

import numpy as np
import onnx
from onnx import numpy_helper
from scipy.optimize import linprog

CLEAR = 1e-7


def dense_layers(path):
    """The weights and biases of a chain of dense layers."""
    graph = onnx.load(path).graph
    constants = {t.name: numpy_helper.to_array(t).astype(np.float64) for t in graph.initializer}
    layers = []
    for node in graph.node:
        if node.op_type == "MatMul":
            layers.append([constants[node.input[1]], 0.0])
        elif node.op_type == "Add" and layers:
            bias = [constants[name] for name in node.input if name in constants]
            layers[-1][1] = bias[0].ravel()
        elif node.op_type == "Gemm":
            flags = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            weights = constants[node.input[1]]
            weights = weights.T if flags.get("transB", 0) else weights
            layers.append([weights, constants[node.input[2]].ravel()])
        elif node.op_type not in ("Relu", "Softmax", "Reshape", "Flatten", "Identity", "Cast"):
            sys.exit(f"{node.op_type}: only dense layers and Relu are read here")
    return layers


def count(data, at):
    """A number written seven bits a byte, lowest first."""
    value, shift = 0, 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def box(run):
    """The one box that certificates of a run speak of."""
    files = sorted((run / "certificates").glob("*.certificate"))
    data = files[0].read_bytes()
    regions, at = count(data, 40)
    if regions != 1:
        sys.exit("the run has more than one box")
    elements, at = count(data, at)
    ends = struct.unpack_from(f"<{2 * elements}d", data, at)
    return np.array(ends[:elements]), np.array(ends[elements:])


class Pairs:
    """Linear programs over two inputs of a box."""

    def __init__(self, layers, low, high):
        (self.first, self.first_bias), (self.second, self.second_bias) = layers[:2]
        self.low, self.high = low, high
        centre, radius = 0.5 * (low + high), 0.5 * (high - low)
        u = centre @ self.first + self.first_bias
        reach = radius @ np.abs(self.first)
        self.open = [n for n in range(len(u)) if abs(u[n]) < reach[n]]
        self.sign = np.where(u >= 0, 1.0, -1.0)

    def margin(self, rows):
        """By how much all rows, each (coefficients of both inputs, constant), can be at least 0."""
        n = len(self.low)
        matrix, ends = [], []
        for a, b in rows:
            scale = np.abs(a).sum() + 1e-12
            matrix.append(np.append(-a / scale, 1.0))
            ends.append(b / scale)
        bounds = list(zip(self.low, self.high)) * 2 + [(-1e3, 1.0)]
        cost = np.zeros(2 * n + 1)
        cost[-1] = -1.0
        found = linprog(cost, A_ub=np.array(matrix), b_ub=np.array(ends), bounds=bounds, method="highs")
        return found.x[-1] if found.status == 0 else -np.inf

    def on(self, which, a, b):
        """A sum of one input as a row over both."""
        zero = np.zeros_like(a)
        return (np.concatenate([a, zero] if which == 0 else [zero, a]), b)

    def best(self, criterion, i, j, sigmas):
        """The largest margin over all patterns and signs."""
        changes = [criterion[0], criterion[1]]
        others = [n for n in self.open if n != i]
        best = -np.inf
        for signs in itertools.product([1.0, -1.0], repeat=len(others)):
            pattern = self.sign.copy()
            pattern[others] = signs
            for of_i, of_j in itertools.product([1.0, -1.0], repeat=2):
                best = max(best, self.cell(changes, pattern, (i, of_i), (j, of_j), others, sigmas))
                if best > 1e-3:
                    return best
        return best

    def cell(self, changes, pattern, condition, decision, others, sigmas):
        (i, of_i), (j, of_j) = condition, decision
        rows = []
        values = []
        for which in (0, 1):
            turn_i = -1.0 if which == 1 and changes[0] == "s" else 1.0
            turn_j = -1.0 if which == 1 and changes[1] == "s" else 1.0
            own = pattern.copy()
            own[i] = of_i * turn_i
            if i not in self.open and own[i] != self.sign[i]:
                return -np.inf
            active = own > 0
            weights = self.first[:, active] @ self.second[active, j]
            bias = self.first_bias[active] @ self.second[active, j] + self.second_bias[j]
            u_i, u_j = (self.first[:, i], self.first_bias[i]), (weights, bias)
            for n in others:
                rows.append(self.on(which, own[n] * self.first[:, n], own[n] * self.first_bias[n]))
            rows.append(self.on(which, own[i] * u_i[0], own[i] * u_i[1]))
            side = of_j * turn_j
            rows.append(self.on(which, side * u_j[0], side * u_j[1]))
            values.append((u_i, u_j))
        for place, (change, sign, sigma) in enumerate(zip(changes, (of_i, of_j), sigmas)):
            if change == "v":
                (a1, b1), (a2, b2) = values[0][place], values[1][place]
                rows.append((sign * np.concatenate([-sigma * a1, a2]), sign * (b2 - sigma * b1)))
        return self.margin(rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("run", type=pathlib.Path)
    parser.add_argument("model")
    parser.add_argument("--sigma", type=float, default=2.0)
    parser.add_argument("--sigma-condition", type=float)
    arguments = parser.parse_args()
    criterion = json.loads((arguments.run / "run.json").read_text())["criterion"]
    condition = arguments.sigma_condition or (5.0 if criterion == "vvc" else arguments.sigma)
    layers = dense_layers(arguments.model)
    pairs = Pairs(layers, *box(arguments.run))
    table = np.load(arguments.run / "requirements.npz")
    state, rows = table["state"], zip(table["i"], table["j"])
    tally = {"agree": 0, "too close to tell": 0, "against": 0}
    for state, (i, j) in zip(state, rows):
        margin = pairs.best(criterion, int(i), int(j), (condition, arguments.sigma))
        if abs(margin) < CLEAR:
            tally["too close to tell"] += 1
        elif (state == 1) == (margin > 0):
            tally["agree"] += 1
        else:
            tally["against"] += 1
            print(f"{i} -> {j}: state {state}, margin {margin}")
    print(f"{criterion}: {len(pairs.open)} open neurons; {tally}")
    sys.exit(1 if tally["against"] else 0)


if __name__ == "__main__":
    main()
