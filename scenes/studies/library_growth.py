"""How many motions a library takes as its parameters become more, at one tolerance.

python scenes/studies/library_growth.py                      2 to 5 parameters, 0 to 2 steps
python scenes/studies/library_growth.py --count 4 --steps 1

Two links lift a load (arm_2 to arm_5 of library_problems.py). For each number of parameters, and
of steps of sequential quadratic programming after which a task still counts as known, a library is
built until its confidence bound is below 1 %, or until --most motions or --seconds.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from sofa_softctl.library import Builder, LibraryFile, Program
from sofa_softctl.library.problems.registry import load_problem

FILE = Path(__file__).parent / "library_problems.py"
FAILURE_RATE = 0.01


def main() -> None:
    """Print a row for each library."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, choices=(2, 3, 4, 5), action="append")
    parser.add_argument("--steps", type=int, choices=(0, 1, 2), action="append")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=1200)
    parser.add_argument("--seconds", type=float, default=600.0)
    options = parser.parse_args()
    print(
        "parameters, steps: motions, tasks, bound of failures, time, of tasks: without correction"
    )
    for count in options.count or (2, 3, 4, 5):
        program = Program(load_problem(f"{FILE}:arm_{count}"))
        for steps in options.steps or (0, 1, 2):
            given = {"failure_rate": FAILURE_RATE, "most": options.most, "seed": options.seed}
            with (
                TemporaryDirectory() as folder,
                LibraryFile.create(f"{folder}/arm.library", program.model) as file,
            ):
                builder, begin = Builder(program, file, steps=steps, **given), perf_counter()
                while not builder.done and perf_counter() < begin + options.seconds:
                    builder.keep(builder.round())
                seconds = perf_counter() - begin
            counts, motions = builder.counts, len(builder.library)
            plain = counts.by_sensitivity + counts.by_qp
            more = "" if builder.bound <= FAILURE_RATE else " or more"
            print(
                f"{count}, {steps}: {motions}{more}, "
                f"{counts.plannings}, {100 * builder.bound:.2f} %, {seconds:.0f} s, "
                f"{100 * plain / counts.plannings:.0f} %",
                flush=True,
            )


if __name__ == "__main__":
    main()
