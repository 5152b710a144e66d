"""Runs: tests are made, watched, stopped, resumed, saved and judged again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import deepconcolic as dc

# A run of a moment, the same on every machine.
SHORT = {"criterion": "nc", "seeds": 1, "radius": 0.3, "max_executions": 600, "proofs": False}


def test_the_folder_of_arrays_is_complete_and_holds(result):
    assert (result.folder / "model.onnx").exists() and (result.folder / "data.npz").exists()
    checked = result.check()
    assert checked.holds, checked.findings
    assert not any("without the data" in line for line in checked.unverified)
    assert result.replay().passed()


def test_a_saved_run_holds_wherever_it_lies(model, x, y, tmp_path):
    found = dc.run(model, x, y, **SHORT)
    saved = found.save(tmp_path / "elsewhere")
    scratch = found.folder
    del found
    assert not scratch.exists(), "a temporary folder goes with its run"
    moved = tmp_path / "moved"
    shutil.move(saved.folder, moved)
    assert dc.check(moved).holds
    with pytest.raises(dc.FolderError, match="not empty"):
        dc.open_run(moved).save(moved)


def test_a_changed_folder_does_not_hold(result, tmp_path):
    copy = result.save(tmp_path / "copy").folder
    text = (copy / "run.json").read_text()
    (copy / "run.json").write_text(text.replace(f'"covered": {result.covered}', f'"covered": {result.covered + 1}', 1))
    assert not dc.check(copy).holds
    (copy / "model.onnx").unlink()
    with pytest.raises(dc.ModelError):
        dc.check(copy)


def test_the_suite_is_what_the_network_says(result, model):
    suite = result.suite
    assert np.array_equal(model.labels(suite.x), suite.labels)
    assert suite.seeds.sum() == 1 and len(suite) > 1
    assert (suite.distances[~suite.seeds] <= 0.3 + 1e-6).all()
    states = result.requirements["state"]
    assert (states == 1).sum() == result.covered and len(states) == result.total
    rows = result.requirements["test"][states == 1]
    active = model.active(suite.x)
    assert active[rows, np.flatnonzero(states == 1)].all(), "every witness meets its requirement"


def test_arrays_files_and_threads_give_the_same_suite(result, demo, x, y):
    again = dc.run(demo / "fashion_cnn.onnx", demo / "fashion_test.npz", **SHORT, threads=1)
    assert np.array_equal(again.suite.x, result.suite.x)
    assert again.summary["requirements"] == result.summary["requirements"]


def test_events_come_in_order_and_agree_with_the_end(model, x, y):
    session = dc.Session(model, x, y, **SHORT)
    events = list(session)
    found = session.result()
    tests = [event for event in events if isinstance(event, dc.events.Test)]
    assert [test.number for test in tests] == list(range(len(found.suite)))
    assert np.allclose([test.distance for test in tests], found.suite.distances, atol=1e-6)
    assert isinstance(events[-1], dc.events.Stopped)
    assert list(session) == [], "nothing happens after the end"


def test_a_callable_hears_every_event_and_its_exception_ends_the_run(model, x, y):
    heard = []
    dc.run(model, x, y, **SHORT, progress=heard.append)
    assert any(isinstance(event, dc.events.Progress) for event in heard)

    def stop(event):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        dc.run(model, x, y, **SHORT, progress=stop)


def test_plain_progress_needs_no_package(model, x, y, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    dc.run(model, x, y, **SHORT, progress=True)
    assert "covered" in capsys.readouterr().err


def test_a_cancelled_run_is_kept_and_goes_on_to_the_same_end(model, x, y, tmp_path):
    options = {**SHORT, "max_executions": 3000}
    whole = dc.run(model, x, y, **options)
    session = dc.Session(model, x, y, **options, out=tmp_path / "run")
    for event in session:
        if isinstance(event, dc.events.Round):
            session.cancel()
    part = session.result()
    assert part.stop == "interrupted" and part.check().holds
    rest = part.resume(budget=None, max_executions=3000)
    assert np.array_equal(rest.suite.x, whole.suite.x)
    assert rest.summary["requirements"] == whole.summary["requirements"]


def test_another_process_can_go_on_with_a_killed_run(x, y, demo, tmp_path):
    options = {**SHORT, "max_executions": 3000}
    script = tmp_path / "killed.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import os, signal
            import numpy as np
            import deepconcolic as dc
            arrays = np.load({str(demo / "fashion_test.npz")!r})
            def kill(event):
                if isinstance(event, dc.events.Round):
                    os.kill(os.getpid(), signal.SIGKILL)
            dc.run({str(demo / "fashion_cnn.onnx")!r}, arrays["x"], arrays["y"], **{options!r}, out="run", progress=kill)
            """
        )
    )
    killed = subprocess.run([sys.executable, script], cwd=tmp_path)
    assert killed.returncode == -signal.SIGKILL
    with pytest.raises(dc.FolderError, match="resume"):
        dc.open_run(tmp_path / "run")
    rest = dc.resume(tmp_path / "run", budget=None, max_executions=options["max_executions"])
    whole = dc.run(demo / "fashion_cnn.onnx", x, y, **options)
    assert np.array_equal(rest.suite.x, whole.suite.x) and rest.check().holds


def test_ctrl_c_returns_what_exists_so_far(model, x, y):
    def interrupt(event):
        if isinstance(event, dc.events.Round):
            os.kill(os.getpid(), signal.SIGINT)

    found = dc.run(model, x, y, criterion="ssc", seeds=50, budget=None, progress=interrupt)
    assert found.stop == "interrupted" and len(found.suite) >= 50


def test_other_threads_of_python_go_on_meanwhile(model, x, y):
    count, done = 0, threading.Event()

    def tick():
        nonlocal count
        while not done.wait(0.001):
            count += 1

    ticking = threading.Thread(target=tick)
    ticking.start()
    dc.coverage(model, np.concatenate([x] * 10), criteria=["nc", "kmnc:10"])
    done.set()
    ticking.join()
    assert count > 10, "the interpreter's lock is released"


def test_a_function_of_the_caller_judges_in_batches(model, x, y):
    sizes = []

    def odd_labels_are_wrong(inputs, labels):
        sizes.append(len(inputs))
        return labels % 2 == 1

    found = dc.run(model, x, y, **SHORT, oracle=odd_labels_are_wrong)
    expected = (found.suite.labels % 2 == 1) & ~found.suite.seeds
    assert np.array_equal(found.adversarial_rows, expected)
    assert sum(sizes) == len(found.suite) and len(sizes) < len(found.suite)
    assert found.check().holds
    with pytest.raises(dc.UsageError, match="one bool a test"):
        dc.run(model, x, y, **SHORT, oracle=lambda inputs, labels: [True])


def test_a_function_of_the_caller_says_what_may_be_a_test(model, x, y):
    asked = []

    free = dc.run(model, x, y, **SHORT)
    # Half of the tests that are made without the filter.
    bound = np.median(free.suite.x.mean(axis=(1, 2, 3)))

    def dark_enough(inputs):
        asked.append(inputs.shape)
        return inputs.mean(axis=(1, 2, 3)) < bound

    found = dc.run(model, x, y, **SHORT, validity=dark_enough)
    made = found.suite.x[~found.suite.seeds]
    assert len(made) and (made.mean(axis=(1, 2, 3)) < bound).all()
    assert (free.suite.x.mean(axis=(1, 2, 3)) >= bound).any(), "without it there are others"
    assert all(shape[1:] == (1, 28, 28) for shape in asked) and max(shape[0] for shape in asked) > 1
    assert found.check().holds and any("function of the caller" in note for note in found.notes)

    def broken(inputs):
        raise KeyError("no such thing")

    with pytest.raises(KeyError, match="no such thing"):
        dc.run(model, x, y, **SHORT, validity=broken)
    with pytest.raises(dc.UsageError, match="one bool an input"):
        dc.run(model, x, y, **SHORT, validity=lambda inputs: True)


def test_several_criteria_share_a_suite(model, x, y):
    found = dc.run(model, x, y, ["nc", "kmnc:4"], seeds=1, radius=0.3, max_executions=600, proofs=False)
    assert [part["criterion"] for part in found.summary["criteria"]] == ["nc", "kmnc"]
    assert found.total == sum(part["requirements"]["total"] for part in found.summary["criteria"])
    assert found.check().holds


def test_gates_count_what_is_possible(model, x, y):
    found = dc.run(model, x, y, criterion="safety", seeds=2, radius="1/255", budget=20)
    assert found.is_property and found.passed() == (found.covered == 0)
    assert "refuted" in repr(found)


def test_goals_and_properties_are_counted_apart(model, x, y):
    heard = []
    found = dc.run(model, x, y, ["nc", "safety"], seeds=2, radius=0.3, budget=20, progress=heard.append)
    nc, safety = found.summary["criteria"]
    assert found.properties["total"] == safety["requirements"]["total"] == 2
    assert found.properties["refuted"] == safety["requirements"]["covered"] > 0
    possible = nc["requirements"]["total"] - nc["requirements"]["infeasible"]
    assert found.feasible_coverage == nc["requirements"]["covered"] / possible
    assert not found.is_property and not found.passed(adversarial=None)
    assert f"{nc['requirements']['covered']} covered" in repr(found) and " refuted" in repr(found)
    last = [event for event in heard if isinstance(event, dc.events.Progress)][-1]
    assert (last.total, last.properties) == (nc["requirements"]["total"], 2)
    assert last.covered + last.impossible <= last.total and last.refuted + last.proven <= 2


def test_requests_that_do_not_fit_are_usage_errors(model, x, y):
    for options, words in [
        ({"criterion": "none-such"}, "none-such"),
        ({"radius": -1}, "radius"),
        ({"radius": "a lot"}, "8/255"),
        ({"budget": "soon"}, "10m"),
        ({"budget": 0}, "seconds"),
        ({"seeds": 0}, "at least 1"),
        ({"seeds": [300]}, "300 samples"),
        ({"norm": "l7"}, "l7"),
        ({"cluster": "slurm"}, "ray"),
        ({"quantise": 0}, "quantise"),
        ({"fixed": ["nine"]}, "fixed nine"),
        ({"integer": [784]}, "integer 784"),
        ({"fixed": "nine"}, "a list"),
        ({"criterion": None}, "criterion"),
    ]:
        with pytest.raises(dc.UsageError, match=words):
            dc.run(model, x, y, **options)


def test_a_folder_that_is_taken_is_refused(model, x, y, result):
    with pytest.raises(dc.FolderError):
        dc.run(model, x, y, **SHORT, out=result.folder)
    with pytest.raises(dc.FolderError, match="run.json|finished"):
        dc.open_run(result.folder.parent)


def test_a_panic_is_an_exception_and_not_the_end(monkeypatch):
    """No input is known that panics, so that the border is tried on its own."""
    with pytest.raises(dc.InternalError, match="on purpose"):
        dc._native.panic("on purpose")


def test_a_notebook_shows_the_summary_and_the_gallery_of_the_report(result):
    page = result._repr_html_()
    first = result.report()
    assert first == result.folder / "index.html" and result.check().holds
    written = first.read_text()
    for element in ("p class=\"headline\"", "p class=\"facts\""):
        part = written.split(f"<{element}>")[1].split("</p>")[0]
        assert part in page, "the sentences are those of the report"
    assert page.count("<article class=\"card\"") == min(6, result.adversarial) > 0
    assert page.count("data:image/png;base64,") == page.count("<article class=\"card\"")
    assert "<script" not in page and "href=" not in page and " style=" not in page
    assert page.count("<style>") == 1 and "<style>.deepconcolic {" in page, "its style holds inside it alone"
    assert (result.report(single_file=True)).name == "report.html"


def test_plots_are_the_drawings_of_the_report(result, tmp_path):
    import xml.etree.ElementTree as xml

    plots = result.plots
    assert {"tests", "time", "distances", "labels", "layer-relu1"} <= set(plots)
    page = result.report().read_text()
    for plot in plots.values():
        tree = xml.fromstring(plot.svg)
        assert tree.tag == "{http://www.w3.org/2000/svg}svg" and "<script" not in plot.svg
        assert plot.title and plot._repr_html_().startswith("<img ")
    drawn = plots["tests"].svg.split("</defs></svg>")[1].strip()
    assert drawn in page, "nothing is drawn twice"
    plots["tests"].save(tmp_path / "tests.svg")
    assert (tmp_path / "tests.svg").read_text() == plots["tests"].svg
    safety = dc.run(result.folder / "model.onnx", result.folder / "data.npz", criterion="safety", seeds=2, radius=0.3, budget=5)
    assert {"seeds", "robustness"} <= set(safety.plots)


def test_tables_of_layers_and_tests(result):
    pytest.importorskip("pandas")
    assert result.to_pandas()["covered"].sum() == result.covered
    assert len(result.tests_to_pandas()) == len(result.suite)
