"""Do results hang on the last digits? Tests under other BLAS kernels, processors, threads, shapes.

    python -m tests.rounding                 # what `make test-rounding` runs
    python -m tests.rounding tests/library --no-shapes
    python -m tests.rounding --only haswell,prescott tests/scenes/test_gripper.py

One factor at a time: the kernels of OpenBLAS for other processors, numba's code for a generic one,
one and two threads, and rest shapes perturbed by 1e-10 of the robot's size. Prints for each
assertion on a number that scatters how far it stays from its limit, and every failure; the exit
status is 1 if anything failed. Everything found goes to out/rounding.csv.
"""

import argparse
import csv
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = (
    *(f"tests/scenes/test_{name}.py" for name in ("rolling_ring", "rolling_ball", "trunk_cup")),
    *("tests/scenes/test_three_fingers.py", "tests/scenes/test_gripper.py"),
    *("tests/inverse", "tests/qpcc"),
)
"""The scenes with contacts, and the inverse problems."""
CORES = ("Haswell", "Zen", "Prescott", "SkylakeX")
"""Kernels of OpenBLAS; SkylakeX needs AVX-512."""
SHAPES = 10
"""Perturbed rest shapes."""
ENOUGH = 10.0
"""Margins below so many times their scatter are listed."""
OURS = ("OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_CPU_NAME")
"""Variables that variations set, and nothing else may."""
ROOT = Path(__file__).parents[1]


def variations(shapes=True):
    """Environment of each variation by its name; the first is the machine as it is."""
    found = {"as it is": {}}
    known = {architecture({}): "as it is"}
    for core in CORES:
        if core == "SkylakeX" and not has_avx512():
            continue
        used = architecture({"OPENBLAS_CORETYPE": core})
        if used in known:
            print(f"{core}: this OpenBLAS takes its kernels for {used}, as '{known[used]}' does.")
            continue
        known[used] = core.lower()
        found[core.lower()] = {"OPENBLAS_CORETYPE": core}
    found["generic"] = {"NUMBA_CPU_NAME": "generic"}
    for count in ("1", "2"):
        found[f"{count} thread{'s' * (count > '1')}"] = {
            "OPENBLAS_NUM_THREADS": count,
            "OMP_NUM_THREADS": count,
        }
    for seed in range(1, SHAPES + 1 if shapes else 1):
        found[f"shape {seed}"] = {"ROUNDING_SEED": str(seed)}
    return found


def environment(variation):
    """This process's environment with one variation, and none that is set from outside."""
    kept = {name: value for name, value in os.environ.items() if name not in OURS}
    return {**kept, **variation}


def architecture(variation):
    """Processor whose kernels NumPy's BLAS takes under a variation."""
    code = (
        "import numpy, threadpoolctl as t\n"
        "print(*{str(one.get('architecture')) for one in t.threadpool_info()})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(variation),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def has_avx512():
    """Whether NumPy finds AVX-512 on this processor."""
    code = "import numpy; numpy.show_runtime()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = done.stdout.partition("'found'")[2].partition("]")[0]
    return "AVX512F" in found or "AVX512_SKX" in found or "X86_V4" in found


def run(tests, variation, options=()):
    """What the plugin found under one variation: a dictionary for each test."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "figures.jsonl"
        extra = {
            "ROUNDING_OUT": str(out),
            "PYTHONPYCACHEPREFIX": str(Path(folder) / "pycache"),  # others are without the hook
        }
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "tests.rounding_plugin",
            "--hypothesis-seed=0",
        ]
        command += ["-p", "no:cacheprovider", "-o", "enable_assertion_pass_hook=true", "--tb=short"]
        subprocess.run(
            [*command, *options, *tests],
            env=environment({**variation, **extra}),
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            check=False,
        )
        return [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []


class Figure:
    """One assertion on a number under all variations."""

    def __init__(self, test, line):
        self.test, self.line, self.text = test, line, ""
        self.values, self.margins = {}, {}

    def add(self, name, found):
        self.text = self.text or found["text"]
        self.values[name], self.margins[name] = found["value"], found["margin"]

    @property
    def scatter(self):
        """Largest less smallest value."""
        return max(self.values.values()) - min(self.values.values())

    @property
    def margin(self):
        """Distance to the limit of the nearest."""
        return min(self.margins.values())

    @property
    def ratio(self):
        """Margin over scatter; infinite where nothing scatters."""
        return self.margin / self.scatter if self.scatter > 0.0 else math.inf


def gather(results):
    """Figures by (test, line), and failures (variation, test, message), of all variations."""
    figures, failures = {}, []
    for name, rows in results.items():
        for row in rows:
            if row["outcome"] == "failed":
                failures.append((name, row["test"], row["message"]))
            for found in row["figures"]:
                key = row["test"], found["line"]
                figures.setdefault(key, Figure(*key)).add(name, found)
    return figures, failures


def show(results, figures, failures):
    """Print what scatters too much, the failures, and a count for each variation."""
    narrow = sorted((one for one in figures.values() if one.ratio < ENOUGH), key=lambda f: f.ratio)
    print(f"\n{len(narrow)} of {len(figures)} figures with a margin below {ENOUGH:g} x scatter:")
    for one in narrow:
        first = next(iter(one.values.values()))
        print(
            f"  {one.test}:{one.line}  {one.text or '(failed)'}\n"
            f"      value {first:.6g}, margin {one.margin:.3g}, scatter {one.scatter:.3g}, "
            f"ratio {one.ratio:.2g}"
        )
    print("\nvariation        passed  failed")
    for name, rows in results.items():
        failed = sum(row["outcome"] == "failed" for row in rows)
        passed = sum(row["outcome"] == "passed" for row in rows)
        print(f"{name:15} {passed:7} {failed:7}")
    for name, test, message in failures:
        print(f"FAILED under {name}: {test}: {message}")


def write(path, figures, names):
    """A row for each figure, a column for each variation."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["test", "line", "assertion", "margin", "scatter", *names])
        for one in figures.values():
            values = [one.values.get(name, "") for name in names]
            writer.writerow([one.test, one.line, one.text, one.margin, one.scatter, *values])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tests", nargs="*", default=list(TESTS), help="files and folders of tests")
    parser.add_argument("--no-shapes", action="store_true", help="without perturbed rest shapes")
    parser.add_argument(
        "--only", default="", help="variations whose name holds this, and the first"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "rounding.csv")
    parser.add_argument("-n", "--processes", default="0", help="of pytest-xdist")
    options = parser.parse_args()
    results = {}
    for number, (name, variation) in enumerate(variations(not options.no_shapes).items()):
        if number and options.only and name not in options.only.split(","):
            continue
        print(f"{name} ...", flush=True)
        results[name] = run(options.tests, variation, ("-n", options.processes))
        if not results[name]:
            sys.exit(f"No test ran under '{name}': pytest {' '.join(options.tests)} says why.")
        figures, failures = gather(results)
        write(options.out, figures, list(results))  # after a kill, the file has what was found
    show(results, figures, failures)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
