"""Temporary folders that go away with whoever holds them."""

from __future__ import annotations

import shutil
import tempfile
import weakref


class Scratch:
    """A temporary folder. Unlike one of ``tempfile.TemporaryDirectory``, it goes away in silence with the last who refers to it:
    a run that nobody saved is no mistake of the caller's, who may have made warnings errors."""

    def __init__(self) -> None:
        self.name = tempfile.mkdtemp(prefix="deepconcolic-")
        self._remove = weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)
