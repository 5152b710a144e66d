"""The notebooks run from the first cell to the last."""

from __future__ import annotations

from pathlib import Path

import pytest

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


def test_there_are_three():
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == {"scikit_learn", "images", "evidence"}


@pytest.mark.parametrize("name", ["scikit_learn", "images", "evidence"])
def test_a_notebook_runs(name):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    if name == "scikit_learn":
        pytest.importorskip("skl2onnx")
        pytest.importorskip("pandas")
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    resources = {"metadata": {"path": str(NOTEBOOKS)}}
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources=resources).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert outputs and not any(output.output_type == "error" for output in outputs)
