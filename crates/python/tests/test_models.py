"""Models: from every form users have them in, and what they say."""

from __future__ import annotations

import numpy as np
import pytest

import deepconcolic as dc


def test_path_bytes_and_proto_are_the_same_model(demo, model, x):
    content = (demo / "fashion_cnn.onnx").read_bytes()

    class Proto:
        def SerializeToString(self):
            return content

    expected = model(x[:20])
    for given in (content, bytearray(content), Proto(), str(demo / "fashion_cnn.onnx")):
        assert np.array_equal(dc.load(given)(x[:20]), expected)


def test_layers_are_those_of_inspect(model):
    assert [layer.name for layer in model.layers] == ["relu1", "relu2", "relu3"]
    assert model.layers[0].shape == (8, 13, 13)
    assert model.neurons == sum(layer.neurons for layer in model.layers) == 1816
    assert model.input_shape == (1, 28, 28)


def test_activations_before_and_after_a_relu_agree(model, x):
    before = model.activations(x[:7], "relu2", pre=True)
    after = model.activations(x[:7], 3)
    assert before.shape == (7, 12, 6, 6)
    assert np.array_equal(np.maximum(before, 0), after)


def test_bytes_are_divided_by_255_and_floats_are_not(model, x):
    assert np.array_equal(model(x[:9]), model((x[:9] / 255).astype(np.float32)))


def test_masks_per_sample_are_what_coverage_counts(model, x):
    masks = model.active(x)
    assert masks.shape == (len(x), model.neurons)
    assert int(masks.any(axis=0).sum()) == dc.coverage(model, x, noise=False)["nc"].covered


def test_an_unknown_layer_names_those_there_are(model, x):
    with pytest.raises(dc.UsageError, match="relu1"):
        model.activations(x[:1], "relu9")


def test_a_model_that_is_none_is_refused_with_a_way_out(tmp_path):
    with pytest.raises(dc.ModelError, match="export it to ONNX"):
        dc.load(object())
    with pytest.raises(dc.ModelError):
        dc.load(b"no model at all")
    with pytest.raises(dc.ModelError, match="absent.onnx"):
        dc.load(tmp_path / "absent.onnx")
    (tmp_path / "model.h5").write_bytes(b"x")
    with pytest.raises(dc.ModelError, match="(?i)onnx|keras"):
        dc.load(tmp_path / "model.h5")
