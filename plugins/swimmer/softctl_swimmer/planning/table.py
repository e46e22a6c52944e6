"""Table I of the paper, second row: a gait planned with a map of the mass matrix, and without.

The cost without a map is estimated: evaluations of the planner are counted, and each costs as much
as a solution of the flow. The paper's loop solves for each evaluation. An honest loop stores all
solutions, takes the mass matrix and its slopes from one factorisation, and second derivatives by
one-sided differences of slopes; differences of the optimiser's own Hessian cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from sofa_softctl.surrogate import Iteration, Steps
from softctl_swimmer.planning.counted import CountedMasses
from softctl_swimmer.planning.entries import MassEntries
from softctl_swimmer.planning.gait_plan import GaitPlan
from softctl_swimmer.planning.gaits import Gait
from softctl_swimmer.planning.objectives import OBJECTIVES
from softctl_swimmer.planning.replay import replay, solve_gait
from softctl_swimmer.planning.rivals import Contest, best_sine
from softctl_swimmer.planning.study import ANGLE_LIMIT, Study

TIMED_COUNT = 5
"""Number of timed solutions of the flow, and of timed solutions with slopes."""
REPEATED_STEP_COUNT = 8
"""Number of steps of a plan that are repeated on the flow itself."""
CORRECTIONS_MAX = 6
"""Largest number of corrections of such a step."""


class PaperRow(NamedTuple):
    """Second row of Table I of Jia, Pan, Manocha 2019, with numbers from its text."""

    vertices: int = 1412
    corners: int = 732
    f: float = 0.9
    """Time of a solution of the flow [s]."""
    iteration_map: float = 3.1
    """Time of an iteration of the planner with the map [s]."""
    iteration: float = 183.0
    """Time of an iteration without the map, estimated by the paper [s]."""
    faster: float = 190.0
    """Speedup of the complete plan [-]."""
    fewer: float = 205.0
    """Number of solutions without the map divided by the number with it [-]."""
    error: float = 2e-5
    """Relative error of a step [-]."""


@dataclass(frozen=True)
class Row:
    """Result of one plan; costs without the map are extrapolated from counts and measured times."""

    body: str
    """Key of `bodies.BODIES`."""
    objective: str
    """Key of `objectives.OBJECTIVES`."""
    vertices: int
    """Number of vertices of the skin."""
    corners: int
    """Solutions of the flow for the map."""
    f: float
    """Median time of one [s]."""
    f_slopes: float
    """Median time of one with its slopes by the angles [s]."""
    map_seconds: float
    """Time of the map: f times corners [s]."""
    plan_seconds: float
    """Time of the plan on the map, start included [s]."""
    iterations: int
    """Number of iterations of the planner."""
    asked: int
    """Number of solutions in the paper's loop, one per evaluation of the planner."""
    kept: int
    """Number of solutions with slopes in the honest loop."""
    error: float
    """Largest error of a step, relative to the size of its coordinates [-]."""
    error_of_displacement: float
    """Largest error of a step, relative to its displacement [-]."""
    start: float
    """Progress of the wave that the plan begins with [m] or [rad]."""
    progress: float
    """Progress of the plan."""
    exact: float
    """Progress of its joint angles on the flow itself."""
    torque: float
    """Largest torque on the flow, over the limit [-]."""
    status: str
    """Status of the plan after the replay."""
    random: tuple[float, float]
    """Mean and best progress of random periodic gaits."""
    sine: float
    """Progress of the best sine wave that a generic optimiser finds in the time of the plan."""

    @property
    def fewer(self) -> float:
        """Number of solutions in the paper's loop divided by the number for the map [-]."""
        return self.asked / self.corners

    @property
    def faster(self) -> float:
        """Time of the paper's loop divided by the time of map and plan [-]."""
        return self.asked * self.f / (self.map_seconds + self.plan_seconds)

    @property
    def honestly_fewer(self) -> float:
        """Number of solutions in the honest loop divided by the number for the map [-]."""
        return self.kept / self.corners

    @property
    def honestly_faster(self) -> float:
        """Time of the honest loop's solutions divided by the time of map and plan [-]."""
        return self.kept * self.f_slopes / (self.map_seconds + self.plan_seconds)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict, with the ratios and the paper's row."""
        ratios = ("fewer", "faster", "honestly_fewer", "honestly_faster")
        values = asdict(self) | {name: getattr(self, name) for name in ratios}
        return values | {"paper": PaperRow()._asdict()}


class Times(NamedTuple):
    """Times of solutions of the flow."""

    f: float
    """Median time of one [s]."""
    f_slopes: float
    """Median time of one with slopes by the angles [s]."""


def time_flow(study: Study) -> Times:
    """Solve the flow at some random poses."""
    random = np.random.default_rng(0)
    maps = replace(study.exact, slopes=False), study.exact
    maps[1](np.zeros(study.dynamics.inputs))  # compiles
    return Times(
        *(_median_time(map_of_masses, study.dynamics.inputs, random) for map_of_masses in maps)
    )


def measure(
    study: Study,
    objective: str,
    times: Times,
    rivals: Sequence[Gait],
    *,
    progress: Callable[[str], None] | None = None,
) -> Row:
    """Plan, replay on the flow, and compare with other gaits.

    Args:
        study: The body.
        objective: Key of `objectives.OBJECTIVES`.
        times: Times of solutions of the flow.
        rivals: Random gaits of the body, of `rivals.random_gaits`.
        progress: Called with a line of text from time to time.
    """

    def report(text: str) -> None:
        if progress is not None:
            progress(f"{study.body}, {objective}: {text}")

    iterations = 0

    def report_iteration(iterate: Iteration) -> None:
        nonlocal iterations
        iterations += 1
        report(f"iteration {iterations}, {-iterate.cost:.4g}")

    counted = CountedMasses(study.dynamics.embedding.masses)
    counting_dynamics = study.dynamics.on(replace(study.dynamics.embedding, masses=counted))
    began = perf_counter()
    gait_plan = solve_gait(
        counting_dynamics,
        objective,
        instants=study.instants,
        reach=study.limit,
        progress=report_iteration,
    )
    seconds = perf_counter() - began
    queries, stored = (
        counted.queries,
        counted.distinct + study.dynamics.inputs * counted.curvature_poses,
    )
    report("replay on the flow")
    gait_plan = replay(gait_plan, study.dynamics, study.exact)
    assert gait_plan.exact is not None and gait_plan.torque is not None  # after a replay
    errors = _step_errors(study, gait_plan)
    goal, contest = OBJECTIVES[objective](study.dynamics.embedding), contest_of(study)
    progress_of_rivals = [goal.progress_of(study.dynamics.embedding, gait.a) for gait in rivals]
    report("best sine wave")
    sine, _ = best_sine(contest, goal, seconds)
    return Row(
        body=study.body,
        objective=objective,
        vertices=study.flow.vertex_count,
        corners=study.corners,
        f=times.f,
        f_slopes=times.f_slopes,
        map_seconds=times.f * study.corners,
        plan_seconds=seconds,
        iterations=iterations,
        asked=queries,
        kept=stored,
        error=errors[0],
        error_of_displacement=errors[1],
        start=gait_plan.begun,
        progress=gait_plan.progress,
        exact=gait_plan.exact,
        torque=gait_plan.torque,
        status=gait_plan.status.name,
        random=(float(np.mean(progress_of_rivals)), max(progress_of_rivals)),
        sine=sine,
    )


def contest_of(study: Study) -> Contest:
    """Return the limits of all gaits."""
    return Contest(study.dynamics, study.instants, study.limit)


def _median_time(masses: MassEntries, hinges: int, random: np.random.Generator) -> float:
    times = []
    for angles in random.uniform(-ANGLE_LIMIT, ANGLE_LIMIT, (TIMED_COUNT, hinges)):
        began = perf_counter()
        masses(angles)
        times.append(perf_counter() - began)
    return float(np.median(times))


def _step_errors(study: Study, gait_plan: GaitPlan) -> tuple[float, float]:
    """Return the largest errors of single steps of a plan, over coordinates and displacements.

    Newton steps with the map's slopes, from the map's step, find the step on the flow: the error of
    each correction falls by a factor equal to the map's relative error.
    """
    mapped = study.dynamics
    exact = mapped.on(replace(mapped.embedding, masses=study.exact))
    errors = []
    for k in np.linspace(2, len(gait_plan.plan.u) - 1, REPEATED_STEP_COUNT).astype(int):
        a, u = gait_plan.plan.a, gait_plan.plan.u[k][None]
        jet_next, *jets = (mapped.embedding.at(a[i][None]) for i in (k + 1, k, k - 1))
        J = mapped.linearise(Steps(a[k + 1][None], a[k][None], u, jet_next, *jets)).by_next[0]
        jets = [exact.embedding.at(a[i][None]) for i in (k, k - 1)]
        a_exact = a[k + 1].copy()
        for _ in range(CORRECTIONS_MAX):
            jet_next = exact.embedding.at(a_exact[None])
            residual = exact.residual(Steps(a_exact[None], a[k][None], u, jet_next, *jets))[0]
            change = np.linalg.solve(J, residual)
            a_exact -= change
            if np.abs(change).max() < 1e-12:
                break
        error = np.linalg.norm(a[k + 1] - a_exact)
        errors.append((error / np.linalg.norm(a_exact), error / np.linalg.norm(a_exact - a[k])))
    worst = np.max(errors, axis=0)
    return float(worst[0]), float(worst[1])
