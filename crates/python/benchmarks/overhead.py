"""What calling from Python costs: coverage beside the command, memory beside the data, the import.

    python crates/python/benchmarks/overhead.py MODEL.onnx DATA.npz [--samples 10000] [--rounds 5]

The command and the call are run in turn, in one process each, and the shortest of each counts. The samples are repeated
until there are enough.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

CALL = """
import json, resource, sys, time
import numpy as np
import deepconcolic as dc
arrays = np.load(sys.argv[2])
x, y = arrays["x"], arrays["y"]
if len(sys.argv) > 3:
    # Four times as large, and without anything larger on the way.
    x = np.divide(x, np.float32(255), dtype=np.float32)
# Whoever is first to ask for a name imports what it needs, which is timed below.
coverage, load = dc.coverage, dc.load
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
begun = time.perf_counter()
report = coverage(load(sys.argv[1]), x, y, criteria=["nc"], noise=False)
seconds = time.perf_counter() - begun
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"seconds": seconds, "grown": after - before, "data": x.nbytes // 1024, "covered": report["nc"].covered}))
"""

IMPORT = """
import time
begun = time.perf_counter()
import deepconcolic
alone = time.perf_counter() - begun
deepconcolic.coverage
print(alone, time.perf_counter() - begun)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("data")
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--command", help="the program, where it is not the one in the package")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.npz"
        with np.load(asked.data) as arrays:
            times = -(-asked.samples // len(arrays["x"]))
            x = np.concatenate([arrays["x"]] * times)[: asked.samples]
            y = np.concatenate([arrays["y"]] * times)[: asked.samples]
        np.savez(data, x=x, y=y)
        program = [asked.command] if asked.command else [sys.executable, "-m", "deepconcolic"]
        command = [*program, "coverage", asked.model, "--data", str(data)]
        command += ["--criterion", "nc", "--no-noise", "--json", "-"]
        calls, commands, found = [], [], {}
        for _ in range(asked.rounds):
            begun = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            commands.append(time.perf_counter() - begun)
            output = subprocess.run([sys.executable, "-c", CALL, asked.model, data], check=True, capture_output=True, text=True)
            found = json.loads(output.stdout)
            calls.append(found["seconds"])
        words = [sys.executable, "-c", CALL, asked.model, data, "float32"]
        wide = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
        imports = [
            [float(word) for word in subprocess.run([sys.executable, "-c", IMPORT], check=True, capture_output=True, text=True).stdout.split()]
            for _ in range(asked.rounds)
        ]
    print(f"coverage of {asked.samples} samples: call {min(calls):.3f} s, command {min(commands):.3f} s, "
          f"ratio {min(calls) / min(commands):.3f}")
    for given in (found, wide):
        print(f"memory: {given['grown']} KiB more at the peak, the data are {given['data']} KiB")
    alone, used = (min(column) for column in zip(*imports))
    print(f"import: {alone:.3f} s; with numpy and all that coverage needs {used:.3f} s")


if __name__ == "__main__":
    main()
