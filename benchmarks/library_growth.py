"""How many motions a library takes as its parameters become more, at one tolerance.

python -m benchmarks.library_growth                      2 to 5 parameters, 0 to 2 steps
python -m benchmarks.library_growth --count 4 --steps 1 --seeds 5

Two links lift a load (arm_2 to arm_5 of library_problems.py). For each number of parameters, and
of steps of sequential quadratic programming after which a task still counts as known, a library is
built until its confidence bound is below 1 %, or until --most motions or --seconds; --seeds of
them, and least to largest is printed.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from sofa_softctl.library import Builder, LibraryFile, Program
from sofa_softctl.library.ocp.problem import load_problem

FILE = Path(__file__).parent / "library_problems.py"
FAILURE_RATE = 0.01


def main() -> None:
    """Print a row for each number of parameters and of steps."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, choices=(2, 3, 4, 5), action="append")
    parser.add_argument("--steps", type=int, choices=(0, 1, 2), action="append")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--most", type=int, default=1200)
    parser.add_argument("--seconds", type=float, default=600.0)
    options = parser.parse_args()
    print(
        "parameters, steps: motions, tasks, bound of failures, time, without correction", flush=True
    )
    for count in options.count or (2, 3, 4, 5):
        program = Program(load_problem(f"{FILE}:arm_{count}"))
        for steps in options.steps or (0, 1, 2):
            built = [
                build(program, options.seconds, steps=steps, most=options.most, seed=seed)
                for seed in range(options.seeds)
            ]
            print(f"{count}, {steps}: {spread(built)}", flush=True)


def build(program: Program, most_seconds: float, **given: int) -> tuple[float, ...]:
    """Motions, tasks, bound, seconds and share of answers without correction of a library."""
    with (
        TemporaryDirectory() as folder,
        LibraryFile.create(f"{folder}/arm.library", program.model) as file,
    ):
        builder, begin = Builder(program, file, failure_rate=FAILURE_RATE, **given), perf_counter()
        while not builder.done and perf_counter() < begin + most_seconds:
            builder.keep(builder.round())
        counts, seconds = builder.counts, perf_counter() - begin
        plain = (counts.by_sensitivity + counts.by_qp) / counts.plannings
        return len(builder.library), counts.plannings, builder.bound, seconds, plain


def spread(built: list[tuple[float, ...]]) -> str:
    """Least to largest of each number."""
    forms = ("{:,.0f} motions", "{:,.0f} tasks", "{:.2%}", "{:.0f} s", "{:.0%}")
    shown = [
        " to ".join(dict.fromkeys(form.format(each(column)) for each in (min, max)))
        for form, column in zip(forms, zip(*built, strict=True), strict=True)
    ]
    stopped = sum(each[2] > FAILURE_RATE for each in built)
    return ", ".join(shown) + (f"; {stopped} stopped before" if stopped else "")


if __name__ == "__main__":
    main()
