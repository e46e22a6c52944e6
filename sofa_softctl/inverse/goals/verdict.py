"""Verdict on the goals at the end of a run, and the causes of the error that remains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sofa_softctl.inverse.goals.function import misplaced
from sofa_softctl.qpcc.problem.limits import ReachedLimit, limits_of, reached_limits
from sofa_softctl.qpcc.problem.problem import InverseProblem
from sofa_softctl.qpcc.solve.solve import solve
from sofa_softctl.qpcc.solve.tracking_qp import build_qp
from sofa_softctl.scene.control.report import History
from sofa_softctl.status import Status, Verdict
from sofa_softctl.units import symbol

if TYPE_CHECKING:
    pass


NO_AUTHORITY = 1e-3
"""Directions of effort whose effect on the effectors, at equal deformation energy, is below this
fraction of the strongest one's count as having none: they would take enormous efforts."""
LITTLE_ENERGY = 1e-4
"""The energy term is as good as gone at this fraction of its weight; it still decides between
efforts that are equally good."""
AT_LIMIT = 1e-7
"""Distance to a limit that counts as reached, in units of the scaled QP, as in `solve`."""
NEGLIGIBLE = 0.05
"""A limit counts if its multiplier is above this fraction of the largest one."""


@dataclass(frozen=True)
class Shortfall:
    """Weighted error of an answer, split by what it takes to remove each part."""

    error: float
    """Weighted error of the answer [length]: the sum of the parts."""
    nearer: float
    """What targets at the goals themselves would remove, see `goal_distance` [length]."""
    energy: float
    """What a much smaller `energy` would remove [length]."""
    limits: float
    """What would be removed without limits as well [length]."""
    actuators: float
    """What no effort removes: it is orthogonal to all that the actuators move [length]."""
    binding: tuple[ReachedLimit, ...]
    """Limits with a multiplier, largest first."""


def shortfall(
    problem: InverseProblem, effector_error: np.ndarray, missing: np.ndarray
) -> Shortfall | None:
    """Split the error of a step's answer by its causes, in the linearisation of this step.

    Args:
        problem: Problem of the step, without contacts.
        effector_error: Position minus target of its answer [length], shape (n_e,).
        missing: Target minus goal [length], shape (n_e,): not zero where `goal_distance` has moved
            the goals nearer.

    Returns:
        The parts; None where the problem with little energy has no trustworthy answer.
    """
    weight = problem.effector_weight
    error = weight * (effector_error + missing)
    whole = replace(problem, delta_e_free=problem.delta_e_free + missing)
    direct = weight * solve(whole).effector_error if missing.any() else error
    whole = replace(whole, energy=LITTLE_ENERGY * problem.energy)
    best = solve(whole)
    if best.status is Status.HELD:
        return None
    B = weight[:, None] * problem.W_ea * _natural(problem)
    left = weight * best.effector_error
    rest = left - B @ np.linalg.lstsq(B, left, rcond=NO_AUTHORITY)[0]
    now, aimed, limited, free = (
        float(np.linalg.norm(part)) for part in (error, direct, left, rest)
    )
    return Shortfall(
        error=now,
        nearer=max(now - aimed, 0.0),
        energy=max(aimed - limited, 0.0),
        limits=max(limited - free, 0.0),
        actuators=min(free, now),
        binding=_binding(whole, best.effort, B.T @ left),
    )


def _natural(problem: InverseProblem) -> np.ndarray:
    """Effort of a unit of deformation energy, shape (n_a,)."""
    compliance = problem.W_aa.diagonal()
    return np.asarray(1.0 / np.sqrt(np.where(compliance > 0.0, compliance, 1.0)))


def _binding(
    problem: InverseProblem, effort: np.ndarray, gradient: np.ndarray
) -> tuple[ReachedLimit, ...]:
    """Limits that hold the error's gradient in natural efforts, shape (n_a,), in balance."""
    from scipy.optimize import nnls

    limits, built, unit = limits_of(problem), build_qp(problem), _natural(problem)
    values = {"effort": effort, "displacement": problem.W_aa @ effort + problem.delta_a_free}
    margins = {
        "effort": AT_LIMIT * built.effort_scale,
        "displacement": AT_LIMIT * built.displacement_scale,
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
    return tuple(reached[i] for i in order if multiplier[i] > NEGLIGIBLE * multiplier.max())


NAMED = 3
"""Maximum number of actuators at a limit that a reason names, or one more."""
WINDOW = 10
"""Steps at the end of a run from which motion is judged."""
AT_REST = 0.05
"""Motion of goal or effector in a step, as a fraction of the tolerance, that counts as none."""
PROGRESS_MAX = 0.25
"""Distance to a goal at the end by that at the start, above which the scene itself is doubted."""
SHARE = 0.2
"""A cause is named if this fraction of the error is its."""


@dataclass(frozen=True)
class GoalSummary:
    """Whether the goals were reached at the end of a run."""

    tolerance: float
    """Distance that counts as reached, of the effector that misses its goal most [length]."""
    reached: bool
    """Whether every effector is within its tolerance."""
    reasons: list[str]
    """Reasons if they are not."""
    verdict: str
    """Outcome as a sentence."""
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
    """Mean decrease of the distance a step, for the goal where it is after the step [length]."""
    goal_step: float
    """Mean motion of the goal a step [length]."""
    tip_step: float
    """Mean motion of the effector a step [length]."""
    steps: int
    """Steps of the run."""

    @property
    def approaching(self) -> bool:
        """Whether its goal rests, and as many steps again would bring it there at this pace."""
        missing = self.distance - self.tolerance
        return not self.goal_moves and self.approach * self.steps > missing

    @property
    def goal_moves(self) -> bool:
        """Whether its goal moves."""
        return self.goal_step > AT_REST * self.tolerance

    @property
    def rests(self) -> bool:
        """Whether goal and effector are at rest."""
        return not self.goal_moves and self.tip_step <= AT_REST * self.tolerance


def judge(controller: Any, history: History) -> GoalSummary | None:
    """Outcome of a run; None where no effector is judged.

    Args:
        controller: The InverseController, after the run; an infinite entry of its `tolerance`
            leaves an effector out.
        history: Its outputs.
    """
    judged = np.flatnonzero(np.isfinite(controller.tolerance))
    if not len(judged):
        return None
    is_weighted = controller.weighted_axes
    tip, goal = (history[name] * is_weighted for name in ("tip", "goal"))
    distance = np.linalg.norm(tip[-1] - goal[-1], axis=1)
    worst = int(judged[np.argmax((distance / controller.tolerance)[judged])])
    end = _end_of(tip[:, worst], goal[:, worst], float(controller.tolerance[worst]))
    unit = symbol(history.units, "length")
    who = f" ({controller.effector_names[worst]})" if len(controller.effector_names) > 1 else ""
    outcome = f"{end.distance:.3g} {unit} off at the end{who}, {end.tolerance:.3g} allowed"
    exceeded = [] if controller.solution is None else list(controller.solution.relaxed)
    if end.distance <= end.tolerance and exceeded:
        text = f"not reached within the limits: {outcome}; {'; '.join(exceeded)}"
        return GoalSummary(end.tolerance, False, exceeded, text)
    if end.distance <= end.tolerance:
        idle = _idle(controller, history, judged, unit)
        return GoalSummary(end.tolerance, True, [], f"reached: {outcome}{idle}")
    actual = controller.weight.reshape(-1, 3) * (tip[-1] - goal[-1])
    reasons, closest = _reasons(controller, end, float(np.linalg.norm(actual)), unit)
    began = float(np.linalg.norm(tip[0, worst] - goal[0, worst]))
    if end.distance > PROGRESS_MAX * began and is_weighted[worst].all():
        causes = misplaced(controller, worst, tip[0], goal[-1])
        reasons, closest = [*causes, *reasons], closest and not causes
    sentence = f"not reached: {outcome}; {'; '.join(reasons)}"
    return GoalSummary(end.tolerance, False, reasons, sentence, closest)


def _idle(controller: Any, history: History, judged: np.ndarray, unit: str) -> str:
    """Return what a verdict adds where neither goals nor effectors went anywhere that counts."""
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
    tip, goal = tip[-WINDOW - 1 :], goal[-WINDOW - 1 :]
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
    """Possible reasons why goals were not reached, certain ones first; whether it is the closest.

    Args:
        controller: The controller.
        end: Motion at the end.
        actual: Weighted error of all effectors at the end [length].
        unit: Unit of length.
    """
    last = controller.solution
    if last is None:
        return ["no step was solved: constraints have no effect in this scene"], False
    found = [f"{name} is lost" for name in controller.lost.left]
    found += last.relaxed
    closest = False
    if end.approaching:
        found.append(_approaching(end, unit))
    elif last.status not in (Status.HELD, Status.CLOSEST_FEASIBLE):
        causes, closest = _causes(controller, end, actual, unit)
        found += causes
    if end.goal_moves and found:
        found.append(f"the goal moves by {end.goal_step:.2g} {unit} a step")
    for status, text in (
        (Status.HELD, "the efforts were held"),
        (Status.CLOSEST_FEASIBLE, "the limits contradicted each other"),
        (Status.FALLBACK, "another QP solver's answer was taken"),
    ):
        if count := controller.step_counts.statuses[status]:
            total = sum(controller.step_counts.statuses.values())
            found.append(f"{text} in {count} of {total} steps")
    if early := sum(not converged for _, converged in controller.step_counts.searches):
        found.append(f"the search ended early in {early} steps")
    closest = closest and not controller.lost.left
    return found or [
        "no limit holds it back at the end: what is best for one step may lead nowhere, or the "
        "goal moves too fast"
    ], closest


def _causes(controller: Any, end: _End, actual: float, unit: str) -> tuple[list[str], bool]:
    """What the optimality of the last step says; whether nothing closer is possible."""
    problem, last = controller.problem, controller.solution
    if problem.contacts is not None:  # its modes decide too: what is reached is all that is known
        return _gathered(last.active), False
    effects = (
        problem.W_ea.reshape(*controller.weighted_axes.shape, -1).any(axis=2)
        & controller.weighted_axes
    )
    judged = np.isfinite(controller.tolerance)
    if still := np.array(controller.effector_names)[judged & ~effects.any(axis=1)].tolist():
        return [
            f"no actuator moves {_some(still)}: is it in the clamp, or on another body than all "
            "actuators"
        ], False
    missing = (controller.target - controller.wanted).ravel()
    pass

    parts = shortfall(problem, last.effector_error, missing)
    if parts is None:
        return _gathered(last.active), False
    if parts.error < 0.5 * actual:
        return [
            "the last step moved it elsewhere than its linear model expected: try a smaller dt, "
            "or limit effort_rate or goal_distance"
        ], False
    return _sentences(controller, parts, end, unit)


def _sentences(controller: Any, parts: Shortfall, end: _End, unit: str) -> tuple[list[str], bool]:
    energy, distance = controller.energy, controller.goal_distance
    large = SHARE * parts.error
    limits = "; ".join(_gathered([limit.text for limit in parts.binding]))
    limited = parts.limits > large
    active = set(controller.solution.active)
    idle_rates = {limit.text for limit in parts.binding if limit.kind == "rate"} - active
    if limited and (idle_rates or not active & {limit.text for limit in parts.binding}):
        # limits of another answer
        if np.any(controller.target != controller.wanted):
            return [f"goal_distance={distance:g} holds it back: widen it"], False
        if energy > 0.0:
            return [f"energy={energy:g} holds it back: lower it"], False
    rates = limited and any(limit.kind == "rate" for limit in parts.binding)
    nearer = parts.nearer > large
    if (rates or nearer) and not end.goal_moves and end.approach > AT_REST * end.tolerance:
        what = f"goal_distance={distance:g}" if nearer else f"what is reached ({limits})"
        return [f"{_approaching(end, unit)}, or widen {what}"], False
    final = end.rests and not (rates or nearer)  # more steps change nothing
    causes = [f"goal_distance={distance:g} holds it back: widen it"] if nearer else []
    if limited:
        how = "out of reach with these limits" if final else "these limits hold it back"
        causes.append(f"{how} ({limits})")
    if parts.actuators > large:
        causes.append(_actuators_find_nothing(final))
    if parts.energy > large:
        causes.append(f"energy={energy:g} holds it back: lower it")
    return causes, final and limited and parts.energy <= large


def _actuators_find_nothing(final: bool) -> str:
    """Return what is said of actuators that bring the effector no closer."""
    if final:
        return "these actuators find nothing closer, step by step"
    return "these actuators come no closer in one step"


def _approaching(end: _End, unit: str) -> str:
    return f"still approaching, {end.approach:.2g} {unit} a step: run longer"


def _gathered(limits: Sequence[str]) -> list[str]:
    """Limits such as 'cable left: effort at its minimum', grouped over actuators."""
    names: dict[str, list[str]] = {}
    for limit in limits:
        name, _, kind = limit.partition(": ")
        names.setdefault(kind, []).append(name)
    return [f"{kind}: {_some(found)}" for kind, found in names.items()]


def _some(names: list[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names) if more < 2 else f"{', '.join(names[:NAMED])} and {more} others"
