"""Properties, parts and the command inside the package."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import deepconcolic as dc


def unsafe(demo_input: np.ndarray, radius: float, label: int, bound: float) -> str:
    """Some input near this one whose score for a label is at least so high."""
    values = demo_input.ravel()
    lines = [f"(declare-const X_{i} Real)" for i in range(len(values))]
    lines += [f"(declare-const Y_{i} Real)" for i in range(10)]
    for i, value in enumerate(values):
        low, high = max(0.0, value - radius), min(1.0, value + radius)
        lines += [f"(assert (>= X_{i} {low}))", f"(assert (<= X_{i} {high}))"]
    return "\n".join([*lines, f"(assert (>= Y_{label} {bound}))"]) + "\n"


def test_a_property_is_answered_with_what_shows_it(model, x, demo, tmp_path):
    image = x[0] / 255
    reached = float(model(x[:1])[0].max())
    label = int(model.labels(x[:1])[0])
    sat = dc.verify(model, unsafe(image, 0.001, label, reached - 0.5), timeout=30)
    assert sat.verdict == "sat" and not sat.passed()
    assert model(sat.input.reshape(1, 1, 28, 28))[0, label] >= reached - 0.5
    content = (demo / "fashion_cnn.onnx").read_bytes()
    unsat = dc.verify(content, unsafe(image, 0.001, label, reached + 50), timeout=30, out=tmp_path / "answer")
    assert unsat.verdict == "unsat" and unsat.passed()
    assert dc.check(tmp_path / "answer").holds
    with pytest.raises(dc.RequirementsError):
        dc.verify(model, "(assert (>= X_0")


def test_parts_of_plain_processes_are_one_run_after_merge(demo, tmp_path):
    """What Slurm arrays, Kubernetes jobs and HyperQueue tasks do: one process a part, then merge."""
    model, data = str(demo / "fashion_cnn.onnx"), str(demo / "fashion_test.npz")
    common = ["run", model, "--data", data, "--criterion", "nc", "--seeds", "1", "--radius", "0.3", "--max-executions", "1500"]

    def start(out: str, *more: str) -> subprocess.Popen:
        words = [sys.executable, "-m", "deepconcolic", *common, "--out", out, "--quiet", *more]
        return subprocess.Popen(words, cwd=tmp_path)

    parts = [start(f"part-{i}", "--partition", f"{i}/3", "--threads", "1") for i in (1, 2, 3)]
    assert [part.wait() for part in parts] == [0, 0, 0]
    merged = dc.merge(tmp_path / "merged", [tmp_path / f"part-{i}" for i in (3, 1, 2)])
    assert merged.check().holds
    assert merged.total == 1816
    alone = [dc.open_run(tmp_path / f"part-{i}") for i in (1, 2, 3)]
    assert merged.covered >= sum(part.covered for part in alone)
    with pytest.raises(dc.Error):
        dc.merge(tmp_path / "nothing", [tmp_path / "absent"])


def test_parts_of_arrays_can_be_merged(model, x, y, tmp_path):
    options = {"criterion": "nc", "seeds": 1, "max_executions": 400, "proofs": False}
    for i in (1, 2):
        dc.run(model, x, y, **options, partition=f"{i}/2", out=tmp_path / f"{i}")
    merged = dc.merge(tmp_path / "all", [tmp_path / "1", tmp_path / "2"])
    assert merged.check().holds and (merged.folder / "data.npz").exists()


def test_the_command_is_inside_and_has_its_exit_codes(demo, tmp_path):
    def code(*words: str) -> subprocess.CompletedProcess:
        return subprocess.run([sys.executable, "-m", "deepconcolic", *words], capture_output=True, text=True, cwd=tmp_path)

    shown = code("inspect", str(demo / "fashion_cnn.onnx"))
    assert shown.returncode == 0 and "relu3" in shown.stdout
    assert code("inspect", "absent.onnx").returncode == 2
    assert code("no-such-command").returncode == 2
    assert dc.__version__ in code("--version").stdout


def test_the_package_imports_without_anything_but_what_is_used():
    script = """
import sys, deepconcolic
heavy = ('ray', 'pandas', 'tqdm', 'onnx', 'torch', 'numpy')
print([name for name in heavy if name in sys.modules])
assert set(deepconcolic.__all__) <= set(dir(deepconcolic))
for name in deepconcolic.__all__:
    getattr(deepconcolic, name)
assert callable(deepconcolic.coverage) and not hasattr(deepconcolic, 'no_such_name')
print([name for name in heavy if name in sys.modules])
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.split("\n")[:2] == ["[]", "['numpy']"]


def test_the_package_is_imported_in_a_moment():
    """The shortest of several, so that a busy machine does not count."""
    script = "import time; begun = time.perf_counter(); import deepconcolic; print(time.perf_counter() - begun)"
    seconds = [
        float(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout) for _ in range(5)
    ]
    assert min(seconds) < 0.2
