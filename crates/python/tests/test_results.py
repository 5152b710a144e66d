"""Results: they go to other processes, leave nothing behind, and say whose verdicts they have."""

from __future__ import annotations

import copy
import gc
import multiprocessing
import os
import pickle
import signal
import threading
import warnings

import numpy as np
import pytest

import deepconcolic as dc

SHORT = {"criterion": "nc", "seeds": 1, "radius": 0.3, "max_executions": 600, "proofs": False}


def odd(inputs, labels):
    return labels % 2 == 1


def test_results_are_pickled_and_copied(model, x, y, tmp_path):
    found = dc.run(model, x, y, **SHORT)
    again = pickle.loads(pickle.dumps(found))
    assert again.folder != found.folder and np.array_equal(again.suite.x, found.suite.x) and again.check().holds
    scratch = again.folder
    del again
    gc.collect()
    assert not scratch.exists(), "it has a temporary folder of its own"
    for copied in (copy.copy(found), copy.deepcopy(found)):
        assert copied.folder == found.folder
    saved = found.save(tmp_path / "saved")
    assert pickle.loads(pickle.dumps(saved)).folder == saved.folder
    measured = dc.coverage(model, x, y, noise=False)
    for one in (measured, found.suite, found.check(), found.replay(), found.plots["tests"], dc.UsageError("no")):
        assert repr(pickle.loads(pickle.dumps(one))) == repr(one)


def test_models_are_pickled_by_their_file_or_content(demo, model, x):
    path = demo / "fashion_cnn.onnx"
    for given in (model, dc.load(path.read_bytes(), mean=0.1, std=0.5)):
        again = pickle.loads(pickle.dumps(given))
        assert again.path == given.path and np.array_equal(again(x[:9]), given(x[:9]))


def _covered(queue, model, x, y):
    queue.put((dc.coverage(model, x, noise=False)["nc"].covered, dc.run(model, x, y, **SHORT).covered))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_goes_on_with_the_package(model, x, y, result):
    expected = dc.coverage(model, x, noise=False)["nc"].covered, result.covered
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    with warnings.catch_warnings():
        # Python says that a process with threads is forked, which is what is tried here.
        warnings.simplefilter("ignore")
        child = context.Process(target=_covered, args=(queue, model, x, y))
        child.start()
    assert queue.get(timeout=120) == expected
    child.join()


def test_several_threads_use_one_model_at_once(model, x, y, result):
    found = []

    def work(count):
        found.append((len(model.active(x[:count])), dc.run(model, x, y, **SHORT, threads=1).covered))

    threads = [threading.Thread(target=work, args=(count,)) for count in (5, 6, 7, 8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [(count, result.covered) for count in (5, 6, 7, 8)]


def test_two_threads_may_wait_for_one_session(model, x, y):
    for _ in range(3):
        session = dc.Session(model, x, y, **{**SHORT, "max_executions": 3000})
        failures = []

        def listen():
            try:
                list(session)
            except dc.Error as failure:
                failures.append(failure)

        other = threading.Thread(target=listen)
        other.start()
        assert session.result().covered > 0
        other.join()
        assert not failures


def test_a_run_that_nobody_saved_goes_away_in_silence(model, x, y):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        found = dc.run(model, x, y, **SHORT)
        folder = found.folder
        del found
        gc.collect()
    assert not folder.exists() and not [one for one in heard if "deepconcolic" in str(one.message)]


def test_what_an_oracle_or_filter_gives_must_be_bools(model, x, y):
    wrong = [None, 1, lambda n: ["a"] * n, lambda n: [[1], [1, 2]], lambda n: np.ones((n, 1), bool), lambda n: np.ones(n) / 2]
    for given in wrong:
        answer = given if callable(given) else lambda n, given=given: given
        with pytest.raises(dc.UsageError, match="the oracle gave .* for .* inputs; it takes .inputs, labels. and gives one bool a test"):
            dc.run(model, x, y, **SHORT, oracle=lambda inputs, labels: answer(len(inputs)))
        with pytest.raises(dc.UsageError, match="validity gave .* for .* inputs; it takes inputs and gives one bool an input"):
            dc.run(model, x, y, **SHORT, validity=lambda inputs: answer(len(inputs)))


def test_an_oracle_that_fails_is_not_passed_over(model, x, y):
    def broken(inputs, labels):
        raise KeyError("no such thing")

    session = dc.Session(model, x, y, **SHORT, oracle=broken)
    with pytest.raises(KeyError, match="no such thing"):
        list(session)
    with pytest.raises(KeyError, match="no such thing"):
        session.result()


def test_an_oracle_that_is_interrupted_leaves_the_runs_own_verdicts_and_says_so(model, x, y):
    def slow(inputs, labels):
        os.kill(os.getpid(), signal.SIGINT)
        return labels % 2 == 1

    with pytest.warns(UserWarning, match="own verdicts"):
        found = dc.run(model, x, y, **SHORT, oracle=slow)
    assert np.array_equal(found.adversarial_rows, found.suite.adversarial)


def test_a_run_that_goes_on_asks_its_oracle_about_new_tests(model, x, y, tmp_path):
    found = dc.run(model, x, y, **{**SHORT, "max_executions": 100}, oracle=odd, out=tmp_path / "run")
    before = len(found.suite)
    kept = pickle.loads(pickle.dumps(found))
    found = found.resume(budget=None, max_executions=3000)
    assert len(found.suite) > before
    assert np.array_equal(found.adversarial_rows, (found.suite.labels % 2 == 1) & ~found.suite.seeds)
    # Whoever does not have the function any more is told that its verdicts are those of another suite.
    shorter = dict(np.load(tmp_path / "run" / "oracle.npz"))
    np.savez(tmp_path / "run" / "oracle.npz", adversarial=shorter["adversarial"][:before])
    with pytest.raises(dc.FolderError, match="oracle=.* asks it again"):
        dc.open_run(kept.folder).passed()
    again = dc.resume(tmp_path / "run", budget=None, max_executions=3000, oracle=odd)
    assert np.array_equal(again.adversarial_rows, found.adversarial_rows)


def test_a_run_goes_on_with_its_filter_alone(model, x, y, tmp_path):
    def dark(inputs):
        return inputs.mean(axis=(1, 2, 3)) < 0.5

    options = {**SHORT, "max_executions": 100, "out": tmp_path / "run"}
    found = dc.run(model, x, y, **options, validity=dark)
    with pytest.raises(dc.UsageError, match="held to a function .* validity="):
        found.resume(budget=None, max_executions=110)
    with pytest.raises(dc.FolderError, match="filtered: true"):
        dc.run(model, x, y, **options, resume=True)
    again = dc.run(model, x, y, **{**options, "max_executions": 400}, validity=dark, resume=True)
    assert dark(again.suite.x[~again.suite.seeds]).all()
