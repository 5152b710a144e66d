"""Every example in a docstring runs and prints what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import deepconcolic as dc

SKIPPED = {"deepconcolic._native", "deepconcolic.__main__"}
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(dc.__path__, "deepconcolic.")
    if module.name not in SKIPPED
)


@pytest.mark.parametrize("name", ["deepconcolic", *MODULES])
def test_examples_print_what_they_say(name, model, x, y, result, beside_model):
    module = importlib.import_module(name)
    given = {"dc": dc, "model": model, "x": x, "y": y, "result": result}
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    found = doctest.testmod(module, extraglobs=given, optionflags=flags)
    assert found.failed == 0, f"{found.failed} of {found.attempted} examples of {name} print something else"


def test_the_main_functions_have_examples():
    for function in (dc.load, dc.coverage, dc.run, dc.verify, dc.check, dc.replay):
        assert ">>>" in (function.__doc__ or ""), function
