"""Models of the libraries that users have: exported, read, and the same as the original. Each needs its library and is
skipped where that is not installed."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import types

import numpy as np
import pytest

import deepconcolic as dc


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    return np.random.default_rng(0).random((40, 6), np.float32)


@pytest.fixture(scope="module")
def images() -> np.ndarray:
    return np.random.default_rng(1).random((20, 1, 12, 12), np.float32)


def use(model: dc.Model, x: np.ndarray, labels: np.ndarray) -> None:
    """Everything that is done with a model works with this one."""
    measured = dc.coverage(model, x, labels, noise=False)
    assert measured["nc"].total == model.neurons > 0
    assert measured.accuracy == 1.0, "the labels are what the original says"
    found = dc.run(model, x, labels, "nc", seeds=2, max_executions=300, proofs=False)
    assert found.check().holds and found.replay().passed()


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def keras():
    pytest.importorskip("tf2onnx")
    return pytest.importorskip("keras")


class TestTorch:
    def answers(self, torch, module, x: np.ndarray) -> np.ndarray:
        module.eval()
        with torch.no_grad():
            return module(torch.from_numpy(x)).numpy()

    def test_a_convolutional_module_is_the_same_model(self, torch, images):
        torch.manual_seed(0)
        nn = torch.nn
        module = nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(), nn.Linear(100, 5)
        )
        module.train()
        model = dc.load(module, example=images[:1])
        assert module.training, "the module is left as it was"
        expected = self.answers(torch, module, images)
        assert np.allclose(model(images), expected, atol=1e-5)
        use(model, images, expected.argmax(axis=1))

    def test_an_example_may_be_a_tensor_or_bytes(self, torch, images):
        module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(144, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
        for example in (torch.from_numpy(images[:1]), (images[:2] * 255).astype(np.uint8)):
            assert np.allclose(dc.load(module, example)(images), self.answers(torch, module, images), atol=1e-5)

    def test_without_an_example_or_with_a_wrong_one_the_error_says_so(self, torch, rows):
        module = torch.nn.Linear(6, 2)
        with pytest.raises(dc.ModelError, match=r"example=x\[:1\]"):
            dc.load(module)
        with pytest.raises(dc.ModelError, match=r"does not run on the example of shape \(1, 5\)"):
            dc.load(module, example=rows[:1, :5])
        with pytest.raises(dc.ModelError, match="give the torch.nn.Module"):
            dc.load(torch.zeros(3))

    def test_a_branch_that_depends_on_the_input_is_not_frozen(self, torch, rows):
        """Tracing would write down the branch of the example; the file must not say that of every input."""

        class Branching(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.one, self.other = torch.nn.Linear(6, 2), torch.nn.Linear(6, 2)

            def forward(self, x):
                return self.one(x) if x.sum() > 0 else self.other(x)

        with pytest.raises(dc.ModelError, match="torch.onnx.export cannot export this module"):
            dc.load(Branching(), example=rows[:1])

    def test_what_a_module_computes_beside_torch_is_not_frozen(self, torch, rows):
        class Centred(torch.nn.Module):
            def forward(self, x):
                return x - float(x.detach().numpy().mean())

        class Remembering(torch.nn.Module):
            def forward(self, x):
                # Tracers see a number here, which is that of the example.
                return x + torch.tensor(x.detach().numpy().max().item() * 3)

        for module in (Centred(), Remembering()):
            try:
                loaded = dc.load(module, example=rows[:1])
            except dc.ModelError:
                continue
            # An exporter that reads the code may know what numpy computes.
            assert np.allclose(loaded(rows[1:2]), self.answers(torch, module, rows[1:2]), atol=1e-5)

    def test_other_precisions_are_refused_with_a_way_out(self, torch, rows):
        for dtype in (torch.float64, torch.bfloat16):
            with pytest.raises(dc.ModelError, match=rf"computes in {dtype}.*module.float\(\)"):
                dc.load(torch.nn.Linear(6, 2).to(dtype), example=torch.from_numpy(rows[:1]).to(dtype))
        model = dc.load(torch.nn.Linear(6, 2), example=rows[:1])
        with pytest.raises(dc.DataError, match="x cannot be had as an array.*float"):
            model(torch.from_numpy(rows).bfloat16())

    def test_the_reason_of_an_exporter_is_its_own_and_not_its_advice(self, torch, rows):
        class Branching(torch.nn.Module):
            def forward(self, x):
                return x if x.sum().item() > 0 else -x

        with pytest.raises(dc.ModelError) as raised:
            dc.load(Branching(), example=rows[:1])
        assert "\x1b" not in str(raised.value) and "Next steps" not in str(raised.value)

    def test_a_module_that_is_random_is_refused(self, torch, rows):
        class Random(torch.nn.Module):
            def forward(self, x):
                return x + torch.rand(6)

        with pytest.raises(dc.ModelError):
            dc.load(Random(), example=rows[:1])

    def test_an_operator_that_onnx_has_not_is_named(self, torch, rows):
        class Odd(torch.nn.Module):
            def forward(self, x):
                return torch.special.bessel_j0(x)

        with pytest.raises(dc.ModelError, match="(?i)torch.onnx.export cannot export.*bessel_j0.*by hand"):
            dc.load(Odd(), example=rows[:1])


class TestKeras:
    def test_images_with_channels_last_are_the_same_model(self, keras, images, tmp_path):
        keras.utils.set_random_seed(0)
        layers = keras.layers
        model = keras.Sequential(
            [keras.Input((12, 12, 1)), layers.Conv2D(4, 3, activation="relu"), layers.Flatten(), layers.Dense(5)]
        )
        x = np.ascontiguousarray(images.transpose(0, 2, 3, 1))
        expected = model.predict(x, verbose=0)
        loaded = dc.load(model)
        assert np.allclose(loaded(x), expected, atol=1e-5)
        model.save(tmp_path / "model.keras")
        from_file = keras.models.load_model(tmp_path / "model.keras")
        assert np.allclose(dc.load(from_file)(x), expected, atol=1e-5), "it was never called"
        use(loaded, x, expected.argmax(axis=1))

    def test_a_functional_model_and_one_of_ones_own_class(self, keras, rows):
        entry = keras.Input((6,))
        hidden = keras.layers.Dense(8, activation="relu")(entry)
        functional = keras.Model(entry, keras.layers.Dense(3, activation="softmax")(hidden))

        class Own(keras.Model):
            def __init__(self):
                super().__init__()
                self.hidden, self.last = keras.layers.Dense(5, activation="relu"), keras.layers.Dense(2)

            def call(self, x):
                return self.last(self.hidden(x))

        own = Own()
        own(rows[:1])
        for model in (functional, own):
            expected = model.predict(rows, verbose=0)
            assert np.allclose(dc.load(model)(rows), expected, atol=1e-5)

    def test_a_model_that_was_not_built_says_so(self, keras):
        with pytest.raises(dc.ModelError, match="cannot be converted.*by hand"):
            dc.load(keras.Sequential([keras.layers.Dense(3)]))


class TestScikitLearn:
    @pytest.fixture(autouse=True)
    def converter(self):
        pytest.importorskip("skl2onnx")

    def test_a_classifier_alone_and_behind_a_scaler(self):
        from sklearn.datasets import load_iris
        from sklearn.neural_network import MLPClassifier
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        inputs, labels = load_iris(return_X_y=True)
        classifier = MLPClassifier((8,), max_iter=60, random_state=0)
        for fitted in (classifier.fit(inputs, labels), make_pipeline(StandardScaler(), classifier).fit(inputs, labels)):
            model = dc.load(fitted)
            predicted = fitted.predict(inputs)
            assert np.array_equal(model.labels(inputs), predicted)
            assert dc.coverage(model, inputs, labels).accuracy == fitted.score(inputs, labels)
            use(model, inputs.astype(np.float32), predicted)

    def test_a_regression_and_what_has_no_neurons(self, rows):
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.neural_network import MLPRegressor

        target = rows @ np.arange(6)
        regressor = MLPRegressor(hidden_layer_sizes=(8,), max_iter=50, random_state=0).fit(rows, target)
        assert np.allclose(dc.load(regressor)(rows).ravel(), regressor.predict(rows), atol=1e-4)
        forest = RandomForestClassifier(3, random_state=0).fit(rows, target > target.mean())
        with pytest.raises(dc.ModelError):
            dc.load(forest)
        with pytest.raises(dc.ModelError, match="not fitted"):
            dc.load(MLPRegressor())


# What each block of the guide is given, and what must hold of the file it writes.
GUIDE = {
    "torch.onnx.export": (
        ("torch", "onnxscript"),
        """
import torch
model = torch.nn.Sequential(torch.nn.Conv2d(3, 2, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(1800, 4))
""",
        """
x = np.random.default_rng(0).random((3, 3, 32, 32), np.float32)
assert np.allclose(dc.load("model.onnx")(x), model(torch.from_numpy(x)).detach().numpy(), atol=1e-4)
""",
    ),
    "model.export(": (
        ("keras", "tf2onnx"),
        """
import keras
X_test = np.random.default_rng(0).random((5, 12, 12, 1), np.float32)
hidden = keras.layers.Conv2D(2, 3, activation="relu")
model = keras.Sequential([keras.Input((12, 12, 1)), hidden, keras.layers.Flatten(), keras.layers.Dense(3)])
""",
        "assert np.allclose(dc.load('model.onnx')(X_test), model.predict(X_test, verbose=0), atol=1e-4)",
    ),
    "skl2onnx": (
        ("skl2onnx",),
        """
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
X = np.random.default_rng(0).random((40, 6))
labels = (X.sum(axis=1) > 3).astype(int)
pipeline = make_pipeline(StandardScaler(), MLPClassifier((5,), max_iter=30, random_state=0)).fit(X, labels)
""",
        "assert np.array_equal(dc.load('model.onnx').labels(X), pipeline.predict(X))",
    ),
    "np.savez": (
        (),
        "X_test, y_test = np.ones((4, 3)), np.arange(4)",
        "assert np.load('data.npz')['x'].dtype == np.float32",
    ),
}


@pytest.mark.parametrize("line", GUIDE)
def test_the_lines_that_the_guide_shows_export_what_can_be_read(line, tmp_path, demo):
    """The block of docs/first-run.md with this line, as it is written there, in a process of its own: some of these libraries
    do not go together in one."""
    packages, before, after = GUIDE[line]
    for package in packages:
        _installed(package)
    guide = (demo.parents[1] / "docs" / "first-run.md").read_text()
    (block,) = [part.split("```")[0] for part in guide.split("```python\n")[1:] if line in part.split("```")[0]]
    script = "\n".join(["import numpy as np", "import deepconcolic as dc", before, block, after])
    ran = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def _installed(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")


def test_a_module_that_torch_cannot_export_says_why(monkeypatch):
    """With a stand-in for torch, so that it also runs where torch is not installed."""
    import contextlib

    class Module:
        __module__ = "torch.nn"
        training = True

        def parameters(self):
            return iter(())

        def __call__(self, x):
            return None

        def eval(self):
            self.training = False

        def train(self, mode):
            self.training = mode

    def export(*_, **__):
        raise RuntimeError("Unsupported: aten::odd_operator\nmore lines")

    torch = types.ModuleType("torch")
    torch.Tensor = type("Tensor", (), {})
    torch.uint8 = "uint8"
    torch.from_numpy = lambda array: types.SimpleNamespace(dtype="float32", shape=array.shape)
    torch.no_grad = contextlib.nullcontext
    torch.onnx = types.SimpleNamespace(export=export)
    torch.jit = types.SimpleNamespace(TracerWarning=type("TracerWarning", (Warning,), {}))
    torch.nn = types.SimpleNamespace(Module=Module)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    module = Module()
    with pytest.raises(dc.ModelError, match="aten::odd_operator.*onnxscript.*by hand"):
        dc.load(module, example=np.zeros((1, 4), np.float32))
    assert module.training, "the module is left as it was"


def test_without_the_converter_its_name_is_in_the_error(monkeypatch):
    keras = type("Sequential", (), {"__module__": "keras.models"})
    monkeypatch.setitem(sys.modules, "tf2onnx", None)
    with pytest.raises(ImportError, match="pip install tf2onnx"):
        dc.load(keras())
    sklearn = type("MLPClassifier", (), {"__module__": "sklearn.neural_network"})
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match="pip install skl2onnx"):
        dc.load(sklearn())
