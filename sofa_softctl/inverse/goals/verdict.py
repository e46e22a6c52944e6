"""Verdict on the goals at the end of a run, and the causes of the error that remains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sofa_softctl.inverse.goals.function import scene_reasons
from sofa_softctl.qpcc.problem.limits import ReachedLimit, limits_of, reached_limits
from sofa_softctl.qpcc.problem.problem import InverseProblem
from sofa_softctl.qpcc.solve.solve import solve
from sofa_softctl.qpcc.solve.tracking_qp import build_qp
from sofa_softctl.scene.control.report import History
from sofa_softctl.status import Status, Verdict
from sofa_softctl.units import symbol


@dataclass(frozen=True)
class VerdictSettings:
    """Thresholds of the verdict on goals."""

    effect_ratio_min: float = 1e-3
    """Effect of a direction of effort on the effectors, at equal deformation energy and relative to
    the strongest one, below which it has none: it would take enormous efforts [-]."""
    energy_factor: float = 1e-4
    """Factor on the energy term that nearly removes it, but lets it decide between efforts that are
    equally good [-]."""
    limit_tolerance: float = 1e-7
    """Distance to a limit that counts as reached, in units of the scaled QP, as in `solve`."""
    multiplier_ratio_min: float = 0.05
    """Multiplier of a limit relative to the largest one, below which it does not count [-]."""
    names_max: int = 3
    """Maximum number of actuators at a limit that a reason names, or one more."""
    window_steps: int = 10
    """Steps at the end of a run from which motion is judged."""
    rest_ratio: float = 0.05
    """Motion of goal or effector in a step, relative to the tolerance, that counts as none [-]."""
    progress_ratio_max: float = 0.25
    """Distance to a goal at the end relative to the start, above which the scene is doubted [-]."""
    named_fraction_min: float = 0.2
    """Fraction of the error from which a cause is named [-]."""


CHECKS = VerdictSettings()


@dataclass(frozen=True)
class ErrorBreakdown:
    """Remaining weighted error of a step, broken down by cause."""

    error: float
    """Weighted error of the solution [length]: the sum of the parts."""
    nearer: float
    """Part that targets at the goals would remove, see `goal_distance` [length]."""
    energy: float
    """Part that a much smaller `energy` would remove [length]."""
    limits: float
    """Part that would also be removed without limits [length]."""
    actuators: float
    """Part that no effort removes: orthogonal to all motions by the actuators [length]."""
    binding: tuple[ReachedLimit, ...]
    """Limits with a multiplier, largest first."""


def break_down_error(
    problem: InverseProblem, effector_error: np.ndarray, offset: np.ndarray
) -> ErrorBreakdown | None:
    """Break the remaining error of a step down by cause, in the linearisation of this step.

    Args:
        problem: Problem of the step, without contacts.
        effector_error: Position minus target of its solution [length], shape (n_e,).
        offset: Target minus goal [length], shape (n_e,): not zero if `goal_distance` has moved
            the targets nearer.

    Returns:
        The parts, or None if the problem with little energy has no trustworthy solution.
    """
    weight = problem.effector_weight
    error = weight * (effector_error + offset)
    relaxed = replace(problem, delta_e_free=problem.delta_e_free + offset)
    direct = weight * solve(relaxed).effector_error if offset.any() else error
    relaxed = replace(relaxed, energy=CHECKS.energy_factor * problem.energy)
    best = solve(relaxed)
    if best.status is Status.HELD:
        return None
    B = weight[:, None] * problem.W_ea * _natural_efforts(problem)
    residual = weight * best.effector_error
    unreachable = residual - B @ np.linalg.lstsq(B, residual, rcond=CHECKS.effect_ratio_min)[0]
    total, aimed, limited, free = (
        float(np.linalg.norm(part)) for part in (error, direct, residual, unreachable)
    )
    return ErrorBreakdown(
        error=total,
        nearer=max(total - aimed, 0.0),
        energy=max(aimed - limited, 0.0),
        limits=max(limited - free, 0.0),
        actuators=min(free, total),
        binding=_binding_limits(relaxed, best.effort, B.T @ residual),
    )


def _natural_efforts(problem: InverseProblem) -> np.ndarray:
    """Return the effort of a unit of deformation energy, shape (n_a,)."""
    compliance = problem.W_aa.diagonal()
    return np.asarray(1.0 / np.sqrt(np.where(compliance > 0.0, compliance, 1.0)))


def _binding_limits(
    problem: InverseProblem, effort: np.ndarray, gradient: np.ndarray
) -> tuple[ReachedLimit, ...]:
    """Return the limits that balance the error's gradient in natural efforts, shape (n_a,)."""
    from scipy.optimize import nnls

    limits, built, unit = limits_of(problem), build_qp(problem), _natural_efforts(problem)
    values = {"effort": effort, "displacement": problem.W_aa @ effort + problem.delta_a_free}
    margins = {
        "effort": CHECKS.limit_tolerance * built.effort_scale,
        "displacement": CHECKS.limit_tolerance * built.displacement_scale,
    }
    reached = list(reached_limits(problem.names, limits, values, margins))
    if not reached:
        return ()
    normals = {"effort": np.eye(problem.n_a), "displacement": problem.W_aa}
    rows = [limit.inward * unit * normals[limit.quantity][limit.actuator] for limit in reached]
    N = np.array(rows).T  # (n_a, m)
    N = N / np.maximum(np.linalg.norm(N, axis=0), 1e-300)
    multiplier = nnls(N, gradient)[0]
    order = np.argsort(-multiplier, kind="stable")
    smallest = CHECKS.multiplier_ratio_min * multiplier.max()
    return tuple(reached[i] for i in order if multiplier[i] > smallest)


@dataclass(frozen=True)
class GoalSummary:
    """Whether the goals were reached at the end of a run."""

    tolerance: float
    """Distance that counts as reached, of the effector that misses its goal most [length]."""
    reached: bool
    """Whether every effector is within its tolerance."""
    reasons: list[str]
    """Reasons if the goals were not reached."""
    verdict: str
    """Verdict as a sentence."""
    closest: bool = False
    """Whether the limits allow nothing closer: the robot rests, and this is why."""

    @property
    def outcome(self) -> Verdict:
        """Reached, as close as possible, or not reached."""
        if self.reached:
            return Verdict.REACHED
        return Verdict.CLOSEST if self.closest else Verdict.NOT_REACHED


@dataclass(frozen=True)
class _End:
    """Motion of the effector that misses its goal most, over the last steps of a run."""

    distance: float
    """Distance to its goal at the end [length]."""
    tolerance: float
    """Distance that counts as reached [length]."""
    approach: float
    """Mean decrease of the distance per step, for the goal at the end of the step [length]."""
    goal_step: float
    """Mean motion of the goal per step [length]."""
    tip_step: float
    """Mean motion of the effector per step [length]."""
    steps: int
    """Number of steps of the run."""

    @property
    def is_approaching(self) -> bool:
        """True if the goal rests, and the same number of steps again would reach it."""
        missing = self.distance - self.tolerance
        return not self.goal_moves and self.approach * self.steps > missing

    @property
    def goal_moves(self) -> bool:
        """True if the goal moves."""
        return self.goal_step > CHECKS.rest_ratio * self.tolerance

    @property
    def is_at_rest(self) -> bool:
        """True if goal and effector are at rest."""
        return not self.goal_moves and self.tip_step <= CHECKS.rest_ratio * self.tolerance


def judge(controller: Any, history: History) -> GoalSummary | None:
    """Return the verdict on the goals of a run, or None if no effector is judged.

    Args:
        controller: The InverseController, after the run; an infinite entry of its `tolerance`
            leaves an effector out.
        history: Outputs of the controller.
    """
    indices = np.flatnonzero(np.isfinite(controller.tolerance))
    if not len(indices):
        return None
    is_weighted = controller.weighted_axes
    tip, goal = (history[name] * is_weighted for name in ("tip", "goal"))
    distance = np.linalg.norm(tip[-1] - goal[-1], axis=1)
    worst = int(indices[np.argmax((distance / controller.tolerance)[indices])])
    end = _end_of(tip[:, worst], goal[:, worst], float(controller.tolerance[worst]))
    unit = symbol(history.units, "length")
    who = f" ({controller.effector_names[worst]})" if len(controller.effector_names) > 1 else ""
    outcome = f"{end.distance:.3g} {unit} off at the end{who}, {end.tolerance:.3g} allowed"
    exceeded = [] if controller.solution is None else list(controller.solution.relaxed)
    if end.distance <= end.tolerance and exceeded:
        text = f"not reached within the limits: {outcome}; {'; '.join(exceeded)}"
        return GoalSummary(end.tolerance, False, exceeded, text)
    if end.distance <= end.tolerance:
        idle = _idle_text(controller, history, indices, unit)
        return GoalSummary(end.tolerance, True, [], f"reached: {outcome}{idle}")
    actual = controller.weight.reshape(-1, 3) * (tip[-1] - goal[-1])
    reasons, closest = _reasons(controller, end, float(np.linalg.norm(actual)), unit)
    distance_at_start = float(np.linalg.norm(tip[0, worst] - goal[0, worst]))
    if end.distance > CHECKS.progress_ratio_max * distance_at_start and is_weighted[worst].all():
        causes = scene_reasons(controller, worst, tip[0], goal[-1])
        reasons, closest = [*causes, *reasons], closest and not causes
    sentence = f"not reached: {outcome}; {'; '.join(reasons)}"
    return GoalSummary(end.tolerance, False, reasons, sentence, closest)


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


def _end_of(tip: np.ndarray, goal: np.ndarray, tolerance: float) -> _End:
    """Args: the effector and its goal after each step of the run (n, 3), and its tolerance."""
    n = len(tip)
    tip, goal = tip[-CHECKS.window_steps - 1 :], goal[-CHECKS.window_steps - 1 :]
    size = np.linalg.norm
    distance = size(tip - goal, axis=1)
    steps = max(len(tip) - 1, 1)
    return _End(
        distance=float(distance[-1]),
        tolerance=tolerance,
        approach=float((size(tip[:-1] - goal[1:], axis=1) - distance[1:]).sum() / steps),
        goal_step=float(size(np.diff(goal, axis=0), axis=1).sum() / steps),
        tip_step=float(size(np.diff(tip, axis=0), axis=1).sum() / steps),
        steps=n,
    )


def _reasons(controller: Any, end: _End, actual: float, unit: str) -> tuple[list[str], bool]:
    """Return reasons why goals were not reached, certain ones first; True if nothing is closer.

    Args:
        controller: InverseController after the run.
        end: Motion in the last steps.
        actual: Weighted error of all effectors at the end [length].
        unit: Unit of length.
    """
    solution = controller.solution
    if solution is None:
        return ["no step was solved: constraints have no effect in this scene"], False
    reasons = [f"{name} is lost" for name in controller.lost.left]
    reasons += solution.relaxed
    closest = False
    if end.is_approaching:
        reasons.append(_approach_text(end, unit))
    elif solution.status not in (Status.HELD, Status.CLOSEST_FEASIBLE):
        causes, closest = _causes(controller, end, actual, unit)
        reasons += causes
    if end.goal_moves and reasons:
        reasons.append(f"the goal moves by {end.goal_step:.2g} {unit} a step")
    for status, text in (
        (Status.HELD, "the efforts were held"),
        (Status.CLOSEST_FEASIBLE, "the limits contradicted each other"),
        (Status.FALLBACK, "another QP solver's answer was taken"),
    ):
        if count := controller.step_counts.statuses[status]:
            total = sum(controller.step_counts.statuses.values())
            reasons.append(f"{text} in {count} of {total} steps")
    if unconverged := sum(not converged for _, converged in controller.step_counts.searches):
        reasons.append(f"the search ended early in {unconverged} steps")
    closest = closest and not controller.lost.left
    return reasons or [
        "no limit holds it back at the end: what is best for one step may lead nowhere, or the "
        "goal moves too fast"
    ], closest


def _causes(controller: Any, end: _End, actual: float, unit: str) -> tuple[list[str], bool]:
    """Return causes from the optimality of the last step; True if nothing is closer."""
    problem, solution = controller.problem, controller.solution
    if problem.contacts is not None:  # its modes decide too: only the limits reached are known
        return _group_limits(solution.active), False
    effects = (
        problem.W_ea.reshape(*controller.weighted_axes.shape, -1).any(axis=2)
        & controller.weighted_axes
    )
    is_judged = np.isfinite(controller.tolerance)
    if unmoved := np.array(controller.effector_names)[is_judged & ~effects.any(axis=1)].tolist():
        return [
            f"no actuator moves {_join_names(unmoved)}: is it in the clamp, or on another body "
            "than all actuators"
        ], False
    offset = (controller.target - controller.wanted).ravel()
    parts = break_down_error(problem, solution.effector_error, offset)
    if parts is None:
        return _group_limits(solution.active), False
    if parts.error < 0.5 * actual:
        return [
            "the last step moved it elsewhere than its linear model expected: try a smaller dt, "
            "or limit effort_rate or goal_distance"
        ], False
    return _texts(controller, parts, end, unit)


def _texts(controller: Any, parts: ErrorBreakdown, end: _End, unit: str) -> tuple[list[str], bool]:
    energy, distance = controller.energy, controller.goal_distance
    threshold = CHECKS.named_fraction_min * parts.error
    limits = "; ".join(_group_limits([limit.text for limit in parts.binding]))
    by_limits = parts.limits > threshold
    active = set(controller.solution.active)
    idle_rates = {limit.text for limit in parts.binding if limit.kind == "rate"} - active
    if by_limits and (idle_rates or not active & {limit.text for limit in parts.binding}):
        # limits of another solution
        if np.any(controller.target != controller.wanted):
            return [f"goal_distance={distance:g} holds it back: widen it"], False
        if energy > 0.0:
            return [f"energy={energy:g} holds it back: lower it"], False
    by_rate = by_limits and any(limit.kind == "rate" for limit in parts.binding)
    by_target = parts.nearer > threshold
    if (
        (by_rate or by_target)
        and not end.goal_moves
        and end.approach > CHECKS.rest_ratio * end.tolerance
    ):
        option = f"goal_distance={distance:g}" if by_target else f"what is reached ({limits})"
        return [f"{_approach_text(end, unit)}, or widen {option}"], False
    is_final = end.is_at_rest and not (by_rate or by_target)  # more steps change nothing
    causes = [f"goal_distance={distance:g} holds it back: widen it"] if by_target else []
    if by_limits:
        text = "out of reach with these limits" if is_final else "these limits hold it back"
        causes.append(f"{text} ({limits})")
    if parts.actuators > threshold:
        causes.append(_actuators_find_nothing(is_final))
    if parts.energy > threshold:
        causes.append(f"energy={energy:g} holds it back: lower it")
    return causes, is_final and by_limits and parts.energy <= threshold


def _actuators_find_nothing(final: bool) -> str:
    """Return the cause that the actuators do not bring the effector closer."""
    if final:
        return "these actuators find nothing closer, step by step"
    return "these actuators come no closer in one step"


def _approach_text(end: _End, unit: str) -> str:
    return f"still approaching, {end.approach:.2g} {unit} a step: run longer"


def _group_limits(limits: Sequence[str]) -> list[str]:
    """Group limits such as 'cable left: effort at its minimum' over actuators."""
    names_by_kind: dict[str, list[str]] = {}
    for limit in limits:
        name, _, kind = limit.partition(": ")
        names_by_kind.setdefault(kind, []).append(name)
    return [f"{kind}: {_join_names(names)}" for kind, names in names_by_kind.items()]


def _join_names(names: list[str]) -> str:
    hidden = len(names) - CHECKS.names_max
    shown = names if hidden < 2 else names[: CHECKS.names_max]
    return ", ".join(shown) + (f" and {hidden} others" if hidden >= 2 else "")
