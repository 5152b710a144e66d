"""The command ``deepconcolic-ray``: a run in shards on Ray."""

from __future__ import annotations

import argparse
import sys
from typing import Optional, Sequence

from ..errors import Error
from .driver import run


def arguments() -> argparse.ArgumentParser:
    """What can be asked for."""
    parser = argparse.ArgumentParser(prog="deepconcolic-ray", description="Make tests in shards on a Ray cluster.")
    commands = parser.add_subparsers(dest="command", required=True)
    shards = commands.add_parser("run", help="as `deepconcolic run`, on a cluster")
    shards.add_argument("model", help="the network: an ONNX file")
    shards.add_argument("--data", required=True, help=".npz with x and y, or .npy")
    shards.add_argument("--criterion", default="nc")
    shards.add_argument("--out", required=True, help="the folder for the merged run; OUT.shards is the journal")
    shards.add_argument("--norm")
    shards.add_argument("--radius")
    shards.add_argument("--seeds", type=int)
    shards.add_argument("--budget", default="10m", help="for the whole: 90, 60s, 10m, 2h or none")
    shards.add_argument("--max-executions", type=int, help="for each shard")
    shards.add_argument("--no-proofs", action="store_true")
    shards.add_argument("--quantise", type=int)
    shards.add_argument("--rng-seed", type=int, default=0)
    shards.add_argument("--layers", help="A,B")
    shards.add_argument("--shards", type=int, help="how many; default: four for each slot of the cluster")
    shards.add_argument("--threads", type=int, default=1, help="of a task")
    shards.add_argument("--address", help="HOST:PORT of the cluster's head; default: RAY_ADDRESS, else this machine")
    shards.add_argument("--quiet", action="store_true")
    return parser


def main(words: Optional[Sequence[str]] = None) -> int:
    """Runs, and gives the exit code."""
    asked = arguments().parse_args(words)
    try:
        found = run(
            asked.model,
            asked.data,
            criterion=asked.criterion,
            out=asked.out,
            shards=asked.shards,
            threads=asked.threads,
            address=asked.address,
            budget=asked.budget,
            progress=not asked.quiet,
            norm=asked.norm,
            radius=asked.radius,
            seeds=asked.seeds,
            max_executions=asked.max_executions,
            proofs=not asked.no_proofs,
            quantise=asked.quantise,
            rng_seed=asked.rng_seed,
            layers=asked.layers.split(",") if asked.layers else None,
        )
    except KeyboardInterrupt:
        print(f"stopped; the same command goes on from {asked.out}.shards", file=sys.stderr)
        return 130
    except Error as why:
        print(f"error: {why}", file=sys.stderr)
        return 2
    if not asked.quiet:
        print(found)
        print(f"saved in {found.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
