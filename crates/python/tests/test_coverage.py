"""Coverage: the figures of the command, from arrays and from files."""

from __future__ import annotations

import json
import subprocess
import sys

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
