"""The ONNX project's own node tests, run through `deepconcolic eval`: pass, refused or wrong, by operator.

    python3 -m venv venv
    venv/bin/pip install numpy onnx
    venv/bin/python crates/bench/python/backend.py target/release/deepconcolic [OPERATOR ...]

A test feeds a model of one node. One of its inputs stays an input: the first with floating-point numbers, else
the first with any. The others become constants of the model, with the values that the test gives. An input of
integers enters as floating-point numbers through a Cast, one without axes through a Reshape; an output of
integers leaves through a Cast. Every output is compared. Tests of strings, sequences, optional values, numbers of
8 bits or fewer with a fraction or of 4 bits or fewer, and tests without an input, do not apply. Refusals are
counted by their message; the exit code is 1 if any answer is wrong. `--list` names every test that is refused.
"""

import collections
import os
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases

# What the two sides may differ by, relative to the size of the numbers and absolutely.
RELATIVE, ABSOLUTE = 1e-3, 1e-5
# Half precision keeps eleven bits, bfloat16 eight; we compute in single precision.
COARSE = {TensorProto.FLOAT16: 4e-3, TensorProto.BFLOAT16: 2e-2}
FLOATS = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.BFLOAT16}
INTEGERS = {
    TensorProto.BOOL,
    TensorProto.INT8,
    TensorProto.INT16,
    TensorProto.INT32,
    TensorProto.INT64,
    TensorProto.UINT8,
    TensorProto.UINT16,
    TensorProto.UINT32,
    TensorProto.UINT64,
}
SECONDS = 20


def element_type(info):
    """The element type of a tensor, or None for anything else."""
    return info.type.tensor_type.elem_type if info.type.HasField("tensor_type") else None


def unfit(case):
    """Why a test does not apply, or None."""
    graph = case.model.graph
    if not graph.input:
        return "no input"
    for info in [*graph.input, *graph.output]:
        kind = element_type(info)
        if kind is None:
            return "sequences or optional values"
        if kind == TensorProto.STRING:
            return "strings"
        if kind not in FLOATS | INTEGERS:
            return f"elements of {TensorProto.DataType.Name(kind).lower()}"
    return None


def array(value):
    """The value of a test as an array: some are given as stored tensors, some as plain numbers."""
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.asarray(value)


def frozen(model, values):
    """The model with one input of single-precision numbers and outputs of them, and that input's value."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    graph, values = model.graph, [array(value) for value in values]
    infos = list(graph.input)
    choice = [i for i, info in enumerate(infos) if element_type(info) in FLOATS and values[i].ndim > 0]
    choice += [i for i, info in enumerate(infos) if element_type(info) in FLOATS]
    kept = choice[0] if choice else 0
    for at, (info, value) in enumerate(zip(infos, values)):
        if at != kept:
            graph.initializer.append(numpy_helper.from_array(value, info.name))
            graph.input.remove(info)
    info, value = infos[kept], values[kept]
    front, name, kind = [], info.name, element_type(info)
    if value.ndim == 0:
        graph.initializer.append(numpy_helper.from_array(np.zeros(0, np.int64), "tested_shape"))
        front.append(helper.make_node("Reshape", ["tested", "tested_shape"], ["tested_scalar"]))
    if kind not in FLOATS:
        front.append(helper.make_node("Cast", [front[-1].output[0] if front else "tested"], ["cast"], to=kind))
    if front:
        front[-1].output[0] = name
        nodes = front + list(graph.node)
        del graph.node[:]
        graph.node.extend(nodes)
        graph.input.remove(info)
        shape = list(value.shape) or [1]
        graph.input.append(helper.make_tensor_value_info("tested", TensorProto.FLOAT, shape))
    for info in list(graph.output):
        if element_type(info) not in FLOATS:
            graph.node.append(helper.make_node("Cast", [info.name], [f"{info.name}_float"], to=1))
            graph.output.append(helper.make_tensor_value_info(f"{info.name}_float", 1, None))
            graph.output.remove(info)
    return model, value.astype(np.float32).reshape(value.shape or (1,))


def differs(found, wanted, kind):
    """How an answer is wrong, or None."""
    wanted = wanted.astype(np.float64).reshape(-1)
    found = found.astype(np.float64).reshape(-1)
    if found.shape != wanted.shape:
        return f"{found.size} numbers for {wanted.size}"
    both = np.isnan(found) & np.isnan(wanted)
    relative = COARSE.get(kind, RELATIVE)
    near = np.isclose(found, wanted, rtol=relative, atol=max(ABSOLUTE, relative**2)) | both
    if near.all():
        return None
    return f"off by {np.abs(found - wanted)[~near].max():.3g}"


def judge(binary, case, folder):
    """`pass`, `wrong` or `refused`, with the reason."""
    inputs, outputs = case.data_sets[0]
    model, x = frozen(case.model, inputs)
    path, data = folder / "model.onnx", folder / "x.npy"
    path.write_bytes(model.SerializeToString())
    np.save(data, x[None])
    kinds = [element_type(info) for info in case.model.graph.output]
    names = {info.name for info in model.graph.output}
    for info, expected, kind in zip(case.model.graph.output, outputs, kinds):
        name = info.name if info.name in names else f"{info.name}_float"
        out = folder / "y.npy"
        out.unlink(missing_ok=True)
        command = [binary, "eval", path, "--data", data, "--output", name, "--out", out]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return "wrong", "no answer in time"
        if ran.returncode == 2:
            return "refused", (ran.stderr.strip().splitlines() or [""])[-1]
        if ran.returncode != 0:
            return "wrong", f"exit code {ran.returncode}: {ran.stderr.strip()[:200]}"
        problem = differs(np.load(out), array(expected), kind)
        if problem:
            return "wrong", f"{info.name}: {problem}"
    return "pass", ""


def reason(message):
    """A refusal without what names the model's own nodes and shapes."""
    message = re.sub(r"^(error: )?[^:]*\.onnx: ", "", message)
    return re.sub(r"`[^`]*`|[0-9]+(x[0-9]+)*", "_", message)[:110]


def operator_of(case, cases):
    """What a test is about; of one whose operator is written out as others, that operator."""
    plain = re.sub(r"_expanded.*", "", case.name)
    if plain != case.name and plain in cases:
        return f"{cases[plain].model.graph.node[0].op_type} (written out)"
    return case.model.graph.node[0].op_type


def main():
    words = [word for word in sys.argv[1:] if word != "--list"]
    binary, only = Path(words[0]).resolve(), set(words[1:])
    counts = collections.defaultdict(collections.Counter)
    refusals, unfitting, wrong, refused = collections.Counter(), collections.Counter(), [], []
    cases = {case.name: case for case in collect_testcases(None)}
    with tempfile.TemporaryDirectory() as folder:
        for case in cases.values():
            operator = operator_of(case, cases)
            if only and operator not in only:
                continue
            why = unfit(case)
            if why:
                unfitting[why] += 1
                continue
            verdict, why = judge(binary, case, Path(folder))
            counts[operator][verdict] += 1
            if verdict == "refused":
                refusals[f"{operator}: {reason(why)}"] += 1
                refused.append(f"{case.name}: {why}")
            if verdict == "wrong":
                wrong.append(f"{case.name}: {why}")
    print(f"{'operator':40}{'pass':>6}{'refused':>9}{'wrong':>7}")
    for operator in sorted(counts):
        row = counts[operator]
        print(f"{operator:40}{row['pass']:6}{row['refused']:9}{row['wrong']:7}")
    total = sum(counts.values(), collections.Counter())
    print(f"{'all':40}{total['pass']:6}{total['refused']:9}{total['wrong']:7}")
    print("\ndo not apply")
    for message, count in unfitting.most_common():
        print(f"{count:5}  {message}")
    print("\nrefused because")
    for message, count in refusals.most_common():
        print(f"{count:5}  {message}")
    if "--list" in sys.argv:
        for line in refused:
            print("refused:", line)
    for line in wrong:
        print("wrong:", line)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    os.environ.setdefault("NO_COLOR", "1")
    warnings.filterwarnings("ignore")
    main()
