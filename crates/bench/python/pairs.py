"""Runs pairs of tests that a run of `ssc` saved in onnxruntime, and judges them by the criterion's definition.

    python pairs.py RUN_FOLDER [COUNT]

Needs the packages onnx, onnxruntime and numpy. Layers are the Relu nodes of the model in their order; u is what
goes into them. Exits with 1 if a pair does not hold.
"""

import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime


def neurons(model_path):
    """A session that gives u of every Relu."""
    model = onnx.load(model_path)
    relus = [node for node in model.graph.node if node.op_type == "Relu"]
    names = [node.input[0] for node in relus]
    known = {output.name for output in model.graph.output}
    for name in names:
        if name not in known:
            model.graph.output.append(onnx.ValueInfoProto(name=name))
    return onnxruntime.InferenceSession(model.SerializeToString()), names


def main():
    folder = pathlib.Path(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    run = json.loads((folder / "run.json").read_text())
    suite = np.load(folder / "suite.npz")["x"]
    table = np.load(folder / "requirements.npz")
    session, names = neurons(run["model"]["path"])
    given = session.get_inputs()[0]

    def u(test, layer):
        shape = [1] + [d if isinstance(d, int) else 1 for d in given.shape[1:]]
        x = suite[test].reshape(shape).astype(np.float32)
        return session.run([names[layer]], {given.name: x})[0].ravel()

    covered = np.flatnonzero(table["state"] == 1)
    rows = covered[np.linspace(0, len(covered) - 1, min(count, len(covered))).astype(int)]
    failed = 0
    for row in rows:
        layer, i, layer2, j = (int(table[name][row]) for name in ("layer", "i", "layer2", "j"))
        tests = int(table["test"][row]), int(table["test2"][row])
        before = [u(test, layer) >= 0 for test in tests]
        after = [u(test, layer2)[j] >= 0 for test in tests]
        changed = np.flatnonzero(before[0] != before[1])
        holds = list(changed) == [i] and after[0] != after[1]
        failed += not holds
        print(f"{'ok ' if holds else 'NOT'} tests {tests}: signs of layer {layer} that differ: "
              f"{changed.tolist()} (condition {i}); decision {layer2}:{j} {after[0]} -> {after[1]}")
    print(f"{len(rows) - failed} of {len(rows)} pairs hold in onnxruntime {onnxruntime.__version__}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
