#!/usr/bin/env python3
"""Shows that the tests of crates/check notice errors in it: makes the mutants of mutants.py, runs the tests
on each, and says which were killed. Exit code 1 if one survives, 2 if the list does not fit the source.

All mutants are compiled at once, into a copy of the workspace in which each place asks which mutant is on
trial; the source of the crate knows nothing of this. Needs Python and cargo, nothing else.

    crates/check/mutants/run.py [--work FOLDER] [--only TEXT] [--list]
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
from mutants import LIB, MUTANTS

ROOT = Path(__file__).resolve().parents[3]
CRATE = Path("crates/check")
PACKAGE = "deepconcolic-check"
SWITCH = """
/// Which mutant is on trial.
pub(crate) fn mutant_is(number: usize) -> bool {
    static ON_TRIAL: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    let read = || std::env::var("MUTANT").ok().and_then(|m| m.parse().ok()).unwrap_or(usize::MAX);
    *ON_TRIAL.get_or_init(read) == number
}
"""


def fail(message):
    print(message, file=sys.stderr)
    sys.exit(2)


def copy(work):
    """The workspace without what is built; unchanged files keep their times, so that cargo skips them."""
    for source in [ROOT / "Cargo.toml", ROOT / "Cargo.lock", *(ROOT / "crates").rglob("*")]:
        if not source.is_file() or "target" in source.relative_to(ROOT).parts:
            continue
        target = work / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.stat().st_mtime != source.stat().st_mtime:
            shutil.copy2(source, target)


def places():
    """Numbers and replacements of the mutants by file and text."""
    found = {}
    for number, (_, file, find, replace, _) in enumerate(MUTANTS):
        found.setdefault((file, find), []).append((number, replace))
    return found


def code_of(text):
    """The part of a file before its tests: methods that tests alone have are indented."""
    return text.partition("\n#[cfg(test)]\n")[0]


def misfits():
    """Entries whose text is not in the source exactly once."""
    wrong = []
    for (file, find), numbers in places().items():
        path = ROOT / CRATE / "src" / file
        count = code_of(path.read_text()).count(find) if path.exists() else 0
        if count != 1:
            names = ", ".join(MUTANTS[number][0] for number, _ in numbers)
            wrong.append(f"{file}: found {count} times, not once: {find!r} ({names})")
    return wrong


def choice(find, numbers):
    """A place that is what it was unless one of its mutants is on trial."""
    if find.startswith("let "):
        name, _, value = find[4:].rstrip(";").partition(" = ")
        values = [(n, r[4:].rstrip(";").partition(" = ")[2]) for n, r in numbers]
        return f"let {name} = {choice(value, values)};"
    if find.endswith(";"):
        cases = "".join(f"if crate::mutant_is({n}) {{ {r} }} else " for n, r in numbers)
        return f"{cases}{{ {find} }}"
    cases = "".join(f"if crate::mutant_is({n}) {{ {r} }} else " for n, r in numbers)
    return f"({cases}{{ {find} }})"


def mutate(work):
    """Writes all mutants into the copy."""
    texts = {}
    for (file, find), numbers in places().items():
        path = work / CRATE / "src" / file
        text = texts.get(path) or path.read_text()
        code = code_of(text)
        texts[path] = code.replace(find, choice(find, numbers)) + text[len(code):]
    for path, text in texts.items():
        path.write_text(text)
    lib = work / CRATE / "src/lib.rs"
    lib.write_text(lib.read_text() + SWITCH)


def environment(work, number=None):
    more = {
        "CARGO_TARGET_DIR": str(work / "target"),
        "CARGO_PROFILE_TEST_OPT_LEVEL": "1",
        "CARGO_PROFILE_TEST_DEBUG": "0",
        "RUST_BACKTRACE": "0",
    }
    if number is not None:
        more["MUTANT"] = str(number)
    return {**os.environ, **more}


def binaries(work, names):
    """Builds the test programs; path of each."""
    chosen = [part for name in names for part in (["--lib"] if name == LIB else ["--test", name])]
    command = ["cargo", "test", "--offline", "-p", PACKAGE, "--no-run", *chosen]
    done = subprocess.run(command, cwd=work, env=environment(work), capture_output=True, text=True)
    if done.returncode != 0:
        fail(done.stderr[-8000:])
    paths = {}
    for line in done.stderr.splitlines():
        if "Executable" in line:
            path = Path(line.rpartition("(")[2].rstrip(")"))
            for name in names:
                crate = PACKAGE.replace("-", "_") if name == LIB else name
                if path.name.startswith(crate + "-"):
                    paths[name] = path if path.is_absolute() else work / path
    if len(paths) != len(names):
        fail(f"no test programs for {set(names) - set(paths)}")
    return paths


def passes(work, program, filters, number=None):
    """Whether the tests pass; a mutant that never ends is noticed too."""
    try:
        return subprocess.run(
            [program, "--quiet", *filters],
            cwd=work / CRATE,
            env=environment(work, number),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=900,
        ).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, help="where the copy lies, kept for the next time")
    parser.add_argument("--only", default="", help="mutants whose name has this in it")
    parser.add_argument("--list", action="store_true", help="check that the list fits, and print it")
    options = parser.parse_args()
    wrong = misfits()
    if wrong:
        fail("\n".join(wrong))
    if options.list:
        print("\n".join(f"{name}: {file}" for name, file, *_ in MUTANTS))
        return 0
    work = (options.work or Path(tempfile.mkdtemp(prefix="mutants-"))).resolve()
    work.mkdir(parents=True, exist_ok=True)
    copy(work)
    mutate(work)
    names = sorted({test for *_, (test, _) in MUTANTS})
    programs = binaries(work, names)
    for program in programs.values():
        if not passes(work, program, []):
            fail(f"{program.name} fails without any mutant")
    survived = 0
    chosen = [(n, m) for n, m in enumerate(MUTANTS) if options.only in m[0]]
    for number, (name, file, _, _, (test, filters)) in chosen:
        start = time.monotonic()
        killer = None
        if not passes(work, programs[test], [filters] if filters else [], number):
            killer = f"{test} {filters}".strip()
        else:
            others = (other for other in names if not passes(work, programs[other], [], number))
            killer = next(others, None)
        survived += killer is None
        verdict = f"killed by {killer}" if killer else "SURVIVED"
        print(f"{verdict}: {name} ({file}, {time.monotonic() - start:.0f} s)", flush=True)
    print(f"{len(chosen) - survived} of {len(chosen)} killed")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
