"""Models: from every form users have them in, and what they say."""

from __future__ import annotations

import sys

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


def test_without_the_converter_its_name_is_in_the_error(monkeypatch):
    keras = type("Sequential", (), {"__module__": "keras.models"})
    monkeypatch.setitem(sys.modules, "tf2onnx", None)
    with pytest.raises(ImportError, match="pip install tf2onnx"):
        dc.load(keras())
    sklearn = type("MLPClassifier", (), {"__module__": "sklearn.neural_network"})
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match="pip install skl2onnx"):
        dc.load(sklearn())


def test_a_scikit_learn_classifier_is_read_and_agrees():
    pytest.importorskip("skl2onnx")
    from sklearn.datasets import load_iris
    from sklearn.neural_network import MLPClassifier

    inputs, labels = load_iris(return_X_y=True)
    classifier = MLPClassifier((8,), max_iter=60, random_state=0).fit(inputs, labels)
    model = dc.load(classifier)
    assert np.array_equal(model.labels(inputs), classifier.predict(inputs))
    assert dc.coverage(model, inputs, labels).accuracy == classifier.score(inputs, labels)


def test_a_torch_module_is_exported_or_the_reason_is_said():
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    inputs = np.random.default_rng(0).random((5, 4), np.float32)
    with pytest.raises(dc.ModelError, match="example"):
        dc.load(module)
    answers = dc.load(module, example=inputs[:1])(inputs)
    assert np.allclose(answers, module(torch.from_numpy(inputs)).detach().numpy(), atol=1e-5)

    class Odd(torch.nn.Module):
        def forward(self, x):
            raise RuntimeError("cannot be traced")

    with pytest.raises(dc.ModelError, match="cannot be traced"):
        dc.load(Odd(), example=inputs[:1])


def test_a_module_that_torch_cannot_export_says_why(monkeypatch):
    """With a stand-in for torch, so that it also runs where torch is not installed."""
    import types

    class Module:
        __module__ = "torch.nn"
        training = True

        def eval(self):
            self.training = False

        def train(self, mode):
            self.training = mode

    class Tensor:
        pass

    def export(*_, **__):
        raise RuntimeError("Unsupported: aten::odd_operator\nmore lines")

    torch = types.ModuleType("torch")
    torch.Tensor = Tensor
    torch.uint8 = "uint8"
    torch.from_numpy = lambda array: types.SimpleNamespace(dtype="float32")
    torch.no_grad = lambda: __import__("contextlib").nullcontext()
    torch.onnx = types.SimpleNamespace(export=export)
    monkeypatch.setitem(sys.modules, "torch", torch)
    module = Module()
    with pytest.raises(dc.ModelError, match="aten::odd_operator.*by hand"):
        dc.load(module, example=np.zeros((1, 4), np.float32))
    assert module.training, "the module is left as it was"
