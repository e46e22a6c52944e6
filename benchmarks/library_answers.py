"""Whether answers of libraries are what they are given as, on problems of several kinds.

python -m benchmarks.library_answers                    all problems, 1,000 new tasks each
python -m benchmarks.library_answers --problem crane --seeds 5 --tasks 200
python -m benchmarks.library_answers --problem elastic_arm --motions 4 --costs --tasks 500

A library is built for each problem, ended by its confidence bound, and asked for new tasks. SciPy
checks each answer that is SOLVED, by the problem's own formulas (library_check.py); IPOPT solves
each task that was refused, with --costs all tasks, from its own guess and from the answer. It takes
some 20 minutes a seed.
"""

import argparse
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

from benchmarks.library_check import Checker
from sofa_softctl.library import Builder, LibraryFile, Program
from sofa_softctl.library.building.solving import TaskChain
from sofa_softctl.library.ocp.problem import load_problem

HERE = Path(__file__).parent
PROBLEMS = {
    **{name: f"{HERE}/library_problems.py:{name}" for name in ("crane", "fast_load", "obstacle")},
    **{name: f"{HERE}/library_problems.py:{name}" for name in ("pillar", "rib")},
    **{name: f"{HERE}/library_problems.py:{name}" for name in ("spring_arm", "arm_4")},
    "flexible_cart": f"{HERE.parent}/scenes/problems/flexible_cart.py",
    "elastic_arm": f"{HERE.parent}/scenes/elastic_arm/tasks.py:elastic_arm",
    "chain": f"{HERE.parent}/scenes/arm_library.py:motions",
}


@dataclass
class Found:
    """What was found of a library."""

    bound: float
    """Share of tasks with a motion that it fails at most, as building found."""
    motions: int
    """In the library."""
    build: float
    """Time of building [s]."""
    solved: int = 0
    """Answers given as good."""
    refused: int = 0
    """Refused tasks that have a motion."""
    none: int = 0
    """Refused tasks for which IPOPT finds none either."""
    broken: list[str] = field(default_factory=list)
    """What answers given as good break, and at which parameters."""
    used: list[float] = field(default_factory=list)
    """Share of the tolerances that each used."""
    excess: list[float] = field(default_factory=list)
    """Excess of limits over what is allowed."""
    kept: list[bool] = field(default_factory=list)
    """Whether each motion that was not tested kept to its expected error; tasks with a motion."""
    outside: list[bool] = field(default_factory=list)
    """Whether each task with a motion was outside of all regions."""
    passed: list[bool] = field(default_factory=list)
    """Whether its answer was given as good."""
    seconds: list[float] = field(default_factory=list)
    """Time of each answer."""
    costs: list[tuple[float, float, float]] = field(default_factory=list)
    """Cost of each answer given as good, of the best optimum, and bound of costs; with --costs."""
    floor: float = 0.0
    """Cost below which differences are absolute."""

    def passed_of(self, outside: bool) -> str:
        """Share of answers that passed, outside of regions or inside."""
        rows = [a for a, b in zip(self.passed, self.outside, strict=True) if b == outside]
        return f"{100 * np.mean(rows):.1f} % of {len(rows)}" if rows else "no task"

    def __str__(self) -> str:
        with_motion = self.solved + self.refused
        median, late = 1e3 * np.percentile(self.seconds, (50, 99))
        return "\n".join(
            (
                f"  {self.motions} motions, built in {self.build:.0f} s",
                f"  given as good {self.solved}, of these broken {len(self.broken)}",
                f"  refused though there is a motion {self.refused}, "
                f"{100 * self.refused / max(with_motion, 1):.2f} % of those with one "
                f"(the bound of building: {100 * self.bound:.2f} %)",
                f"  refused, and IPOPT finds none either {self.none}",
                f"  largest share of a tolerance {max(self.used, default=0.0):.6f}, "
                f"of the slack of limits {max(self.excess, default=0.0):.3f}",
                "  untested motions within the error expected of 95 %: "
                f"{100 * np.mean(self.kept):.1f} %",
                f"  passed inside of regions {self.passed_of(False)}, "
                f"outside {self.passed_of(True)}",
                f"  an answer: median {median:.2f} ms, 99 % {late:.1f} ms",
                *self.cost_lines(),
                *(f"  BROKEN {each}" for each in self.broken[:10]),
            )
        )

    def cost_lines(self) -> list[str]:
        """Costs over the optima, and whether bounds hold."""
        if not self.costs:
            return []
        costs, optima, bounds = np.array(self.costs).T
        size = np.maximum(np.abs(optima), self.floor)
        known = np.isfinite(bounds)
        over, below = (costs - optima) / size, (bounds - optima) / size
        middle, late, last = np.percentile(over, (50, 99, 100))
        lines = [
            f"  cost over the optimum: median {middle:.2%}, 99 % {late:.2%}, largest {last:.2%}"
        ]
        if known.any():
            lines.append(
                f"  bounds of costs {known.sum()} of {len(known)}; over the optimum: "
                f"{np.count_nonzero(below[known] > 1e-6)}, {-below[known].min():.1e} below at most"
            )
        return lines


def measure(builder: Builder, tasks: int, seconds: float, costs: bool) -> Found:
    """Build a library, and check its answers to new tasks."""
    program, begin = builder.program, perf_counter()
    while not builder.done and perf_counter() < begin + seconds:
        builder.keep(builder.round())
    library = builder.file.library()
    found = Found(builder.bound, len(library), perf_counter() - begin)
    library.prepare()
    found.floor = library.cost_floor
    checker = Checker(program.problem, program.model.path_scale)
    chain = TaskChain(np.random.default_rng([22, builder.seed]))
    library.query(chain.draw(program.problem))
    for _ in range(tasks):
        p = chain.draw(program.problem)
        answer = library.query(p)
        found.seconds.append(answer.seconds)
        optimum = None
        if costs or not answer.status.ok:
            optima = [program.solve(p, start) for start in (None, answer.v)]
            optimum = min(
                (each for each in optima if each.status.ok),
                key=lambda each: each.cost,
                default=None,
            )
        if answer.status.ok:
            if optimum is not None:
                found.costs.append((answer.cost, optimum.cost, answer.cost_bound.lower))
            check = checker(answer.motion, p)
            found.solved += 1
            found.used.append(max(check.error, check.terminal))
            found.excess.append(check.excess)
            if check.broken:
                found.broken.append(f"at {p.tolist()}: {check.broken}")
            chain.finish(answer.motion.x[-1])
        else:
            if optimum is None:
                found.none += 1
                chain.skip()
                continue
            found.refused += 1
            chain.finish(optimum.v[program.x_at[-1]])
        blind = library.query(p, check=False)
        error = library.model.simulate(blind.motion, p).error
        found.kept.append(bool(error <= blind.expected_error))
        found.outside.append(answer.outside)
        found.passed.append(answer.status.ok)
    return found


def main() -> None:
    """Print what was found of each problem."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problem", choices=PROBLEMS, action="append")
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0, help="the first")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--failure-rate", type=float, default=0.01)
    parser.add_argument("--motions", type=int, default=5000, help="at most")
    parser.add_argument("--costs", action="store_true", help="compare with the optima")
    parser.add_argument("--seconds", type=float, default=np.inf, help="of building, at most")
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.seeds)
    for name in options.problem or PROBLEMS:
        program, built = Program(load_problem(PROBLEMS[name])), []
        for seed in seeds:
            with (
                TemporaryDirectory() as folder,
                LibraryFile.create(f"{folder}/{name}.library", program.model) as file,
            ):
                given = {"failure_rate": options.failure_rate, "steps": options.steps}
                given["most"] = options.motions
                builder = Builder(program, file, seed=seed, **given)
                built.append(measure(builder, options.tasks, options.seconds, options.costs))
            print(f"{name}, {len(program.problem.parameters)} parameters, seed {seed}", flush=True)
            print(built[-1], flush=True)
        print(f"{name}, least to largest of {len(seeds)} seeds: {spread(built)}", flush=True)


def spread(built: list[Found]) -> str:
    """Least to largest of what was found of libraries."""
    rows = {
        "motions": [each.motions for each in built],
        "s of building": [round(each.build) for each in built],
        "% bound": [round(100 * each.bound, 2) for each in built],
        "given as good": [each.solved for each in built],
        "of these broken": [len(each.broken) for each in built],
        "refused though there is a motion": [each.refused for each in built],
        "% untested within their expected error": [
            round(100 * float(np.mean(each.kept)), 1) for each in built
        ],
        "ms, median": [round(1e3 * float(np.median(each.seconds)), 2) for each in built],
        "ms, 99 %": [round(1e3 * float(np.percentile(each.seconds, 99)), 1) for each in built],
    }
    return ", ".join(
        f"{' to '.join(dict.fromkeys((str(min(row)), str(max(row)))))} {name}"
        for name, row in rows.items()
    )


if __name__ == "__main__":
    main()
