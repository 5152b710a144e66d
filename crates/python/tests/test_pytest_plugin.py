"""The plugin, in pytest runs of its own."""

from __future__ import annotations

import importlib.util
import shutil

import pytest

SAFE = """
    import numpy as np
    import pytest

    DATA = np.load({data!r})
    SHORT = dict(seeds=1, max_executions=600, proofs=False)

    @pytest.mark.parametrize("number", range(2))
    def test_coverage(deepconcolic, number):
        subject = deepconcolic({model!r}, DATA["x"], DATA["y"], **SHORT)
        subject.require(nc=0.5)
        assert subject.runs["nc"].covered > 0
"""

UNSAFE = """
    import numpy as np

    DATA = np.load({data!r})

    def test_unsafe(deepconcolic):
        options = dict(seeds=1, max_executions=600, proofs=False)
        deepconcolic({model!r}, DATA["x"], DATA["y"], **options).require(nc=0.999, adversarial=0)

    def test_safety(deepconcolic):
        deepconcolic({model!r}, DATA["x"], DATA["y"], seeds=1).require(safety=dict(radius=0.3, budget=10))
"""


@pytest.fixture
def written(pytester, demo):
    """A copy of the model, and files of tests about it."""
    model = pytester.path / "model.onnx"
    shutil.copy(demo / "fashion_cnn.onnx", model)
    names = {"model": str(model), "data": str(demo / "fashion_test.npz")}
    return lambda text: pytester.makepyfile(text.format(**names))


def test_what_holds_passes_also_under_xdist(pytester, written):
    written(SAFE)
    pytester.runpytest_subprocess("-q").assert_outcomes(passed=2)
    pytest.importorskip("xdist")
    pytester.runpytest_subprocess("-q", "-n", "2").assert_outcomes(passed=2)


def test_a_failure_shows_the_command_and_the_nearest_adversarial_input(pytester, written):
    written(UNSAFE)
    found = pytester.runpytest_subprocess("-q")
    found.assert_outcomes(failed=2)
    found.stdout.fnmatch_lines_random(
        [
            "nc: * possible goals are covered, * 99.90 % are required *",
            "nc: * adversarial tests, and at most 0 are allowed",
            "  nearest: row * of *suite.npz, * from sample *: label * instead of *",
            "  replay: python -m deepconcolic replay *",
            "safety: refuted for 1 of 1 regions *",
        ]
    )
    assert "Traceback" not in found.stdout.str()


def test_the_baseline_is_kept_on_demand_and_notices_another_model(pytester, written, demo):
    written(SAFE)
    folder = pytester.path / "deepconcolic-baseline"
    pytester.runpytest_subprocess("-q").assert_outcomes(passed=2)
    assert not folder.exists(), "nothing is kept unless asked for"
    pytester.runpytest_subprocess("-q", "--deepconcolic-update").assert_outcomes(passed=2)
    assert len(list(folder.glob("*.npz"))) == 2
    pytester.runpytest_subprocess("-q").assert_outcomes(passed=2)
    # The same network with its last weights gone: it says something else.
    content = bytearray((demo / "fashion_cnn.onnx").read_bytes())
    changed = _with_other_outputs(bytes(content))
    (pytester.path / "model.onnx").write_bytes(changed)
    found = pytester.runpytest_subprocess("-q", "-k", "0")
    found.stdout.fnmatch_lines(["* tests of the baseline * have another label now:", "  row *: label *, was *"])


ALIKE = """
    import numpy as np
    import pytest

    DATA = np.load({data!r})

    class TestFirst:
        @pytest.mark.parametrize("name", ["a/b", "a-b"])
        def test_it(self, deepconcolic, name):
            subject = deepconcolic({model!r}, DATA["x"], DATA["y"], seeds=1, max_executions=600, proofs=False)
            subject.require(nc=0.1)
            assert subject.runs["nc"].check().holds

    class TestSecond(TestFirst):
        pass
"""


def test_tests_of_the_same_name_have_runs_and_baselines_of_their_own(pytester, written):
    one = written(ALIKE)
    for folder in ("left", "right"):
        pytester.mkdir(folder)
        (pytester.path / folder / "__init__.py").touch()
        shutil.copy(one, pytester.path / folder / "test_alike.py")
    one.unlink()
    parallel = ["-n", "2"] if importlib.util.find_spec("xdist") else []
    pytester.runpytest_subprocess("-q", "--deepconcolic-update", *parallel).assert_outcomes(passed=8)
    for folder in ("left", "right"):
        assert len(list((pytester.path / folder / "deepconcolic-baseline").glob("*.npz"))) == 4
    assert len(list(pytester.path.glob(".pytest_cache/d/deepconcolic/*/*"))) == 8


def _with_other_outputs(content: bytes) -> bytes:
    onnx = pytest.importorskip("onnx")
    import numpy as np

    proto = onnx.load_model_from_string(content)
    weights = [tensor for tensor in proto.graph.initializer if list(tensor.dims)[-1:] == [10] or list(tensor.dims)[:1] == [10]]
    for tensor in weights:
        values = onnx.numpy_helper.to_array(tensor)
        tensor.CopyFrom(onnx.numpy_helper.from_array(np.ascontiguousarray(np.flip(values)), tensor.name))
    return proto.SerializeToString()
