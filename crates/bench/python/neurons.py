"""Judges a run of `nc` in onnxruntime: what is covered by its tests, what is infeasible by random inputs.

    python neurons.py RUN_FOLDER [KINDS] [DRAWS]

KINDS are the activation operators of the model's hidden layers (default Relu), DRAWS how many inputs are drawn
in the ball round each seed (default 1000): half of them at random places, half at corners and faces. Needs the
packages onnx, onnxruntime and numpy, and a run with a radius in L-infinity on the domain 0..1. Exits with 1 if a
covered requirement is not met by its test, or an infeasible one is met by a drawn input.
"""

import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime


def main():
    folder = pathlib.Path(sys.argv[1])
    kinds = sys.argv[2].split(",") if len(sys.argv) > 2 else ["Relu"]
    draws = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
    run = json.loads((folder / "run.json").read_text())
    model = onnx.load(run["model"]["path"])
    names = [node.input[0] for node in model.graph.node if node.op_type in kinds]
    for name in names:
        model.graph.output.append(onnx.helper.make_empty_tensor_value_info(name))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    given = session.get_inputs()[0]
    shape = [1] + [d if isinstance(d, int) else 1 for d in given.shape[1:]]

    def u(x):
        values = session.run(names, {given.name: x.reshape(shape).astype(np.float32)})
        return np.concatenate([value.ravel() for value in values])

    suite = np.load(folder / "suite.npz")
    table = np.load(folder / "requirements.npz")
    inputs, parents = suite["x"], suite["parent"]
    state, test = table["state"], table["test"]
    covered, infeasible = np.flatnonzero(state == 1), np.flatnonzero(state == 2)
    held = 0
    for number in np.unique(test[covered]):
        mine = covered[test[covered] == number]
        held += int((u(inputs[number])[mine] >= 0).sum())
    print(f"covered: {held} of {len(covered)} are met by their tests in onnxruntime {onnxruntime.__version__}")

    rng = np.random.default_rng(0)
    largest = np.full(len(infeasible), -np.inf)
    for seed in inputs[parents == -1]:
        for draw in range(draws if len(infeasible) else 0):
            step = rng.uniform(-1, 1, seed.shape) if draw % 2 else rng.integers(-1, 2, seed.shape)
            value = u(np.clip(seed + run["radius"] * step, 0, 1))
            largest = np.maximum(largest, value[infeasible])
    met = int((largest >= 0).sum())
    print(f"infeasible: {met} of {len(infeasible)} are met by one of {draws} inputs drawn round each seed")
    return 1 if met or held < len(covered) else 0


if __name__ == "__main__":
    sys.exit(main())
