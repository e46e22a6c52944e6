"""The library paper's own method: Algorithm 1, and answers that nothing tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sofa_softctl.library.building.solving import solve
from sofa_softctl.library.building.verify import FreshTasks
from sofa_softctl.library.motions.answer import Correction
from sofa_softctl.library.motions.library import TrajectoryLibrary
from sofa_softctl.library.ocp.shooting import Program


@dataclass(frozen=True, eq=False)
class BuiltAsPaper:
    """A library of Algorithm 1."""

    library: TrajectoryLibrary
    """Its motions."""
    plannings: int
    """Random tasks."""
    skipped: int
    """Of these, those without a motion, or whose optimum has no sensitivity."""


@dataclass(frozen=True, eq=False)
class BlindAnswers:
    """Answers to fresh tasks, executed as they are."""

    errors: np.ndarray
    """Simulated error of each answer [of the problem]."""
    unrefined: np.ndarray
    """Error of the nearest motion as it is."""
    linear: np.ndarray
    """Whether the linear correction sufficed."""
    costs: np.ndarray
    """Simulated cost."""
    optimal: np.ndarray
    """Cost of the optimum; NaN where it was not asked for."""
    seconds: np.ndarray
    """Computing time [s]."""
    infeasible: int
    """Tasks without a motion, which do not count above."""


def build_as_paper(
    program: Program, *, successes: int = 1000, seed: int = 0, most: int = 5000
) -> BuiltAsPaper:
    """Build a library by Algorithm 1.

    The nearest motion alone answers, corrected linearly or by the tangent QP; "accuracy is poor"
    where the simulated error exceeds the problem's tolerance, and nothing else is tested. Tasks
    without a motion are skipped, as the paper does not say what it does with them.

    Args:
        program: Program of the problem; in the paper without a margin.
        successes: Tasks in a row that need no new motion, at which it ends.
        seed: Seed of the random tasks.
        most: Maximum number of motions.

    Source: Marcucci et al., Algorithm 1.
    """
    library = TrajectoryLibrary(program.model)
    tasks = FreshTasks(program.problem, 1_000_000 + seed)  # never those of `answer_blind`
    plannings = skipped = run = 0
    while run < successes and len(library) < most:
        p = tasks.draw()
        plannings += 1
        if len(library):
            moved = library.model.simulate(library.query(p, check=False).motion, p)
            if moved.error <= library.model.tolerance:
                run += 1
                tasks.finish(moved.motion.x[-1])
                continue
        solved = solve(program, p)
        if solved.end is None:
            tasks.skip()
        else:
            tasks.finish(solved.end)
        if solved.entry is None:
            skipped += 1
        else:
            run = 0
            library.add(solved.entry)
    return BuiltAsPaper(library, plannings, skipped)


def answer_blind(
    library: TrajectoryLibrary, program: Program, tasks: int, *, seed: int, compared: int = 0
) -> BlindAnswers:
    """Answer fresh tasks as in the paper, and simulate what becomes of them.

    Where an answer misses the tolerance, it is asked whether the task has a motion at all; if not,
    it is counted apart.

    Args:
        library: The library.
        program: Program of its problem.
        tasks: Number of tasks.
        seed: Seed of the random numbers.
        compared: Number of tasks, the first, whose optimum is found for its cost.
    """
    library.prepare()
    fresh = FreshTasks(program.problem, seed)
    rows: list[tuple[float, float, bool, float, float, float]] = []
    while len(rows) < tasks:
        p = fresh.draw()
        answer = library.query(p, check=False)
        moved = library.model.simulate(answer.motion, p)
        good = moved.error <= library.model.tolerance
        optimum = program.solve(p) if len(rows) < compared or not good else None
        solved = optimum is not None and optimum.status.ok
        if not (good or solved):
            fresh.skip()
            continue
        fresh.finish(moved.motion.x[-1])
        near = library.query(p, refine=False).error
        linear = answer.correction is Correction.LINEAR
        best = optimum.cost if optimum is not None and solved else np.nan
        rows.append((moved.error, near, linear, moved.cost, best, answer.seconds))
    errors, unrefined, linear_, costs, optimal, seconds = np.array(rows, float).T
    return BlindAnswers(
        errors=errors,
        unrefined=unrefined,
        linear=linear_.astype(bool),
        costs=costs,
        optimal=optimal,
        seconds=seconds,
        infeasible=fresh.without_motion,
    )
