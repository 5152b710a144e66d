"""Arrays: what fits is not copied, what can be converted is, and what is wrong is said."""

from __future__ import annotations

import numpy as np
import pytest

import deepconcolic as dc


def covered(model, x, **options) -> int:
    return dc.coverage(model, x, noise=False, **options)["nc"].covered


def test_any_memory_layout_gives_the_same_answer(model, x):
    expected = covered(model, x[:50])
    reversed_twice = x[:50][:, ::-1][:, ::-1]
    fortran = np.asfortranarray(x[:50])
    every_second = np.repeat(x[:50], 2, axis=0)[::2]
    read_only = x[:50].copy()
    read_only.flags.writeable = False
    other_bytes = x[:50].astype(">f4") / 255
    for given in (reversed_twice, fortran, every_second, read_only, other_bytes):
        assert covered(model, given) == expected


def test_double_precision_is_narrowed(model, x):
    assert covered(model, x[:50] / 255) == covered(model, x[:50])


def test_an_array_that_fits_is_not_copied(x):
    from deepconcolic import _arrays

    for given in (x, (x / 255).astype(np.float32)):
        assert _arrays.array(given) is given


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (np.zeros((3, 28, 28), np.int64), "dtype int64.*astype"),
        (np.zeros((3, 28, 28), bool), "dtype bool"),
        (np.zeros((3, 28, 28), complex), "dtype complex"),
        (np.array([["a", "b"]]), "no number"),
        (np.array([object()]), "no number"),
        (np.float32(3), "single number"),
        (np.zeros((0, 28, 28), np.float32), "no samples"),
        (np.full((2, 28, 28), 1e300), "single precision"),
        (np.ma.masked_array(np.zeros((2, 28, 28), np.float32), True), "masked"),
        ([[1.0, 2.0], [3.0]], "one shape"),
        (np.zeros((3, 5), np.float32), "784 values a sample, not 5"),
    ],
)
def test_what_is_no_data_is_refused_by_name(model, given, words):
    with pytest.raises(dc.DataError, match=words):
        dc.coverage(model, given)


def test_nan_and_infinity_are_refused_with_their_place(model, x):
    floats = (x[:4] / 255).astype(np.float32)
    for value in (np.nan, np.inf):
        floats[2, 3, 4] = value
        with pytest.raises(dc.DataError, match="sample 2"):
            dc.coverage(model, floats)


def test_labels_that_do_not_fit_are_refused(model, x, y):
    with pytest.raises(dc.DataError, match="299 labels.*300 samples"):
        dc.coverage(model, x, y[:-1])
    with pytest.raises(dc.DataError, match="argmax"):
        dc.coverage(model, x, np.eye(10)[y])
    with pytest.raises(dc.DataError, match="class numbers"):
        dc.coverage(model, x, np.array(["a"] * len(x)))
    with pytest.raises(dc.DataError, match="labels are in it"):
        dc.coverage(model, "somewhere.npz", y)


def test_labels_of_any_whole_type_are_classes(model, x, y):
    for labels in (y.tolist(), y.astype(np.uint8), y.reshape(-1, 1), y.astype(np.int16)):
        assert dc.coverage(model, x, labels, noise=False).accuracy == pytest.approx(0.9367, abs=1e-4)


def test_every_call_refuses_what_is_no_data(model, x, y):
    wrong = np.zeros((3, 28, 28), np.int64)
    holed = (x[:3] / 255).astype(np.float32)
    holed[1, 2, 3] = np.nan
    narrow = np.zeros((3, 27, 28), np.float32)
    calls = [lambda given: dc.run(model, given, seeds=1, budget=5), model, lambda given: model.activations(given, "relu1"), model.active]
    for call in calls:
        for given, words in ((wrong, "int64"), (narrow, "784 values a sample, not 756"), (holed, "sample 1")):
            with pytest.raises(dc.DataError, match=words):
                call(given)


def test_a_view_of_every_second_column_and_a_read_only_array_can_be_run(model, x, y):
    wide = np.repeat(x[:20], 2, axis=2)[:, :, ::2]
    frozen = x[:20].copy()
    frozen.flags.writeable = False
    options = {"criterion": "nc", "seeds": 1, "max_executions": 300, "proofs": False}
    suites = [dc.run(model, given, y[:20], **options).suite.x for given in (x[:20], wide, frozen)]
    assert np.array_equal(suites[0], suites[1]) and np.array_equal(suites[0], suites[2])
    assert not wide.flags.c_contiguous and not frozen.flags.writeable, "the caller's arrays are as they were"
