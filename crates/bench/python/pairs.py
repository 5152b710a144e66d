"""Runs the pairs of tests that a run of `ssc` saved in onnxruntime, and judges them by the criterion's definition.

    python pairs.py RUN_FOLDER [COUNT]

Every pair, or COUNT of them spread evenly. Needs the packages onnx, onnxruntime and numpy. Layers are the Relu nodes of
the model in their order, the first of them layer 2; u is what goes into them. Pairs that the run calls fragile may
differ in another runtime. Exits with 1 if one of the others does not hold.
"""

import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime

FIRST_HIDDEN = 2


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
    run = json.loads((folder / "run.json").read_text())
    suite = np.load(folder / "suite.npz")["x"]
    table = np.load(folder / "requirements.npz")
    session, names = neurons(run["model"]["path"])
    given = session.get_inputs()[0]
    shape = [1] + [d if isinstance(d, int) else 1 for d in given.shape[1:]]
    signs = []
    for x in suite:
        values = session.run(names, {given.name: x.reshape(shape).astype(np.float32)})
        signs.append([u.ravel() >= 0 for u in values])

    covered = np.flatnonzero(table["state"] == 1)
    count = int(sys.argv[2]) if len(sys.argv) > 2 else len(covered)
    rows = covered[np.linspace(0, len(covered) - 1, min(count, len(covered))).astype(int)]
    kinds = {0: [0, 0], 1: [0, 0]}
    for row in rows:
        layer, i, layer2, j = (int(table[name][row]) for name in ("layer", "i", "layer2", "j"))
        a, b = (signs[int(table[name][row])] for name in ("test", "test2"))
        changed = np.flatnonzero(a[layer - FIRST_HIDDEN] != b[layer - FIRST_HIDDEN])
        decision = a[layer2 - FIRST_HIDDEN][j] != b[layer2 - FIRST_HIDDEN][j]
        holds = list(changed) == [i] and decision
        kind = kinds[int(table["fragile"][row])]
        kind[0] += 1
        kind[1] += holds
        if not holds:
            print(f"NOT in row {row}: signs of layer {layer} that differ: {changed.tolist()} (condition {i}); "
                  f"decision {layer2}:{j} {'changes' if decision else 'stays'}"
                  f"{' (fragile)' if table['fragile'][row] else ''}")
    firm, fragile = kinds[0], kinds[1]
    print(f"{firm[1]} of {firm[0]} firm pairs hold in onnxruntime {onnxruntime.__version__}, and {fragile[1]} of "
          f"{fragile[0]} fragile ones")
    return 1 if firm[1] < firm[0] else 0


if __name__ == "__main__":
    sys.exit(main())
