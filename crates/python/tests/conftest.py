"""What all tests share: the demo network of the repository, its data, and one short run."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import deepconcolic as dc

ROOT = Path(os.environ.get("DEEPCONCOLIC_CHECKOUT", Path(__file__).parents[3]))
DEMO = ROOT / "testdata" / "demo"

pytest_plugins = ["pytester"]


@pytest.fixture(scope="session")
def demo() -> Path:
    """The folder of the demo network."""
    return DEMO


@pytest.fixture(scope="session")
def data(demo: Path) -> tuple[np.ndarray, np.ndarray]:
    """Images as bytes, and labels."""
    with np.load(demo / "fashion_test.npz") as arrays:
        return arrays["x"], arrays["y"]


@pytest.fixture(scope="session")
def x(data):
    return data[0]


@pytest.fixture(scope="session")
def y(data):
    return data[1]


@pytest.fixture(scope="session")
def model(demo: Path) -> dc.Model:
    return dc.load(demo / "fashion_cnn.onnx")


@pytest.fixture(scope="session")
def result(demo, x, y, tmp_path_factory) -> dc.Run:
    """A short run on a model and arrays that are in memory alone, kept in a folder."""
    out = tmp_path_factory.mktemp("run") / "nc"
    return dc.run((demo / "fashion_cnn.onnx").read_bytes(), x, y, "nc", seeds=1, radius=0.3, max_executions=600, proofs=False, out=out)


@pytest.fixture
def beside_model(tmp_path, demo, monkeypatch) -> Path:
    """A working folder with the demo network as model.onnx."""
    shutil.copy(demo / "fashion_cnn.onnx", tmp_path / "model.onnx")
    monkeypatch.chdir(tmp_path)
    return tmp_path
