"""Verdict on the goals at the end of a run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sofa_softctl.scene.control.report import History
from sofa_softctl.status import Status, Verdict
from sofa_softctl.units import symbol


@dataclass(frozen=True)
class VerdictSettings:
    """Thresholds of the verdict on goals."""

    window_steps: int = 10
    """Steps at the end of a run from which motion is judged, at least."""
    window_fraction: float = 0.1
    """The same, as a fraction of the run [-]."""
    rest_ratio: float = 0.05
    """Motion of goal or effector in a step, relative to the tolerance, that counts as none [-]."""
    progress_ratio_max: float = 0.25
    """Distance to a goal at the end relative to the start, above which the scene is doubted [-]."""
    named_fraction_min: float = 0.05
    """Fraction of a run's steps from which what happened in them is named [-]."""
    main_fraction_min: float = 0.5
    """Fraction of a run's steps from which it is named first [-]."""


CHECKS = VerdictSettings()


@dataclass(frozen=True)
class GoalSummary:
    """Whether the goals were reached at the end of a run."""

    tolerance: float
    """Distance that counts as reached, of the effector that misses its goal most [length]."""
    reached: bool
    """Whether every effector is within its tolerance; of a goal that moves until the end, in the
    mean over the motion, too."""
    reasons: list[str]
    """Reasons if the goals were not reached."""
    verdict: str
    """Verdict as a sentence."""
    closest: bool = False
    """Whether the limits allow nothing closer: the robot rests, and this is why."""
    followed: bool = False
    """Whether the goal moved until the end, so that the whole motion counts."""
    mean: float = 0.0
    """Mean distance of that effector from when it first reached its goal [length]."""
    worst: float = 0.0
    """Largest distance of that effector from when it first reached its goal [length]."""

    @property
    def outcome(self) -> Verdict:
        """Reached, as close as possible, or not reached."""
        if self.reached:
            return Verdict.REACHED
        return Verdict.CLOSEST if self.closest else Verdict.NOT_REACHED


class _Course:
    """Course of an effector and its goal over a run, along the axes with a weight.

    Args:
        tip: Positions of the effector [length], shape (n, 3).
        goal: Positions of its goal [length], shape (n, 3).
        tolerance: Distance that counts as reached [length].
    """

    def __init__(self, tip: np.ndarray, goal: np.ndarray, tolerance: float) -> None:
        self.tip, self.goal, self.tolerance = tip, goal, tolerance
        self.distances = np.linalg.norm(tip - goal, axis=1)
        self.distance = float(self.distances[-1])
        """Distance at the end [length]."""
        window = max(CHECKS.window_steps, round(CHECKS.window_fraction * len(tip)))
        travel = np.linalg.norm(goal[-window:] - goal[-1], axis=1).max()
        self.is_followed = bool(travel > tolerance)
        """True if the goal moves until the end, so that the whole motion counts."""
        arrived = np.flatnonzero(self.distances <= tolerance)
        self.following = self.distances[arrived[0] if len(arrived) else 0 :]
        """Distances from when the effector first reached its goal [length]."""

    @property
    def miss(self) -> float:
        """Judged distance: at the end, and in the mean over the motion if the goal moves."""
        mean = float(self.following.mean()) if self.is_followed else 0.0
        return max(self.distance, mean)

    @cached_property
    def goal_step(self) -> float:
        """Mean motion of the goal per step at the end [length]."""
        return _path_length(self.goal[-CHECKS.window_steps - 1 :])

    @cached_property
    def goal_moves(self) -> bool:
        """True if the goal moves at the end."""
        return self.goal_step > CHECKS.rest_ratio * self.tolerance

    @property
    def is_at_rest(self) -> bool:
        """True if goal and effector are at rest at the end."""
        step = _path_length(self.tip[-CHECKS.window_steps - 1 :])
        return not self.goal_moves and step <= CHECKS.rest_ratio * self.tolerance

    @cached_property
    def approach(self) -> float:
        """Decrease of the distance per step, for the goal at the end of the step [length].

        The smaller one of the last steps and of the last part of the run with this goal.
        """
        before = np.linalg.norm(self.tip[:-1] - self.goal[1:], axis=1)
        steps = before - self.distances[1:]
        rests = np.flatnonzero(np.any(self.goal != self.goal[-1], axis=1))
        since = max(rests[-1] if len(rests) else 0, len(steps) - len(steps) // 2)
        recent = steps[-CHECKS.window_steps :]
        longer = steps[since:] if len(steps) - since > len(recent) else recent
        return float(min(recent.mean(), longer.mean())) if len(steps) else 0.0

    @property
    def would_reach(self) -> bool:
        """True if the goal rests, and the same number of steps again would reach it."""
        missing = self.distance - self.tolerance
        return not self.goal_moves and self.approach * len(self.tip) > missing


def _path_length(points: np.ndarray) -> float:
    """Return the mean distance of successive points, shape (n, 3), [length]."""
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum() / max(len(points) - 1, 1))


def judge(controller: Any, history: History) -> GoalSummary | None:
    """Return the verdict on the goals of a run, or None if no effector is judged.

    Args:
        controller: The InverseController, after the run; an infinite entry of its `tolerance`
            leaves an effector out.
        history: Outputs of the controller.
    """
    judged = np.flatnonzero(np.isfinite(controller.tolerance))
    if not len(judged):
        return None
    is_weighted = controller.weighted_axes
    tip, goal = (history[name] * is_weighted for name in ("tip", "goal"))
    courses = {
        int(i): _Course(tip[:, i], goal[:, i], float(controller.tolerance[i])) for i in judged
    }
    worst = max(courses, key=lambda i: courses[i].miss / courses[i].tolerance)
    course = courses[worst]
    unit = symbol(history.units, "length")
    who = f" ({controller.effector_names[worst]})" if len(controller.effector_names) > 1 else ""
    outcome = _outcome_text(course, unit, who)
    has_reached = course.miss <= course.tolerance
    exceeded = [] if controller.solution is None else list(controller.solution.relaxed)
    closest, reasons, verdict = False, [], "reached"
    if has_reached and exceeded:
        reasons, verdict = exceeded, "not reached within the limits"
    elif has_reached:
        outcome += _idle_text(controller, history, judged, unit)
    else:
        verdict = "not reached"
        reasons, closest = _reasons(controller, course, tip[-1] - goal[-1], judged, unit)
        from sofa_softctl.inverse.goals.causes import scene_reasons

        start = float(course.distances[0])
        if course.distance > CHECKS.progress_ratio_max * start:
            starts = history["tip"][0]
            goals = np.where(is_weighted, history["goal"][-1], starts)
            causes = scene_reasons(controller, worst, starts, goals)
            reasons, closest = [*causes, *reasons], closest and not causes
    sentence = f"{verdict}: {'; '.join([outcome, *reasons])}"
    return GoalSummary(
        course.tolerance,
        has_reached and not exceeded,
        reasons,
        sentence,
        closest,
        course.is_followed,
        float(course.following.mean()),
        float(course.following.max()),
    )


def _outcome_text(course: _Course, unit: str, who: str) -> str:
    end = f"{course.distance:.3g} {unit} off at the end{who}, {course.tolerance:.3g} allowed"
    if not course.is_followed:
        return end
    mean, worst = course.following.mean(), course.following.max()
    return f"{mean:.3g} {unit} off in the mean over the motion, {worst:.3g} at worst, {end}"


def _idle_text(controller: Any, history: History, judged: np.ndarray, unit: str) -> str:
    """Return the addition to a verdict if nothing moved along weighted axes, or ""."""
    is_weighted, allowed = controller.weighted_axes[judged], controller.tolerance[judged]
    tip, goal = history["tip"][:, judged], history["goal"][:, judged]
    paths = np.stack([tip, goal]) - tip[0]
    if (np.linalg.norm(paths * is_weighted, axis=-1) > allowed).any():
        return ""
    travel = np.ptp(goal * ~is_weighted, axis=0)
    if (np.linalg.norm(travel, axis=-1) > allowed).any():
        return (
            f"; but the goal moves, by {travel.max():.3g} {unit}, only along axes of weight 0, "
            "which do not count: check weight"
        )
    return "; the goal never left the tolerance around where the effector started"


def _reasons(
    controller: Any, course: _Course, offsets: np.ndarray, judged: np.ndarray, unit: str
) -> tuple[list[str], bool]:
    """Return reasons why goals were not reached, certain ones first; True if nothing is closer.

    Args:
        controller: InverseController after the run.
        course: Course of the effector that misses its goal most.
        offsets: Vectors from the goals to the effectors at the end [length], shape (n_e, 3).
        judged: Indices of the effectors that count.
        unit: Unit of length.
    """
    from sofa_softctl.inverse.goals.causes import Motion, find_causes, group_limits

    solution, counts = controller.solution, controller.step_counts
    if solution is None:
        return ["no step was solved: constraints have no effect in this scene"], False
    reasons = [f"{name} is lost" for name in controller.lost.left]
    reasons += solution.relaxed
    steps, closest = sum(counts.statuses.values()), False
    approach_text = f"still approaching, {course.approach:.2g} {unit} a step: run longer"
    if course.distance <= course.tolerance:  # reached at the end, but not followed
        reasons += _limits_of_run(controller, steps)
        if not reasons and controller.goal_distance < np.inf:
            reasons.append(f"goal_distance={controller.goal_distance:g} holds it back: widen it")
    elif course.would_reach:
        rates = "; ".join(group_limits([text for text in solution.active if " rate " in text]))
        widen = f", or widen what is reached ({rates})" if rates else ""
        reasons.append(approach_text + widen)
    elif solution.status not in (Status.HELD, Status.CLOSEST_FEASIBLE):
        is_approaching = not course.goal_moves and (
            course.approach > CHECKS.rest_ratio * course.tolerance
        )
        actual = float(np.linalg.norm(controller.weight.reshape(-1, 3) * offsets))
        motion = Motion(actual, is_approaching, course.is_at_rest, approach_text)
        causes, closest = find_causes(controller, motion, judged)
        reasons += causes
    if course.goal_moves and reasons:
        reasons.append(f"the goal moves by {course.goal_step:.2g} {unit} a step")
    reasons += _status_counts(counts.statuses, steps)
    text, is_main = _search_text(counts.searches)
    if text:
        reasons.insert(0 if is_main else len(reasons), text)
    closest = closest and not controller.lost.left
    return reasons or [
        "no limit holds it back at the end: what is best for one step may lead nowhere, or the "
        "goal moves too fast"
    ], closest


def _limits_of_run(controller: Any, steps: int) -> list[str]:
    """Return the limits that were reached in many steps of the run."""
    from sofa_softctl.inverse.goals.causes import group_limits

    met = controller.step_counts.limits_met
    least = CHECKS.main_fraction_min * max(met.values(), default=0)
    names = [
        name
        for name, count in met.items()
        if count >= max(least, CHECKS.named_fraction_min * steps) and "minimum" not in name
    ]
    most = max((met[name] for name in names), default=0)
    return [
        f"these limits held it back in up to {most} of {steps} steps ({text})"
        for text in ["; ".join(group_limits(names))]
        if names
    ]


def _status_counts(statuses: dict[Status, int], steps: int) -> list[str]:
    """Return a text for each status other than SOLVED that a fair part of the steps had."""
    texts = {
        Status.HELD: "the efforts were held",
        Status.CLOSEST_FEASIBLE: "the limits contradicted each other",
        Status.FALLBACK: "another QP solver's answer was taken",
    }
    least = max(1.0, CHECKS.named_fraction_min * steps)
    return [
        f"{text} in {statuses[status]} of {steps} steps"
        for status, text in texts.items()
        if statuses[status] >= least
    ]


def _search_text(searches: list[tuple[float, bool]]) -> tuple[str, bool]:
    """Return a text if a fair part of the searches for modes ended early; True if most did."""
    count, steps = sum(not converged for _, converged in searches), len(searches)
    if count < max(1.0, CHECKS.named_fraction_min * steps):
        return "", False
    text = f"the search ended early in {count} of {steps} steps"
    return text, count > CHECKS.main_fraction_min * steps
