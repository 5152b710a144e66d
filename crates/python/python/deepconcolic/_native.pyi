from pathlib import Path
from typing import Any, Callable, Optional, Sequence, final

import numpy as np
import numpy.typing as npt
from typing_extensions import Self

__all__ = [
    "Model",
    "Session",
    "__version__",
    "check",
    "command",
    "coverage",
    "coverage_html",
    "coverage_joined",
    "coverage_part",
    "coverage_profile",
    "drawings",
    "merge",
    "panic",
    "replay",
    "run_html",
    "verify",
    "write_report",
]
__version__: str

@final
class Model:
    def __new__(
        cls,
        path: Optional[Path] = None,
        content: Optional[bytes] = None,
        mean: Optional[list[float]] = None,
        std: Optional[list[float]] = None,
        input_shape: Optional[list[int]] = None,
    ) -> Self: ...
    def inspection(self) -> str: ...
    def evaluate(
        self,
        x: npt.NDArray[Any],
        output: Optional[str] = None,
        layer: Optional[str] = None,
        pre: bool = False,
        scale: Optional[float] = None,
        threads: int = 0,
    ) -> npt.NDArray[np.float32]: ...
    def content(self) -> Optional[bytes]: ...
    def options(self) -> str: ...
    def in_file(self, path: Path) -> Model: ...

@final
class Session:
    def __new__(
        cls,
        job: str,
        model: Model,
        folder: Path,
        resume: bool = False,
        x: Optional[npt.NDArray[Any]] = None,
        labels: Optional[list[int]] = None,
        quantities: Optional[list[float]] = None,
        threads: int = 0,
        valid: Optional[Callable[[npt.NDArray[np.float32]], list[bool]]] = None,
    ) -> Self: ...
    @staticmethod
    def reopen(
        folder: Path,
        budget: Optional[float] = None,
        max_executions: Optional[int] = None,
        model: Optional[Path] = None,
        threads: int = 0,
    ) -> Session: ...
    def next(self, seconds: float) -> Optional[tuple[str, dict[str, Any]]]: ...
    def cancel(self) -> None: ...

def coverage(
    job: str,
    model: Model,
    x: Optional[npt.NDArray[Any]] = None,
    labels: Optional[list[int]] = None,
    quantities: Optional[list[float]] = None,
    threads: int = 0,
) -> str: ...
def coverage_part(
    job: str,
    model: Model,
    part: str,
    x: npt.NDArray[Any],
    labels: Optional[list[int]] = None,
    quantities: Optional[list[float]] = None,
    threads: int = 0,
) -> str: ...
def coverage_joined(
    job: str,
    model: Model,
    parts: Sequence[str],
    x: npt.NDArray[Any],
    labels: Optional[list[int]] = None,
    quantities: Optional[list[float]] = None,
    threads: int = 0,
) -> str: ...
def coverage_profile(
    job: str,
    model: Model,
    path: Path,
    x: npt.NDArray[Any],
    labels: Optional[list[int]] = None,
    quantities: Optional[list[float]] = None,
    threads: int = 0,
) -> Optional[str]: ...
def verify(model: Model, property: Path, timeout: float, out: Optional[Path] = None, threads: int = 0) -> str: ...
def check(folder: Path, model: Optional[Path] = None, budget: Optional[float] = None, threads: int = 0) -> str: ...
def replay(folder: Path, model: Optional[Path] = None, threads: int = 0) -> str: ...
def merge(
    out: Path,
    parts: Sequence[Path],
    model: Optional[Path] = None,
    kept: Optional[Path] = None,
    command: Sequence[str] = ...,
    threads: int = 0,
) -> str: ...
def run_html(folder: Path) -> str: ...
def coverage_html(report: str) -> str: ...
def drawings(folder: Path) -> list[tuple[str, str, str]]: ...
def write_report(folder: Path, single_file: bool = False, compare: Optional[Path] = None) -> Path: ...
def command(words: Sequence[str]) -> int: ...
def panic(words: str) -> None: ...
