"""How a run on Ray scales on this machine: one slot and two, the same shards; and what merging costs.

    python crates/python/benchmarks/cluster.py MODEL.onnx DATA.npz --criterion ssc [--shards 8] [--slots 1,2] [OPTION=VALUE ...]

Options are those of deepconcolic.run, for example seeds=20 max_executions=4000. Both sides do the same shards, so that the
ratio says what the second slot gains. Ray runs workers at a niceness of 15 unless RAY_worker_niceness says otherwise: set it to 0
where something else is running.
"""

from __future__ import annotations

import argparse
import ast
import shutil
import tempfile
import time
from pathlib import Path

import deepconcolic as dc
from deepconcolic import cluster
from deepconcolic.cluster import driver


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("data")
    parser.add_argument("--criterion", default="nc")
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--slots", default="1,2")
    parser.add_argument("options", nargs="*", help="OPTION=VALUE of deepconcolic.run")
    asked = parser.parse_intermixed_args()
    options = {name: _value(value) for name, _, value in (option.partition("=") for option in asked.options)}
    import ray

    seconds: dict[int, float] = {}
    for slots in map(int, asked.slots.split(",")):
        ray.init(num_cpus=slots, include_dashboard=False, _node_ip_address="127.0.0.1", log_to_driver=False)
        # Workers that are up already: what is measured is the work.
        ray.get([ray.remote(num_cpus=1)(_warm).remote() for _ in range(slots)])
        folder = Path(tempfile.mkdtemp())
        parts: list[float] = []
        merged = driver._merged
        sizes: list[int] = []

        def timed(journal: cluster.Journal, target: Path, count: int) -> dc.Run:
            sizes.append(sum(file.stat().st_size for part in journal.folder.glob("0*") for file in part.rglob("*") if file.is_file()))
            begun = time.perf_counter()
            run = merged(journal, target, count)
            parts.append(time.perf_counter() - begun)
            return run

        driver._merged = timed
        begun = time.perf_counter()
        found = cluster.run(asked.model, asked.data, criterion=asked.criterion, out=folder / "run", shards=asked.shards, **options)
        whole = time.perf_counter() - begun
        driver._merged = merged
        seconds[slots] = whole - parts[0]
        print(f"{slots} slots: shards {seconds[slots]:.2f} s, merge {parts[0]:.2f} s ({100 * parts[0] / whole:.1f} % of the whole), "
              f"{sizes[0] / asked.shards / 1024:.0f} KiB a shard, {found!r}", flush=True)
        shutil.rmtree(folder)
        ray.shutdown()
    slots = sorted(seconds)
    if len(slots) > 1:
        print(f"{slots[-1]} slots over {slots[0]}: {seconds[slots[0]] / seconds[slots[-1]]:.2f} times as fast")


def _warm() -> str:
    return dc.__version__


def _value(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


if __name__ == "__main__":
    main()
