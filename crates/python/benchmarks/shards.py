"""What shards cost a driver: processor time and bytes of a shard, processor time of keeping and merging.

    python crates/python/benchmarks/shards.py MODEL.onnx DATA.npz --shards 8 [OPTION=VALUE ...]

One process does all of it, one shard after the other. Options are those of deepconcolic.run.
"""

from __future__ import annotations

import argparse
import ast
import tempfile
import time
from pathlib import Path

from deepconcolic import _native, open_run
from deepconcolic.cluster import Journal, shards


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("data")
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("options", nargs="*", help="OPTION=VALUE of deepconcolic.run")
    asked = parser.parse_intermixed_args()
    options = {name: _value(value) for name, _, value in (option.partition("=") for option in asked.options)}
    given = shards.payload(asked.model, asked.data, None)
    numbers = range(1, asked.shards + 1)
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "journal", {"shards": asked.shards}, given)
        work = kept = size = 0.0
        for number in numbers:
            begun = time.process_time()
            files = shards.work(given, {**options, "threads": 1}, number, asked.shards)
            ended = time.process_time()
            journal.keep(number, files)
            work, kept = work + ended - begun, kept + time.process_time() - ended
            size += sum(map(len, files.values()))
        begun = time.process_time()
        _native.merge(Path(folder) / "run", [journal.shard(number) for number in numbers], kept=journal.inputs)
        merged = time.process_time() - begun
        print(open_run(Path(folder) / "run"))
    each = 1 / asked.shards
    print(f"a shard: {1000 * work * each:.1f} ms of processor time, {size * each / 1024:.0f} KiB back")
    print(f"the driver, a shard: {1000 * kept * each:.2f} ms to keep, {1000 * merged * each:.1f} ms to merge")


def _value(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


if __name__ == "__main__":
    main()
