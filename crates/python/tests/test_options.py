"""Options: numbers of numpy are numbers, and what is none is said by its name."""

from __future__ import annotations

import numpy as np
import pytest

import deepconcolic as dc

SHORT = {"criterion": "nc", "seeds": 1, "radius": 0.3, "max_executions": 300, "proofs": False}


def test_numbers_of_numpy_are_numbers(model, x, y):
    of_numpy = {
        "seeds": np.int64(1),
        "radius": np.float32(0.3),
        "max_executions": np.int32(300),
        "rng_seed": np.uint8(0),
        "scale": np.float64(255),
        "budget": np.float32(60),
        "minimise": np.bool_(False),
        "threads": np.int64(1),
    }
    expected = dc.run(model, x, y, **{**SHORT, "radius": float(np.float32(0.3))})
    assert np.array_equal(dc.run(model, x, y, **{**SHORT, **of_numpy}).suite.x, expected.suite.x)
    assert len(dc.coverage(model, x, noise=False, open=np.int64(3))["nc"].open) == 3
    assert expected.resume(budget=None, max_executions=np.int64(400)).stop == "executions"


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("rng_seed", -1, "rng_seed is a whole number.*-1"),
        ("rng_seed", 1.5, "rng_seed is a whole number.*1.5"),
        ("rng_seed", 2**70, "rng_seed is a whole number"),
        ("max_executions", "many", "max_executions is a whole number.*'many'"),
        ("threads", -1, "threads is a whole number.*-1"),
        ("threads", "2", "threads is a whole number"),
        ("scale", "a", "scale is a number, not 'a'"),
        ("scale", float("nan"), "scale is nan"),
        ("threshold", float("nan"), "threshold is nan"),
        ("minimise", "yes", "minimise is True or False"),
        ("norm", 3, "norm is text, not 3"),
        ("norm", "l7", "not a norm$"),
        ("partition", "3/2", "from 1 to n[^\n]*\\)$"),
        ("radius", [0.1], r"radius \[0.1\] is no number"),
        ("radius", float("nan"), "radius nan is no number"),
        ("budget", [1], r"\[1\] is no time"),
        ("domain", (0,), "domain is two numbers"),
        ("domain", (0, "a"), "domain 'a' is no number"),
        ("seeds", "all", "seeds are a number, or a list"),
        ("seeds", 1.5, "seeds are a number, or a list"),
        ("seeds", [], "seeds are a number, or a list"),
        ("layers", 3, "layers is a list of names"),
        ("fixed", 0, "a list of names"),
        ("oracle", 5, "oracle is a function"),
        ("criterion", 3, "3 is no criterion"),
        ("criterion", ["nc", 3], "3 is no criterion"),
        ("criterion", [], "an empty list is no criterion"),
        ("criterion", "nc:nan", "'nan' is no number of threshold"),
        ("requirements", "", "nothing in it"),
        ("criteria", ["nc"], "is criterion meant"),
        ("epsilon", 0.1, "is radius meant"),
    ],
)
def test_what_is_no_value_of_an_option_is_said_by_its_name(model, x, y, option, value, words):
    with pytest.raises(dc.UsageError, match=words) as raised:
        dc.run(model, x, y, **{**SHORT, option: value})
    assert "line 1 column" not in str(raised.value), "jobs are no text of the caller's"


def test_other_calls_say_what_is_wrong_with_their_options(demo, model, x, tmp_path):
    path = demo / "fashion_cnn.onnx"
    for call, words in [
        (lambda: dc.load(path, mean="a"), "mean is a number"),
        (lambda: dc.load(path, std=[[0.1]]), "std is a number"),
        (lambda: dc.load(path, input_shape=5), "input_shape is a list of sizes"),
        (lambda: dc.load(path, input_shape=(-1, 28, 28)), "input_shape is a list of sizes"),
        (lambda: model(x, output=0), "name of an output"),
        (lambda: dc.coverage(model, x, open=-1), "open is a whole number"),
        (lambda: dc.coverage(model, x, threads=-1), "threads is a whole number"),
        (lambda: dc.coverage(model, x, criteria=[]), "no criterion"),
        (lambda: dc.coverage(model, x, noise=False).passed(kmnc=0.5), "kmnc was not measured; these were: nc"),
        (lambda: dc.verify(model, ""), "nothing in it"),
        (lambda: dc.verify(model, None), "VNN-LIB file"),
        (lambda: dc.merge(tmp_path / "out", "part"), "parts are a list"),
        (lambda: dc.check(tmp_path, threads=-1), "threads is a whole number"),
    ]:
        with pytest.raises(dc.UsageError, match=words):
            call()


def test_the_layer_of_a_run_may_be_named_by_itself(model, x, y):
    assert dc.run(model, x, y, **SHORT, layers="relu3").total == 32
