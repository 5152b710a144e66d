"""The command line: ``python -m deepconcolic`` is the program ``deepconcolic``."""

from __future__ import annotations

import sys

from ._native import command


def main() -> int:
    """Does what the command line says, and gives the exit code."""
    # Python listens for Ctrl-C in its own way; the command saves the run and says so.
    sys.stdout.flush()
    return command(["deepconcolic", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
