"""Replays of a scene's plan on the full model, and corrections of what it misses there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from sofa_softctl.acceptance import AcceptanceReport
from sofa_softctl.scene.backend_call import call_on_backend
from sofa_softctl.surrogate.judgement import Judgement, check_watched, criteria_of
from sofa_softctl.surrogate.planning.probes import Probe
from sofa_softctl.surrogate.replay import LONGEST, Replay, replay, steps_to_rest
from sofa_softctl.surrogate.scene_plan import ScenePlan

CORRECTIONS = 8
"""Most plans after the first one."""
NEAR = 0.1
"""Distance from its start at which a plan may begin, as a share of the replay's tolerance."""
DIVERGING = 4.0
"""Growth of what a replay misses, over the best one, at which corrections are given up [-]."""


def accepted(
    found: ScenePlan,
    *,
    corrections: int = CORRECTIONS,
    progress: Callable[[str], None] | None = None,
) -> ScenePlan:
    """Replay a plan on the full model; plan again for what it misses there, until it passes.

    What the full model's outputs have beyond the map's is added to the map's in the next plan, at
    the same instants. Of all plans the best one is returned, with its report.

    Args:
        found: A plan without a replay.
        corrections: Most plans after this one.
        progress: Called with a line of text before each replay and plan.

    Raises:
        SceneError: the task looks at what a replay does not watch, or the scene takes no tensions.
    """
    if not found.plan.status.executable:
        return found
    check_watched(found.task, found.robot.dynamics.layout)
    report = progress or (lambda text: None)
    start = perf_counter()
    report("waiting for the full robot to rest at the start")
    flutter = found.robot.flutter(found.plan.a)
    current = replace(found, delay=_delay(found), flutter=flutter)
    report("replaying the plan on the full robot")
    seen = _judged(current)
    best, verdict = current, seen
    for number in range(1, corrections + 1):
        if verdict.report.passed or seen.replay.failure:
            break
        report(f"correcting the plan, {number} of at most {corrections}")
        following = _corrected(current, seen, number)
        if following is None:
            break
        current, seen = following, _judged(following)
        if seen.report.worst < verdict.report.worst:
            best, verdict = current, seen
        elif seen.report.worst > DIVERGING * verdict.report.worst:
            break
    return replace(best, judgement=verdict, seconds=found.seconds + perf_counter() - start)


def _corrected(found: ScenePlan, seen: Judgement, number: int) -> ScenePlan | None:
    """The next plan, from this one and its replay; None where there is none to execute."""
    offset = np.nan_to_num(seen.outputs - _map_outputs(found), nan=0.0)
    problem = found.robot.problem(found.task, len(found.plan.a), offset=offset)
    plan = found.robot.plan(problem, guess=found.plan)
    if not plan.status.executable:
        return None
    history = (*found.plan.history, *plan.history)
    plan = replace(plan, history=history, iterations=len(history))
    return replace(found, plan=plan, offset=offset, corrections=number)


def _judged(found: ScenePlan) -> Judgement:
    """A replay of the plan, and its report."""
    robot, tolerance = found.robot, found.robot.replay_tolerance
    given = (found.scene, found.file(), robot.map.points, robot.map.parameters)
    seen: Replay = call_on_backend(found.backend, replay, *given)
    outputs = np.full((len(found.plan.a), robot.dynamics.layout.size), np.nan)
    outputs[:, outputs.shape[1] - seen.points.shape[1] :] = seen.points
    criteria = criteria_of(found.task, found.outputs, outputs, tolerance)
    failure = seen.failure
    if found.delay >= LONGEST:
        failure = (
            f"the scene does not come to rest where the plan begins within {LONGEST} steps. Does "
            "it start with slack lines, and at rest?"
        )
    report = AcceptanceReport(seen.simulator, criteria, failure, seen.seconds)
    return Judgement(seen, outputs, report)


def _delay(found: ScenePlan) -> int:
    """Steps until the full robot rests where the plan begins."""
    robot, probe = found.robot, found.task.probe
    first = robot.dynamics.layout.length.stop
    near = _Near(probe, first, found.spot[0], NEAR * robot.replay_tolerance)
    given = (found.scene, found.file(), robot.map.points, near, robot.map.parameters)
    steps: int = call_on_backend(found.backend, steps_to_rest, *given)
    return steps


@dataclass(frozen=True)
class _Near:
    """Whether a probe is near a place; picklable, for another process."""

    probe: Probe
    first: int
    place: np.ndarray
    distance: float

    def __call__(self, points: np.ndarray) -> bool:
        outputs = np.concatenate((np.zeros(self.first), points))[None, list(self.probe.rows)]
        return bool(np.linalg.norm(self.probe.locate(outputs)[0][0] - self.place) <= self.distance)


def _map_outputs(found: ScenePlan) -> np.ndarray:
    """Outputs of the map alone, shape (K, n)."""
    value: np.ndarray = found.robot.dynamics.embedding.at(found.plan.a).value
    return value
