"""The type stubs of the compiled half name what is there."""

from __future__ import annotations

import ast
from pathlib import Path

import deepconcolic as dc


def test_stubs_name_what_the_compiled_half_has():
    stub = ast.parse((Path(dc.__file__).parent / "_native.pyi").read_text())
    named = {node.name for node in stub.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    there = {name for name in dir(dc._native) if not name.startswith("__")}
    assert named == there
    for node in stub.body:
        if isinstance(node, ast.ClassDef):
            methods = {entry.name for entry in node.body if isinstance(entry, ast.FunctionDef)} - {"__init__"}
            real = {name for name in dir(getattr(dc._native, node.name)) if not name.startswith("__")}
            assert methods == real, node.name


def test_the_package_says_that_it_is_typed():
    assert (Path(dc.__file__).parent / "py.typed").exists()
