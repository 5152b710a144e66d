"""Replays every adversarial test of a run of deepconcolic in onnxruntime.

Each test fails as long as the model answers otherwise than it should: as for the nearest real input. Run with
`pytest test_failures.py`; set DEEPCONCOLIC_MODEL to try another model file.
"""

import json
import os
import pathlib

import numpy as np
import pytest

onnxruntime = pytest.importorskip("onnxruntime")

HERE = pathlib.Path(__file__).parent
ABOUT = json.loads((HERE / "failures.json").read_text())
FAILURES = np.load(HERE / "failures.npz")


@pytest.fixture(scope="module")
def session():
    model = os.environ.get("DEEPCONCOLIC_MODEL", ABOUT["model"])
    return onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])


def normalised(x):
    """What stands in front of the model: the mean subtracted, then divided by the deviation."""
    for name, apply in (("mean", np.subtract), ("std", np.divide)):
        numbers = ABOUT[name]
        if numbers is None:
            continue
        numbers = np.asarray(numbers, dtype=np.float32)
        if x.ndim == 3 and len(numbers) == x.shape[0]:
            numbers = numbers[:, None, None]
        x = apply(x, numbers)
    return x.astype(np.float32)


def output_of(session, x):
    """The first output of floating-point numbers."""
    wanted = next(output.name for output in session.get_outputs() if "float" in output.type)
    given = session.get_inputs()[0]
    return session.run([wanted], {given.name: normalised(x)[None]})[0][0].reshape(-1)


def answer_of(output):
    rule, _, number = ABOUT["decision"].partition(":")
    if rule == "argmax":
        return int(np.argmax(output))
    if rule == "threshold":
        return int(output[0] >= float(number))
    return output


@pytest.mark.parametrize("row", range(len(FAILURES["x"])), ids=lambda row: f"test{FAILURES['test'][row]}")
def test_the_answer_is_that_of_the_nearest_real_input(session, row):
    answer = answer_of(output_of(session, FAILURES["x"][row]))
    expected = FAILURES["y"][row]
    if ABOUT["decision"].startswith("within:"):
        allowed = float(ABOUT["decision"].partition(":")[2])
        assert np.all(np.abs(answer - expected) <= allowed), f"{answer} is not within {allowed} of {expected}"
    else:
        assert answer == expected, f"taken for {answer}, should be {expected}"
