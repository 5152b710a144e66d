"""Runs on Ray: shards, a killed worker, a killed driver, and what is wrong said clearly.

They start a Ray of their own on loopback, with token authentication, and have a switch: DEEPCONCOLIC_RAY_TESTS=1.
"""

from __future__ import annotations

import http.server
import importlib
import os
import secrets
import signal
import socket
import socketserver
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import deepconcolic as dc
from deepconcolic.cluster import Journal, driver, shards

SWITCH = "DEEPCONCOLIC_RAY_TESTS"
on_ray = pytest.mark.skipif(not os.environ.get(SWITCH), reason=f"set {SWITCH}=1 to start a Ray on this machine")

if os.environ.get(SWITCH):
    # Ray looks at these when it is imported. Without a token it would run what anybody on this machine sends.
    os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(16), RAY_USAGE_STATS_ENABLED="0")

OPTIONS = {"seeds": 1, "radius": 0.3, "max_executions": 20_000, "rng_seed": 1}
COUNT = 4


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The address of a Ray with two slots."""
    library = pytest.importorskip("ray")
    port = free_port()
    ray = [sys.executable, "-m", "ray.scripts.scripts"]
    start = [*ray, "start", "--head", f"--port={port}", "--node-ip-address=127.0.0.1", "--num-cpus=2"]
    start += ["--include-dashboard=false", "--disable-usage-stats", "--object-store-memory=100000000"]
    begun = subprocess.run(start, capture_output=True, text=True)
    assert begun.returncode == 0, begun.stdout + begun.stderr
    yield f"127.0.0.1:{port}"
    library.shutdown()
    subprocess.run([*ray, "stop", "--force"], capture_output=True)


@pytest.fixture(scope="module")
def undisturbed(cluster, demo, x, y, tmp_path_factory) -> dc.Run:
    """A run on the cluster with which nobody interferes."""
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    return dc.run(demo / "fashion_cnn.onnx", x, y, "nc", cluster="ray", address=cluster, shards=COUNT, out=out, **OPTIONS)


def same(one: dc.Run, other: dc.Run) -> None:
    assert np.array_equal(one.suite.x, other.suite.x)
    assert one.summary["requirements"] == other.summary["requirements"]
    for name, values in one.requirements.items():
        assert np.array_equal(values, other.requirements[name], equal_nan=True), name


@on_ray
def test_shards_are_one_run_that_holds(undisturbed, demo, x, y, tmp_path):
    checked = undisturbed.check()
    assert checked.holds, checked.findings
    assert undisturbed.total == 1816 and undisturbed.infeasible > 0, "proofs are shards as well"
    assert not undisturbed.folder.with_name("run.shards").exists()
    parts = []
    for number in range(1, COUNT + 1):
        options = {**OPTIONS, "partition": f"{number}/{COUNT}", "out": tmp_path / f"{number}", "threads": 1}
        parts.append(dc.run(demo / "fashion_cnn.onnx", x, y, "nc", **options).folder)
    same(dc.merge(tmp_path / "merged", parts), undisturbed)


@on_ray
def test_a_killed_worker_changes_nothing(cluster, undisturbed, demo, x, y, tmp_path):
    killed = []

    def kill_one(event):
        if not killed:
            found = subprocess.run(["pgrep", "-f", "ray::work"], capture_output=True, text=True).stdout.split()
            if found:
                os.kill(int(found[0]), signal.SIGKILL)
                killed.append(found[0])

    out = tmp_path / "run"
    found = dc.run(
        demo / "fashion_cnn.onnx", x, y, "nc", cluster="ray", address=cluster, shards=COUNT, out=out, progress=kill_one, **OPTIONS
    )
    assert killed, "a worker was at work when the first shard came back"
    same(found, undisturbed)


@on_ray
def test_a_killed_driver_goes_on_from_its_journal(cluster, undisturbed, demo, tmp_path):
    script = tmp_path / "driver.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import os, signal, sys
            import numpy as np
            import deepconcolic as dc
            arrays = np.load({str(demo / "fashion_test.npz")!r})
            def told(event):
                print(event.number, flush=True)
                if "kill" in sys.argv and event.done == 2:
                    os.kill(os.getpid(), signal.SIGKILL)
            dc.run({str(demo / "fashion_cnn.onnx")!r}, arrays["x"], arrays["y"], "nc", cluster="ray", address={cluster!r},
                   shards={COUNT}, out="run", progress=told, **{OPTIONS!r})
            """
        )
    )
    killed = subprocess.run([sys.executable, script, "kill"], cwd=tmp_path, capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL
    first = set(killed.stdout.split())
    again = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    second = set(again.stdout.split())
    assert len(first) == 2 and not first & second and len(second) == COUNT - 2, "what was done is not done again"
    same(dc.open_run(tmp_path / "run"), undisturbed)


@on_ray
def test_data_are_measured_in_shards(cluster, demo, x, y):
    asked = {"criteria": ["nc", "kmnc:10"], "open": 3}
    whole = dc.coverage(demo / "fashion_cnn.onnx", x, y, **asked)
    joined = dc.coverage(demo / "fashion_cnn.onnx", x, y, **asked, cluster="ray", address=cluster, shards=5)
    assert joined.report == whole.report
    from_file = dc.coverage(demo / "fashion_cnn.onnx", demo / "fashion_test.npz", **asked, cluster="ray", address=cluster)
    assert from_file.report == whole.report
    with pytest.raises(dc.UsageError, match="two samples of different parts"):
        dc.coverage(demo / "fashion_cnn.onnx", x, y, "ssc", cluster="ray", address=cluster)


@on_ray
def test_an_oracle_of_the_callers_judges_what_was_merged(cluster, undisturbed, demo, x, y, tmp_path):
    def odd(inputs, labels):
        return labels % 2 == 1

    asked = {"cluster": "ray", "address": cluster, "shards": COUNT, "out": tmp_path / "run"}
    found = dc.run(demo / "fashion_cnn.onnx", x, y, "nc", **asked, **OPTIONS, oracle=odd)
    same(found, undisturbed)
    assert np.array_equal(found.adversarial_rows, (found.suite.labels % 2 == 1) & ~found.suite.seeds)


@on_ray
def test_a_worker_with_another_version_is_refused(cluster, demo, x, y, tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "__version__", "0.0.9")
    with pytest.raises(dc.ClusterError, match="deepconcolic .* and the driver has 0.0.9.*same version"):
        dc.run(demo / "fashion_cnn.onnx", x, y, cluster="ray", address=cluster, shards=2, out=tmp_path / "run", **OPTIONS)


@on_ray
def test_a_worker_that_lacks_the_package_is_named_with_the_way_out(cluster, tmp_path, monkeypatch):
    # A module that only the driver can import, as the package is where a worker has none.
    (tmp_path / "deepconcolic_of_the_driver.py").write_text("def work(given, options, number, count):\n    return {}\n")
    monkeypatch.syspath_prepend(tmp_path)
    work = importlib.import_module("deepconcolic_of_the_driver").work
    task = driver.Task(work, {}, {}, 1, 1)
    ray = driver.connect(cluster)
    monkeypatch.chdir("/")
    with pytest.raises(dc.ClusterError, match=f"shard 1: a worker has no deepconcolic.*install {dc.__version__}"):
        driver.collect(ray, task, [1], 1, lambda number, files: None)


@on_ray
def test_a_wrong_token_is_said_in_bounded_time(cluster):
    script = f"import deepconcolic.cluster.driver as driver; driver.connect({cluster!r})"
    begun = time.monotonic()
    environment = {**os.environ, "RAY_AUTH_TOKEN": secrets.token_hex(16)}
    asked = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=300)
    assert asked.returncode != 0 and "ClusterError: Ray does not answer" in asked.stderr, asked.stderr
    assert "RAY_AUTH_TOKEN" in asked.stderr and time.monotonic() - begun < 120


class Silent(socketserver.BaseRequestHandler):
    def handle(self):
        while self.request.recv(1000):
            pass


@pytest.mark.parametrize(
    ("handler", "words"),
    [(http.server.SimpleHTTPRequestHandler, "another service is there"), (Silent, "nothing in 0.5 s")],
)
def test_another_service_at_the_address_is_said_at_once(demo, x, y, tmp_path, monkeypatch, handler, words):
    pytest.importorskip("ray")
    monkeypatch.setattr(driver, "_PATIENCE", 0.5)
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"127.0.0.1:{server.server_address[1]}"
        begun = time.monotonic()
        with pytest.raises(dc.ClusterError, match=f"no Ray answers at {address} .{words}.*port 6379"):
            dc.run(demo / "fashion_cnn.onnx", x, y, cluster="ray", address=address, out=tmp_path / "run")
        assert time.monotonic() - begun < 60
        server.shutdown()


def test_an_address_that_does_not_answer_is_said_at_once(demo, x, y, tmp_path):
    pytest.importorskip("ray")
    begun = time.monotonic()
    with pytest.raises(dc.ClusterError, match="no Ray answers at 127.0.0.1:1 "):
        dc.run(demo / "fashion_cnn.onnx", x, y, cluster="ray", address="127.0.0.1:1", out=tmp_path / "run")
    for address in ("127.0.0.1:1", "127.0.0.1", "no port at all"):
        with pytest.raises(dc.ClusterError, match="no Ray answers at .*HOST:PORT"):
            dc.coverage(demo / "fashion_cnn.onnx", x, y, cluster="ray", address=address)
    assert time.monotonic() - begun < 60


def test_without_ray_its_name_is_in_the_error(demo, x, y, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"deepconcolic\[ray\]"):
        dc.run(demo / "fashion_cnn.onnx", x, y, cluster="ray", out=tmp_path / "run")


def test_a_journal_keeps_shards_whole_and_knows_its_job(demo, x, y, tmp_path):
    given = shards.payload(demo / "fashion_cnn.onnx", x, y)
    journal = Journal(tmp_path / "j", {"shards": 3}, given)
    files = shards.work(given, {"criterion": "nc", "seeds": 1, "max_executions": 200, "proofs": False}, 2, 3)
    assert "run.json" in files and "data.npz" not in files and "model.onnx" not in files
    journal.keep(2, files)
    journal.keep(2, files)
    assert Journal(tmp_path / "j", {"shards": 3}, given).done(3) == [2]
    with pytest.raises(dc.FolderError, match="another run.*shards"):
        Journal(tmp_path / "j", {"shards": 4}, given)
    with pytest.raises(dc.FolderError, match="fingerprint"):
        Journal(tmp_path / "j", {"shards": 3}, {**given, "x": given["x"][:-1]})
    with pytest.raises(dc.ClusterError, match="outside"):
        journal.keep(1, {"../escaped": b""})
    assert not (tmp_path / "escaped").exists()


def test_a_shard_refuses_another_version(demo, x, y):
    given = {**shards.payload(demo / "fashion_cnn.onnx", x, y), "version": "0.0.9"}
    with pytest.raises(dc.ClusterError, match="0.0.9"):
        shards.work(given, {}, 1, 2)
