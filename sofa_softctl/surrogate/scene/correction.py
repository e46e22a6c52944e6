"""Replays of a scene's plan on the full model, and corrections of its errors there.

The offset of the full model's outputs from the map is added to the map in the next plan, at the
same instants. If that becomes slow, the tensions of the best plan are corrected by Gauss-Newton
steps on the full model, with the derivatives of its steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from sofa_softctl.acceptance import AcceptanceReport
from sofa_softctl.base.time_limit import check_time
from sofa_softctl.errors import TimeLimitError
from sofa_softctl.scene.backend.call import call_on_backend
from sofa_softctl.surrogate.costs.costs import Probe
from sofa_softctl.surrogate.scene.replay import (
    SETTLING_STEPS_MAX,
    Judgement,
    Replay,
    check_watched,
    criteria_of,
    replay,
    steps_to_rest,
)
from sofa_softctl.surrogate.scene.scene_plan import ScenePlan
from sofa_softctl.surrogate.scene.step_correction import NoDerivative, StepCorrection, with_step

CORRECTIONS = 8
"""Default number of plans after the first one."""
EXACT_CORRECTIONS = 4
"""Default number of Gauss-Newton steps after the corrections."""


@dataclass(frozen=True)
class CorrectionSettings:
    """Numbers of the corrections of plans."""

    start_distance_max: float = 0.1
    """Distance from its start at which a plan may begin, over the replay's tolerance [-]."""
    slow_error_ratio: float = 0.5
    """Error over the smallest error so far above which a correction is slow [-]."""
    slow_corrections_max: int = 2
    """Number of slow corrections after which Gauss-Newton steps take over."""
    diverging_error_ratio: float = 4.0
    """Error over the smallest error so far at which corrections are given up [-]."""
    step_fraction_min: float = 0.25
    """Smallest fraction of a Gauss-Newton step that is tried [-]."""


SETTINGS = CorrectionSettings()

Report = Callable[[str], None]


def correct_until_accepted(
    scene_plan: ScenePlan,
    *,
    corrections: int = CORRECTIONS,
    exact_corrections: int = EXACT_CORRECTIONS,
    progress: Report | None = None,
) -> ScenePlan:
    """Replay a plan on the full model, and correct it until it passes; return the best plan.

    The first replay is made after the end of a time limit too, since without it a plan has no
    status.

    Args:
        scene_plan: Plan without a replay.
        corrections: Maximum number of further plans; 0 disables both kinds of corrections.
        exact_corrections: Maximum number of Gauss-Newton steps.
        progress: Called with a line of text before each replay and plan.

    Raises:
        SceneError: A replay does not record the task's outputs, or the scene takes no tensions.
    """
    if not scene_plan.plan.status.executable:
        return scene_plan
    check_watched(scene_plan.task, scene_plan.robot.dynamics.layout)
    report = progress or (lambda text: None)
    begin = perf_counter()
    report("waiting for the full robot to rest at the start")
    flutter = scene_plan.robot.flutter(scene_plan.plan.a)
    first = replace(scene_plan, delay=_delay(scene_plan), flutter=flutter)
    report("replaying the plan on the full robot")
    best = _with_replay(first)
    if corrections and not (best.passed or best.failed):
        best = _correct(best, corrections, exact_corrections, report)
    return replace(best, seconds=scene_plan.seconds + perf_counter() - begin)


def _correct(first: ScenePlan, corrections_max: int, exact_max: int, report: Report) -> ScenePlan:
    """Return the best plan after corrections, or at the end of the time limit.

    Corrections are of both kinds if derivatives are known.

    If Gauss-Newton steps do not suffice, plans for other paths may, so corrections by offsets
    continue.
    """
    best, slow = first, 0
    try:
        exact = _exact(first) if exact_max else None
        if isinstance(exact, str):
            best, exact = replace(first, no_derivative=exact), None
        for current in _by_offsets(best, corrections_max, report):
            slow += current.error > SETTINGS.slow_error_ratio * best.error
            best = min(best, current, key=_error)
            if exact is not None and slow == SETTINGS.slow_corrections_max and not best.passed:
                best, exact = _by_steps(best, exact, exact_max, report), None
            if best.passed:
                return best
        if exact is not None:
            best = _by_steps(best, exact, exact_max, report)
    except TimeLimitError:
        best = replace(best, timed_out=True)
    return best


def _error(scene_plan: ScenePlan) -> float:
    return scene_plan.error


def _exact(scene_plan: ScenePlan) -> StepCorrection | str:
    """Return Gauss-Newton steps for a plan, or the reason if there are none."""
    try:
        return StepCorrection(scene_plan)
    except NoDerivative as reason:
        return str(reason)


def _by_offsets(first: ScenePlan, corrections_max: int, report: Report) -> Iterator[ScenePlan]:
    """Yield plans that correct the one before, each with its replay, until they diverge."""
    current, error_min = first, first.error
    for number in range(1, corrections_max + 1):
        check_time()
        report(f"correcting the plan, {number} of at most {corrections_max}")
        following = _plan_again(current, number)
        if following is None:
            return
        current = _with_replay(following)
        yield current
        if current.failed or current.error > SETTINGS.diverging_error_ratio * error_min:
            return
        error_min = min(error_min, current.error)


def _by_steps(best: ScenePlan, exact: StepCorrection, steps_max: int, report: Report) -> ScenePlan:
    """Return the best plan after Gauss-Newton steps; a step without gain is halved."""
    start, fraction, count, step = perf_counter(), 1.0, 0, None
    try:
        while not best.passed and count < steps_max and fraction >= SETTINGS.step_fraction_min:
            check_time()
            count += 1
            report(f"correcting the tensions on the full robot, {count} of at most {steps_max}")
            if step is None:
                step = exact.step(best)
            current = _with_replay(with_step(best, fraction * step))
            if current.error < best.error:
                best, fraction, step = current, 1.0, None
            else:
                fraction *= 0.5
    except NoDerivative as reason:
        best = replace(best, no_derivative=str(reason))
    except TimeLimitError:
        best = replace(best, timed_out=True)
    return replace(best, exact_corrections=count, exact_seconds=perf_counter() - start)


def _plan_again(scene_plan: ScenePlan, number: int) -> ScenePlan | None:
    """Return the next plan, from a plan and its replay, or None if it is not executable."""
    assert scene_plan.judgement is not None
    offset = np.nan_to_num(scene_plan.judgement.outputs - _map_outputs(scene_plan), nan=0.0)
    problem = scene_plan.robot.problem(scene_plan.task, len(scene_plan.plan.a), offset=offset)
    plan = scene_plan.robot.plan(problem, guess=scene_plan.plan)
    check_time()
    if not plan.status.executable:
        return None
    history = (*scene_plan.plan.history, *plan.history)
    plan = replace(plan, history=history, iterations=len(history))
    return replace(scene_plan, plan=plan, offset=offset, corrections=number, judgement=None)


def _with_replay(scene_plan: ScenePlan) -> ScenePlan:
    """Return the plan with a replay and its report."""
    robot, tolerance = scene_plan.robot, scene_plan.robot.replay_tolerance
    arguments = (scene_plan.scene, scene_plan.file(), robot.map.points, robot.map.parameters)
    replayed: Replay = call_on_backend(scene_plan.backend, replay, *arguments)
    outputs = np.full((len(scene_plan.plan.a), robot.dynamics.layout.size), np.nan)
    outputs[:, outputs.shape[1] - replayed.points.shape[1] :] = replayed.points
    criteria = criteria_of(scene_plan.task, scene_plan.outputs, outputs, tolerance)
    failure = replayed.failure
    if scene_plan.delay >= SETTLING_STEPS_MAX:
        failure = (
            f"the scene does not come to rest where the plan begins within {SETTLING_STEPS_MAX} "
            "steps. Does it start with slack lines, and at rest?"
        )
    report = AcceptanceReport(replayed.simulator, criteria, failure, replayed.seconds)
    return replace(scene_plan, judgement=Judgement(replayed, outputs, report))


def _delay(scene_plan: ScenePlan) -> int:
    """Return the number of steps until the full robot rests where the plan begins."""
    robot, probe = scene_plan.robot, scene_plan.task.probe
    first = robot.dynamics.layout.length.stop
    is_near = _IsNear(
        probe, first, scene_plan.spot[0], SETTINGS.start_distance_max * robot.replay_tolerance
    )
    arguments = (
        scene_plan.scene,
        scene_plan.file(),
        robot.map.points,
        is_near,
        robot.map.parameters,
    )
    steps: int = call_on_backend(scene_plan.backend, steps_to_rest, *arguments)
    return steps


@dataclass(frozen=True)
class _IsNear:
    """Picklable test whether a probe is near a position."""

    probe: Probe
    first: int
    place: np.ndarray
    distance: float

    def __call__(self, points: np.ndarray) -> bool:
        outputs = np.concatenate((np.zeros(self.first), points))[None, list(self.probe.rows)]
        return bool(np.linalg.norm(self.probe.locate(outputs)[0][0] - self.place) <= self.distance)


def _map_outputs(scene_plan: ScenePlan) -> np.ndarray:
    """Return the outputs of the map without the offset, shape (K, n)."""
    return (
        scene_plan.outputs if scene_plan.offset is None else scene_plan.outputs - scene_plan.offset
    )
