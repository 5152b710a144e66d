"""The ONNX project's own node tests, run through `deepconcolic eval`: pass, refused or wrong, by operator.

    python3 -m venv venv
    venv/bin/pip install numpy onnx
    venv/bin/python crates/bench/python/backend.py target/release/deepconcolic [OPERATOR ...]

A test feeds a model of one node. Its first input of floating-point numbers stays an input; the others become
constants of the model. Every output is compared. A test without such an input does not apply. Refusals are
counted by their message; the exit code is 1 if any answer is wrong.
"""

import collections
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

# What the two sides may differ by, relative to the size of the numbers and absolutely.
RELATIVE, ABSOLUTE = 1e-3, 1e-5
FLOATS = {onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE}
SECONDS = 20


def frozen(model, values):
    """The model with all inputs but the first floating one as constants, and that one's value."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    kept = None
    for info, value in zip(list(model.graph.input), values):
        tensor = info.type.tensor_type
        floating = info.type.HasField("tensor_type") and tensor.elem_type in FLOATS
        if kept is None and floating and isinstance(value, np.ndarray) and value.ndim > 0:
            kept = value
            continue
        if not isinstance(value, np.ndarray):
            return None, None
        model.graph.initializer.append(numpy_helper.from_array(value, info.name))
        model.graph.input.remove(info)
    return (model, kept) if kept is not None else (None, None)


def judge(binary, case, folder):
    """`pass`, `wrong` or `refused`, with the reason."""
    inputs, outputs = case.data_sets[0]
    model, x = frozen(case.model, inputs)
    if model is None:
        return None, ""
    path, data = folder / "model.onnx", folder / "x.npy"
    path.write_bytes(model.SerializeToString())
    np.save(data, x.astype(np.float32)[None])
    checked = 0
    for info, expected in zip(model.graph.output, outputs):
        if not isinstance(expected, np.ndarray) or expected.dtype.kind not in "fiub":
            continue
        out = folder / "y.npy"
        out.unlink(missing_ok=True)
        command = [binary, "eval", path, "--data", data, "--output", info.name, "--out", out]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return "wrong", "no answer in time"
        if ran.returncode == 2:
            return "refused", ran.stderr.strip().splitlines()[-1]
        if ran.returncode != 0:
            return "wrong", f"exit code {ran.returncode}: {ran.stderr.strip()[:200]}"
        found = np.load(out)
        wanted = expected.astype(np.float64).reshape(-1)
        found = found.astype(np.float64).reshape(-1)
        if found.shape != wanted.shape:
            return "wrong", f"{info.name}: {found.size} numbers for {wanted.size}"
        both = np.isnan(found) & np.isnan(wanted)
        near = np.isclose(found, wanted, rtol=RELATIVE, atol=ABSOLUTE) | both
        if not near.all():
            worst = np.abs(found - wanted)[~near].max()
            return "wrong", f"{info.name}: off by {worst:.3g}"
        checked += 1
    return ("pass", "") if checked else (None, "")


def reason(message):
    """A refusal without what names the model's own nodes and shapes."""
    message = re.sub(r"^(error: )?[^:]*\.onnx: ", "", message)
    return re.sub(r"`[^`]*`|[0-9]+(x[0-9]+)*", "_", message)[:110]


def main():
    binary, only = Path(sys.argv[1]).resolve(), set(sys.argv[2:])
    counts = collections.defaultdict(collections.Counter)
    refusals, wrong = collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        for case in collect_testcases(None):
            operator = case.model.graph.node[0].op_type
            if only and operator not in only:
                continue
            verdict, why = judge(binary, case, Path(folder))
            if verdict is None:
                continue
            counts[operator][verdict] += 1
            if verdict == "refused":
                refusals[f"{operator}: {reason(why)}"] += 1
            if verdict == "wrong":
                wrong.append(f"{case.name}: {why}")
    print(f"{'operator':32}{'pass':>6}{'refused':>9}{'wrong':>7}")
    for operator in sorted(counts):
        row = counts[operator]
        print(f"{operator:32}{row['pass']:6}{row['refused']:9}{row['wrong']:7}")
    total = sum(counts.values(), collections.Counter())
    print(f"{'all':32}{total['pass']:6}{total['refused']:9}{total['wrong']:7}")
    print("\nrefused because")
    for message, count in refusals.most_common():
        print(f"{count:5}  {message}")
    for line in wrong:
        print("wrong:", line)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    os.environ.setdefault("NO_COLOR", "1")
    main()
