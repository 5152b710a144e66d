"""The type stubs of the compiled half name what is there."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import deepconcolic as dc


def test_stubs_name_what_the_compiled_half_has():
    stub = ast.parse((Path(dc.__file__).parent / "_native.pyi").read_text())
    named = {node.name for node in stub.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    there = {name for name in dir(dc._native) if not name.startswith("__")}
    assert named == there
    for node in stub.body:
        if isinstance(node, ast.ClassDef):
            methods = {entry.name for entry in node.body if isinstance(entry, ast.FunctionDef)} - {"__new__"}
            real = {name for name in dir(getattr(dc._native, node.name)) if not name.startswith("__")}
            assert methods == real, node.name


def parameters(function: ast.FunctionDef) -> list[tuple[str, bool]]:
    """Names in order, and whether there is a default; without self and cls."""
    found = function.args.args
    first = len(found) - len(function.args.defaults)
    return [(each.arg, number >= first) for number, each in enumerate(found) if each.arg not in ("self", "cls")]


def test_stubs_have_the_parameters_that_the_compiled_half_has():
    stub = ast.parse((Path(dc.__file__).parent / "_native.pyi").read_text())
    functions = [(node, getattr(dc._native, node.name)) for node in stub.body if isinstance(node, ast.FunctionDef)]
    for node in stub.body:
        if isinstance(node, ast.ClassDef):
            made = getattr(dc._native, node.name)
            methods = [entry for entry in node.body if isinstance(entry, ast.FunctionDef)]
            assert "__new__" in [method.name for method in methods], f"{node.name} is made by __new__"
            functions += [(method, made if method.name == "__new__" else getattr(made, method.name)) for method in methods]
    for node, real in functions:
        there = inspect.signature(real).parameters.values()
        expected = [(each.name, each.default is not each.empty) for each in there if each.name not in ("self", "cls")]
        assert parameters(node) == expected, node.name


def test_the_package_says_that_it_is_typed():
    assert (Path(dc.__file__).parent / "py.typed").exists()
