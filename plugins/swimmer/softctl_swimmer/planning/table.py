"""Table I of the paper, second row: a gait planned with a map of the mass matrix, and without.

Without one, nothing is run: the planner's questions are counted, and each costs what a solution of
the flow costs. The paper's loop solves for each. An honest one keeps all solutions, takes the mass
matrix and its slopes from one factorisation, and second derivatives by one-sided differences of
slopes; those of the optimiser's own Hessian it gets for nothing.
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
from softctl_swimmer.planning.study import LIMIT, Study

TIMED = 5
"""Solutions of the flow that are timed, and as many with slopes."""
STEPS = 8
"""Steps of a plan that are repeated on the flow itself."""
CORRECTIONS = 6
"""Of such a step at most."""


class PaperRow(NamedTuple):
    """Second row of Table I of Jia, Pan, Manocha 2019, and what its text adds."""

    vertices: int = 1412
    corners: int = 732
    f: float = 0.9
    """A solution of the flow [s]."""
    iteration_map: float = 3.1
    """An iteration of the planner with the map [s]."""
    iteration: float = 183.0
    """An iteration without, as the paper estimates it [s]."""
    faster: float = 190.0
    """Of the whole plan [-]."""
    fewer: float = 205.0
    """Solutions without the map over those with it [-]."""
    error: float = 2e-5
    """Relative error of a step [-]."""


@dataclass(frozen=True)
class Row:
    """One plan. Whatever is without the map is extrapolated from counts and measured times."""

    body: str
    """Key of `bodies.BODIES`."""
    objective: str
    """Key of `objectives.OBJECTIVES`."""
    vertices: int
    """Of the skin."""
    corners: int
    """Solutions of the flow for the map."""
    f: float
    """Median time of one [s]."""
    f_slopes: float
    """Median time of one with its slopes by the angles [s]."""
    map_seconds: float
    """Time of the map: f times corners [s]."""
    plan_seconds: float
    """Time of the plan on it, start included [s]."""
    iterations: int
    """Of the planner."""
    asked: int
    """Solutions of the paper's loop, one for each question of the planner."""
    kept: int
    """Solutions with slopes of the honest loop."""
    error: float
    """Largest relative error of a step: of its coordinates over their size [-]."""
    error_of_displacement: float
    """The same over the step's own displacement [-]."""
    start: float
    """Progress of the wave that the plan begins with [m] or [rad]."""
    progress: float
    """Progress of the plan."""
    exact: float
    """Progress of its joint angles on the flow itself."""
    torque: float
    """Largest torque that these take there, over the limit [-]."""
    status: str
    """Of the plan after the replay."""
    random: tuple[float, float]
    """Mean and best progress of random periodic gaits."""
    sine: float
    """Progress of the best sine wave that a generic optimiser finds in the time of the plan."""

    @property
    def fewer(self) -> float:
        """Solutions of the paper's loop over those of the map [-]."""
        return self.asked / self.corners

    @property
    def faster(self) -> float:
        """Its time over that of map and plan [-]."""
        return self.asked * self.f / (self.map_seconds + self.plan_seconds)

    @property
    def honestly_fewer(self) -> float:
        """Solutions of the honest loop over those of the map [-]."""
        return self.kept / self.corners

    @property
    def honestly_faster(self) -> float:
        """Its time, all else for nothing, over that of map and plan [-]."""
        return self.kept * self.f_slopes / (self.map_seconds + self.plan_seconds)

    def to_dict(self) -> dict[str, Any]:
        """For JSON, with the ratios, beside the paper's row."""
        ratios = ("fewer", "faster", "honestly_fewer", "honestly_faster")
        found = asdict(self) | {name: getattr(self, name) for name in ratios}
        return found | {"paper": PaperRow()._asdict()}


class Times(NamedTuple):
    """What solutions of the flow take."""

    f: float
    """Median time of one [s]."""
    f_slopes: float
    """The same with slopes by the angles [s]."""


def time_flow(study: Study) -> Times:
    """Solve the flow at some random poses."""
    random = np.random.default_rng(0)
    both = replace(study.exact, slopes=False), study.exact
    both[1](np.zeros(study.dynamics.inputs))  # compiles
    return Times(*(_median_time(each, study.dynamics.inputs, random) for each in both))


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
        times: Of its flow.
        rivals: Random gaits of it, of `rivals.random_gaits`.
        progress: Called with a line of text now and then.
    """

    def say(text: str) -> None:
        if progress is not None:
            progress(f"{study.body}, {objective}: {text}")

    iterations = 0

    def report(one: Iteration) -> None:
        nonlocal iterations
        iterations += 1
        say(f"iteration {iterations}, {-one.cost:.4g}")

    counted = CountedMasses(study.dynamics.embedding.masses)
    asking = study.dynamics.on(replace(study.dynamics.embedding, masses=counted))
    began = perf_counter()
    found = solve_gait(
        asking, objective, instants=study.instants, reach=study.limit, progress=report
    )
    seconds = perf_counter() - began
    queries, kept = counted.queries, counted.distinct + study.dynamics.inputs * counted.curved
    say("replay on the flow")
    found = replay(found, study.dynamics, study.exact)
    assert found.exact is not None and found.torque is not None  # after a replay
    errors = _step_errors(study, found)
    goal, contest = OBJECTIVES[objective](study.dynamics.embedding), contest_of(study)
    made = [goal.made(study.dynamics.embedding, each.a) for each in rivals]
    say("best sine wave")
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
        kept=kept,
        error=errors[0],
        error_of_displacement=errors[1],
        start=found.begun,
        progress=found.progress,
        exact=found.exact,
        torque=found.torque,
        status=found.status.name,
        random=(float(np.mean(made)), max(made)),
        sine=sine,
    )


def contest_of(study: Study) -> Contest:
    """The limits that all gaits keep to."""
    return Contest(study.dynamics, study.instants, study.limit)


def _median_time(masses: MassEntries, hinges: int, random: np.random.Generator) -> float:
    times = []
    for angles in random.uniform(-LIMIT, LIMIT, (TIMED, hinges)):
        began = perf_counter()
        masses(angles)
        times.append(perf_counter() - began)
    return float(np.median(times))


def _step_errors(study: Study, found: GaitPlan) -> tuple[float, float]:
    """Largest errors of single steps of a plan, over coordinates and over displacements.

    A step on the flow is found from the map's, by Newton steps with the map's slopes: they are off
    by the map's error, a factor at which the error of each correction falls.
    """
    mapped = study.dynamics
    exact = mapped.on(replace(mapped.embedding, masses=study.exact))
    errors = []
    for k in np.linspace(2, len(found.plan.u) - 1, STEPS).astype(int):
        a, u = found.plan.a, found.plan.u[k][None]
        ahead, *known = (mapped.embedding.at(a[i][None]) for i in (k + 1, k, k - 1))
        J = mapped.linearise(Steps(a[k + 1][None], a[k][None], u, ahead, *known)).by_next[0]
        known = [exact.embedding.at(a[i][None]) for i in (k, k - 1)]
        there = a[k + 1].copy()
        for _ in range(CORRECTIONS):
            ahead = exact.embedding.at(there[None])
            lack = exact.residual(Steps(there[None], a[k][None], u, ahead, *known))[0]
            change = np.linalg.solve(J, lack)
            there -= change
            if np.abs(change).max() < 1e-12:
                break
        off = np.linalg.norm(a[k + 1] - there)
        errors.append((off / np.linalg.norm(there), off / np.linalg.norm(there - a[k])))
    worst = np.max(errors, axis=0)
    return float(worst[0]), float(worst[1])
