"""Coverage: the figures of the command, from arrays and from files."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import types

import numpy as np
import pytest

import deepconcolic as dc


def test_arrays_give_what_the_command_prints_for_the_file(model, x, y, demo, tmp_path):
    report = tmp_path / "coverage.json"
    words = [sys.executable, "-m", "deepconcolic", "coverage", str(demo / "fashion_cnn.onnx")]
    words += ["--data", str(demo / "fashion_test.npz"), "--criterion", "nc", "--criterion", "kmnc"]
    subprocess.run([*words, "--sections", "10", "--json", str(report)], check=True, capture_output=True)
    measured = dc.coverage(model, x, y, criteria=["nc", "kmnc:10"])
    assert measured.report == json.loads(report.read_text())


def test_a_file_is_read_as_the_command_reads_it(demo, model, x, y):
    from_file = dc.coverage(demo / "fashion_cnn.onnx", demo / "fashion_test.npz")
    assert from_file.report == dc.coverage(model, x, y).report


def test_requirements_of_ones_own_are_text_or_a_file(model, x, tmp_path):
    text = "for i in neurons(relu3): exists x: v[x][relu3,i] > 3"
    path = tmp_path / "own.dr"
    path.write_text(text + "\n")
    for given in (text, path, str(path)):
        measured = dc.coverage(model, x, criteria=[], requirements=given, open=2)["requirements"]
        assert measured.total == 32 and 0 < measured.covered <= 32
    with pytest.raises(dc.RequirementsError, match="1:"):
        dc.coverage(model, x, criteria=[], requirements="exists x: v[x][relu3,0] >")


def test_properties_of_a_file_are_refuted_or_open_and_never_covered(model, x):
    text = "exists x: v[x][relu3,0] >= 0\nforall x: v[x][relu3,0] >= 0\nforall x: v[x][relu3,0] < 0\n"
    measured = dc.coverage(model, x, criteria=[], requirements=text)
    own = measured["requirements"]
    assert (own.total, own.covered, own.coverage) == (1, 1, 1.0)
    assert (own.properties, own.refuted) == (2, 1)
    assert own.refutations[0]["samples"] == [0]
    assert measured.passed(requirements=1.0)
    safety = dc.coverage(model, x[:10], criteria=["safety"], radius=0.1)
    assert (safety["safety"].total, safety["safety"].properties) == (0, 10)
    with pytest.raises(dc.UsageError, match="properties and no goals"):
        safety.passed(safety=0.5)


def test_a_profile_of_other_data_changes_the_sections(model, x):
    own = dc.coverage(model, x, criteria=["kmnc:10"], noise=False)
    other = dc.coverage(model, x, criteria=["kmnc:10"], noise=False, profile=x)
    assert own["kmnc"].covered != other["kmnc"].covered
    assert other["kmnc"].coverage > 0


def test_an_unknown_criterion_names_those_there_are(model, x):
    with pytest.raises(dc.UsageError, match="kmnc"):
        dc.coverage(model, x, criteria=["neurons"])
    with pytest.raises(dc.UsageError, match="colon"):
        dc.coverage(model, x, criteria=["ssc:3"])
    with pytest.raises(dc.UsageError, match="there is no keyword 'sektions'"):
        dc.coverage(model, x, sektions=3)


def test_results_have_tables_and_html(model, x, tmp_path):
    measured = dc.coverage(model, x)
    page = measured._repr_html_()
    assert "300 samples cover 99.7 % of nc." in page and "relu3" in page
    assert page.startswith("<div class=\"deepconcolic\">") and "<script" not in page
    measured.save(tmp_path / "c.json")
    assert json.loads((tmp_path / "c.json").read_text()) == measured.report
    pandas = pytest.importorskip("pandas")
    table = measured.to_pandas()
    assert isinstance(table, pandas.DataFrame) and table["covered"].sum() == 1812


def test_threads_change_nothing(model, x):
    assert dc.coverage(model, x, threads=1).report == dc.coverage(model, x, threads=2).report
    with pytest.raises(dc.UsageError, match="threads"):
        dc.coverage(model, x, threads=10**6)


class Inline:
    """A stand-in for Ray that does everything at once, so that the path of a shard is tested without a cluster."""

    class exceptions:
        RayError = type("RayError", (Exception,), {})
        RayTaskError = type("RayTaskError", (RayError,), {})

    def cluster_resources(self):
        return {"CPU": 2}

    def put(self, value):
        return value

    def remote(self, **_):
        def wrapped(function):
            return types.SimpleNamespace(remote=lambda *arguments: functools.partial(function, *arguments))

        return wrapped

    def wait(self, waiting, **_):
        # The last that was asked for comes back first.
        return waiting[-1:], waiting[:-1]

    def get(self, reference):
        return reference()

    def cancel(self, reference, **_):
        pass


@pytest.fixture
def inline(monkeypatch):
    from deepconcolic.cluster import measuring

    monkeypatch.setattr(measuring, "connect", lambda address: Inline())


@pytest.mark.parametrize("shards", [1, 3, 7])
def test_parts_of_data_are_joined_to_the_report_of_one_process(model, x, y, inline, shards):
    criteria = ["nc", "kmnc:10", "nbc", "snac", "tknc:2"]
    whole = dc.coverage(model, x, y, criteria, open=5)
    joined = dc.coverage(model, x, y, criteria, open=5, cluster="ray", shards=shards)
    assert joined.report == whole.report
    assert whole["kmnc"].noise is not None and whole.report["profile"].startswith("the first tenth of the data")


def test_parts_need_no_labels_no_noise_and_may_be_more_than_samples(demo, x, inline):
    few = (x[:5] / 255).astype(np.float32)
    whole = dc.coverage(demo / "fashion_cnn.onnx", few, noise=False)
    assert dc.coverage(demo / "fashion_cnn.onnx", few, noise=False, cluster="ray", shards=8).report == whole.report


def test_other_ranges_for_neurons_reach_every_part(model, x, inline):
    whole = dc.coverage(model, x, criteria=["kmnc:10"], profile=x[:100])
    joined = dc.coverage(model, x, criteria=["kmnc:10"], profile=x[:100], cluster="ray", shards=3)
    assert [c.covered for c in joined.criteria] == [c.covered for c in whole.criteria]


def test_what_cannot_be_measured_in_parts_is_refused_with_the_reason(model, x, y, inline):
    for criterion in ("ssc", "vsc", "svc", "vvc"):
        with pytest.raises(dc.UsageError, match=f"{criterion}: two samples of different parts"):
            dc.coverage(model, x, y, criterion, cluster="ray")
    with pytest.raises(dc.UsageError, match="not measured in parts"):
        dc.coverage(model, x, criteria=[], requirements="exists x: v[x][relu3,0] > 3", cluster="ray")
    with pytest.raises(dc.UsageError, match="there is 'ray'"):
        dc.coverage(model, x, cluster="slurm")
    with pytest.raises(dc.UsageError, match="cluster='ray'"):
        dc.coverage(model, x, shards=4)
    with pytest.raises(dc.UsageError, match="at least 1, not 0"):
        dc.coverage(model, x, cluster="ray", shards=0)


def test_parts_of_something_else_are_not_joined(model, x, y):
    from deepconcolic import _native

    def job(*criteria, noise=True):
        return json.dumps({"data": {"data": "run:data.npz"}, "criteria": criteria, "no_noise": not noise})

    def part(text, of, samples=x, **options):
        return _native.coverage_part(text, model._native, of, samples, **options)

    def join(*parts):
        return _native.coverage_joined(job("nc"), model._native, list(parts), x)

    one, two = part(job("nc"), "1/2"), part(job("nc"), "2/2")
    assert json.loads(join(two, one))["samples"] == len(x)
    for parts in ([], [one], [one, one], [one, two, two], [one, part(job("nc"), "2/3")]):
        with pytest.raises(dc.UsageError, match="not all parts of one measurement"):
            join(*parts)
    for other in (part(job("nc", "tknc"), "2/2"), part(job("nc", noise=False), "2/2"), part(job("nc"), "2/2", x[:-1])):
        with pytest.raises(dc.UsageError, match="of another measurement"):
            join(one, other)
    with pytest.raises(dc.UsageError, match="give i/n"):
        part(job("nc"), "3/2")
    changed = json.loads(two)
    changed["covered"][0][2][-1] = 2**63
    with pytest.raises(dc.UsageError, match="other requirements"):
        join(one, json.dumps(changed))
