"""Causes of the error that remains at the goals, from the optimality of the last step.

The step's problem is solved again with one restriction after the other removed: targets that were
moved nearer, the energy term, limits, contacts. What each removal takes off the weighted error

    e = |w (W_ea lam + W_ec lam_c + delta_e_free)|

is the part of that restriction; what is left is orthogonal to all motions by the actuators.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sofa_softctl.inverse.goals.function import CHECKS, far_goal
from sofa_softctl.qpcc.problem.kernels import reached_ends
from sofa_softctl.qpcc.problem.limits import ReachedLimit, reached_limits
from sofa_softctl.qpcc.problem.modes import SearchOptions
from sofa_softctl.qpcc.problem.problem import InverseProblem, build_qp
from sofa_softctl.qpcc.solve.solve import solve
from sofa_softctl.scene.graph.nodes import body_of, body_size
from sofa_softctl.scene.plausibility.bodies import point
from sofa_softctl.scene.plausibility.holding import fixed_nodes
from sofa_softctl.status import Status


@dataclass(frozen=True)
class CauseSettings:
    """Thresholds of the causes."""

    effect_ratio_min: float = 1e-3
    """Effect of a direction of effort on the effectors, at equal deformation energy and relative to
    the strongest one, below which it has none: it would take enormous efforts [-]."""
    energy_factor: float = 1e-4
    """Factor on the energy term that nearly removes it, but lets it decide between efforts that are
    equally good [-]."""
    energy_max: float = 1e-6
    """Largest weight of the energy that counts as removed [-]."""
    limit_tolerance: float = 1e-7
    """Distance to a limit that counts as reached, in units of the scaled QP, as in `solve`."""
    multiplier_ratio_min: float = 0.05
    """Multiplier of a limit relative to the largest one, below which it does not count [-]."""
    names_max: int = 3
    """Maximum number of actuators at a limit that a reason names, or one more."""
    named_fraction_min: float = 0.2
    """Fraction of the error from which a cause is named [-]."""
    model_ratio_min: float = 0.5
    """Error that the linear model predicts, relative to the actual one, below which the step went
    elsewhere than predicted [-]."""
    alone_ratio_max: float = 0.5
    """Error of an effector without the goals of others, relative to that with them, below which the
    other goals are what holds it back [-]; part without contacts, relative to that without limits,
    above which contacts are named first."""


SETTINGS = CauseSettings()


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
    contacts: float
    """Part that would be removed without contacts, with the limits or after them [length]."""
    actuators: float
    """Part that no effort removes: orthogonal to all motions by the actuators [length]."""
    binding: tuple[ReachedLimit, ...]
    """Limits with a multiplier, largest first."""
    blocking: tuple[str, ...] = ()
    """Contacts that the efforts to the goals would close, most first."""
    without_contacts: float = 0.0
    """Part that would be removed without contacts, within the limits [length]."""


def break_down_error(
    problem: InverseProblem,
    effector_error: np.ndarray,
    offset: np.ndarray,
    search: SearchOptions | None = None,
) -> ErrorBreakdown | None:
    """Break the remaining error of a step down by cause, in the linearisation of this step.

    Args:
        problem: Problem of the step.
        effector_error: Position minus target of its solution [length], shape (n_e,).
        offset: Target minus goal [length], shape (n_e,): not zero if `goal_distance` has moved
            the targets nearer.
        search: Options of the search for contact modes.

    Returns:
        The parts, or None if the problem with little energy has no trustworthy solution.
    """
    options = search or SearchOptions()
    weight = problem.effector_weight
    total = float(np.linalg.norm(weight * (effector_error + offset)))
    relaxed = replace(problem, delta_e_free=problem.delta_e_free + offset)
    aimed = total
    if offset.any():
        aimed = _size(weight * solve(relaxed, search=options).effector_error)
    energy = min(SETTINGS.energy_factor * problem.energy, SETTINGS.energy_max)
    relaxed = replace(relaxed, energy=energy)
    best = solve(relaxed, search=options)
    if best.status is Status.HELD:
        return None
    residual = weight * best.effector_error
    B = motions_by_effort(problem)
    limited = _size(residual)
    blocking: tuple[str, ...] = ()
    without_contacts = 0.0
    if problem.contacts is None:
        free = unlimited = _size(_unreachable(B, residual))
        binding = _binding_limits(relaxed, best.effort, B.T @ residual)
    else:
        unlimited = _size(weight * solve(_without_limits(relaxed), search=options).effector_error)
        blocking = _blocking_contacts(relaxed, B)
        opened = solve(replace(relaxed, contacts=None), search=options)
        without_contacts = max(limited - _size(weight * opened.effector_error), 0.0)
        free = min(_size(_unreachable(B, weight * relaxed.delta_e_free)), unlimited)
        binding = _reached_limits(relaxed, best.effort, best.displacement)
    return ErrorBreakdown(
        error=total,
        nearer=max(total - aimed, 0.0),
        energy=max(aimed - limited, 0.0),
        limits=max(limited - unlimited, 0.0),
        contacts=max(unlimited - free, without_contacts),
        actuators=min(free, total),
        binding=binding,
        blocking=blocking,
        without_contacts=without_contacts,
    )


def _blocking_contacts(problem: InverseProblem, B: np.ndarray) -> tuple[str, ...]:
    """Return the names of the contacts that the efforts to the goals would close most."""
    contacts = problem.contacts
    assert contacts is not None
    residual = problem.effector_weight * problem.delta_e_free
    effort = -np.linalg.lstsq(B, residual, rcond=SETTINGS.effect_ratio_min)[0]
    starts = np.cumsum([0, *(3 if mu > 0.0 else 1 for mu in contacts.friction)])[:-1]
    closing = -(contacts.W_ac.T @ (_natural_efforts(problem) * effort))[starts]
    order = np.argsort(-closing, kind="stable")
    least = SETTINGS.named_fraction_min * closing.max()
    names = (contacts.names[i] for i in order if closing[i] >= least > 0.0)
    return tuple(dict.fromkeys(names)) or tuple(dict.fromkeys(contacts.names))


def _size(vector: np.ndarray) -> float:
    return float(np.linalg.norm(vector))


def _without_limits(problem: InverseProblem) -> InverseProblem:
    unlimited: dict[str, Any] = {
        f"{quantity}_{limit}": -np.inf if limit == "min" else np.inf
        for quantity in ("effort", "displacement")
        for limit in ("min", "max", "rate")
    }
    return replace(problem, **unlimited)


def motions_by_effort(problem: InverseProblem) -> np.ndarray:
    """Return the weighted motions of the effector rows by natural efforts, shape (n_e, n_a)."""
    B: np.ndarray = problem.effector_weight[:, None] * problem.W_ea * _natural_efforts(problem)
    return B


def _unreachable(B: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """Return the part of a residual, shape (n_e,), that no effort removes."""
    part: np.ndarray = (
        residual - B @ np.linalg.lstsq(B, residual, rcond=SETTINGS.effect_ratio_min)[0]
    )
    return part


def _natural_efforts(problem: InverseProblem) -> np.ndarray:
    """Return the effort of a unit of deformation energy, shape (n_a,)."""
    compliance = problem.W_aa.diagonal()
    return np.asarray(1.0 / np.sqrt(np.where(compliance > 0.0, compliance, 1.0)))


def _reached_limits(
    problem: InverseProblem, effort: np.ndarray, displacement: np.ndarray
) -> tuple[ReachedLimit, ...]:
    built = build_qp(problem)
    margins = (SETTINGS.limit_tolerance * built.effort_scale,
               SETTINGS.limit_tolerance * built.displacement_scale)  # fmt: skip
    reached = reached_ends(problem.arrays[-1], effort.copy(), displacement.copy(), *margins)
    return tuple(reached_limits(problem.names, reached))


def _binding_limits(
    problem: InverseProblem, effort: np.ndarray, gradient: np.ndarray
) -> tuple[ReachedLimit, ...]:
    """Return the limits that balance the error's gradient in natural efforts, shape (n_a,)."""
    from scipy.optimize import nnls

    reached = _reached_limits(problem, effort, problem.W_aa @ effort + problem.delta_a_free)
    if not reached:
        return ()
    unit = _natural_efforts(problem)
    normals = {"effort": np.eye(problem.n_a), "displacement": problem.W_aa}
    rows = [limit.inward * unit * normals[limit.quantity][limit.actuator] for limit in reached]
    N = np.array(rows).T  # (n_a, m)
    N = N / np.maximum(np.linalg.norm(N, axis=0), 1e-300)
    multiplier = nnls(N, gradient)[0]
    order = np.argsort(-multiplier, kind="stable")
    smallest = SETTINGS.multiplier_ratio_min * multiplier.max()
    return tuple(reached[i] for i in order if multiplier[i] > smallest)


@dataclass(frozen=True)
class Motion:
    """Motion at the end of a run, as far as the causes need it."""

    distance: float
    """Weighted error of all effectors [length]."""
    is_approaching: bool
    """True if the goal rests and the effector comes nearer, however slowly."""
    is_at_rest: bool
    """True if goal and effector are at rest: more steps change nothing."""
    approach_text: str
    """Text for a goal that is being approached."""


def find_causes(controller: Any, motion: Motion, judged: np.ndarray) -> tuple[list[str], bool]:
    """Return causes of the remaining error, the certain ones first; True if nothing is closer.

    Args:
        controller: InverseController after the run.
        motion: Motion in its last steps.
        judged: Indices of the effectors that count.
    """
    problem, solution = controller.problem, controller.solution
    effects = (
        problem.W_ea.reshape(*controller.weighted_axes.shape, -1).any(axis=2)
        & controller.weighted_axes
    ).any(axis=1)
    unmoved = [controller.effector_names[i] for i in judged if not effects[i]]
    if unmoved and problem.contacts is None:
        return [
            f"no actuator moves {join_names(unmoved)}: is it in the clamp, or on another body "
            "than all actuators"
        ], False
    offset = (controller.target - controller.wanted).ravel()
    parts = break_down_error(problem, solution.effector_error, offset, controller.search)
    if parts is None:
        return group_limits(solution.active), False
    if parts.error < SETTINGS.model_ratio_min * motion.distance:
        return [
            "the last step moved it elsewhere than its linear model expected: try a smaller dt, "
            "or limit effort_rate or goal_distance"
        ], False
    if text := _guiding_goals(controller, judged, parts):
        return [text], False
    return _texts(controller, parts, motion, judged)


def _guiding_goals(controller: Any, judged: np.ndarray, parts: ErrorBreakdown) -> str:
    """Return the cause if goals of small weight hold the others back, or ""."""
    problem = controller.problem
    weight = problem.effector_weight.reshape(-1, 3)
    guiding = [i for i in range(len(weight)) if i not in judged and weight[i].any()]
    if not guiding or not parts.error:
        return ""
    offset = (controller.target - controller.wanted).ravel()
    without = weight.copy()
    without[guiding] = 0.0
    alone = replace(
        problem,
        delta_e_free=problem.delta_e_free + offset,
        effector_weight=without.ravel(),
    )
    error = without.ravel() * solve(alone, search=controller.search).effector_error
    present = without.ravel() * (controller.solution.effector_error + offset)
    if _size(error) > SETTINGS.alone_ratio_max * _size(present):
        return ""
    names = join_names([controller.effector_names[i] for i in guiding])
    return f"the goal of {names}, of small weight, holds it back: lower its weight"


def _texts(
    controller: Any, parts: ErrorBreakdown, motion: Motion, judged: np.ndarray
) -> tuple[list[str], bool]:
    energy, distance = controller.energy, controller.goal_distance
    threshold = SETTINGS.named_fraction_min * parts.error
    # A slack cable says less than an effort at its maximum or a rate.
    texts = sorted((limit.text for limit in parts.binding), key=lambda text: "minimum" in text)
    limits = "; ".join(group_limits(texts))
    by_contacts = parts.contacts > threshold
    by_limits = parts.limits > threshold and bool(parts.binding)
    if by_limits and (cause := _cause_before_limits(controller, parts)):
        return [cause], False
    by_rate = by_limits and any(limit.kind == "rate" for limit in parts.binding)
    by_target = parts.nearer > threshold
    if (by_rate or by_target) and motion.is_approaching:
        option = f"goal_distance={distance:g}" if by_target else f"what is reached ({limits})"
        return [f"{motion.approach_text}, or widen {option}"], False
    is_final = motion.is_at_rest and not (by_rate or by_target)  # more steps change nothing
    contacts = [f"contacts are in the way ({join_names(list(parts.blocking))})"] * by_contacts
    is_blocked = by_contacts and parts.without_contacts > SETTINGS.alone_ratio_max * parts.limits
    causes = [f"goal_distance={distance:g} holds it back: widen it"] if by_target else []
    if is_blocked:  # within the limits too
        causes += contacts
    if by_limits:
        text = "out of reach with these limits" if is_final else "these limits hold it back"
        causes.append(f"{text} ({limits})")
    if not is_blocked:
        causes += contacts
    if parts.actuators > threshold:
        causes.append(_actuators_text(controller, judged, is_final))
    if parts.energy > threshold:
        causes.append(f"energy={energy:g} holds it back: lower it")
    return causes, is_final and by_limits and parts.energy <= threshold


def _cause_before_limits(controller: Any, parts: ErrorBreakdown) -> str:
    """Return what keeps the step from the limits that another solution would reach, or ""."""
    active, binding = set(controller.solution.active), {limit.text for limit in parts.binding}
    rates = {limit.text for limit in parts.binding if limit.kind == "rate"}
    if rates <= active and active & binding:
        return ""
    if np.any(controller.target != controller.wanted):
        return f"goal_distance={controller.goal_distance:g} holds it back: widen it"
    return f"energy={controller.energy:g} holds it back: lower it" if controller.energy else ""


def _actuators_text(controller: Any, judged: np.ndarray, is_final: bool) -> str:
    """Return why the actuators do not bring the effectors closer."""
    problem = controller.problem
    B, n_a = motions_by_effort(problem), problem.n_a
    offset = (controller.target - controller.wanted).ravel()
    residual = problem.effector_weight * (controller.solution.effector_error + offset)
    together = _size(_unreachable(B, residual))
    rows = np.arange(len(residual)).reshape(-1, 3)
    alone = max(_size(_unreachable(B[rows[i]], residual[rows[i]])) for i in range(len(rows)))
    if len(rows) > 1 and alone < SETTINGS.alone_ratio_max * together:
        names = join_names(controller.effector_names)
        return (
            f"the goals of {names} contradict each other with these actuators: each alone could "
            "be approached. Move one, or weigh one less"
        )
    text = "these actuators come no closer in one step"
    if is_final:
        text = "these actuators find nothing closer, step by step"
    coordinates = int(controller.weighted_axes.sum())
    if problem.contacts is None and n_a < coordinates:
        actuators = "1 actuator" if n_a == 1 else f"{n_a} actuators"
        text += (
            f": {actuators} for goals of {coordinates} coordinates. Give those that do not matter "
            "weight 0, or add actuators"
        )
    return text


def group_limits(limits: Sequence[str]) -> list[str]:
    """Group limits such as 'cable left: effort at its minimum' over actuators."""
    names_by_kind: dict[str, list[str]] = {}
    for limit in limits:
        name, _, kind = limit.partition(": ")
        names_by_kind.setdefault(kind, []).append(name)
    return [f"{kind}: {join_names(names)}" for kind, names in names_by_kind.items()]


def join_names(names: list[str]) -> str:
    """Return the first names, and the number of the others."""
    hidden = len(names) - SETTINGS.names_max
    shown = names if hidden < 2 else names[: SETTINGS.names_max]
    return ", ".join(shown) + (f" and {hidden} others" if hidden >= 2 else "")


def scene_reasons(
    controller: Any, effector: int, starts: np.ndarray, goals: np.ndarray
) -> list[str]:
    """Return reasons why a goal was not reached that lie in the scene, not in the motion.

    Args:
        controller: The InverseController.
        effector: Index of the effector.
        starts: Positions of the effectors after the first step [length], shape (n_e, 3).
        goals: Goals of the effectors at the end [length], shape (n_e, 3).
    """
    start, goal = starts[effector], goals[effector]
    node = controller.effectors[effector][0].getContext()
    body, size = body_of(node), body_size(node)
    if body is None:
        return []
    reasons = []
    distance, from_origin = float(np.linalg.norm(goal - start)), float(np.linalg.norm(goal))
    x = np.asarray(body.getMechanicalState().rest_position.value)[:, :3]
    nearest = float(np.linalg.norm(x - goal, axis=1).min(initial=np.inf))
    unit = far_goal(start, goal, size)
    fixed = fixed_nodes(body)
    held = x[sorted(fixed)]
    reach = float(_distances(x, held).max(initial=0.0)) if len(held) else math.inf
    from_clamp = float(_distances(goal[None], held).min(initial=math.inf))
    if unit is not None:
        reasons.append(f"effector '{node.getPathName()}' {unit}".rstrip("?"))
    elif 0.0 < reach * CHECKS.reach_ratio_max < from_clamp < math.inf:
        reasons.append(
            f"goal {point(goal)} is out of reach: {from_clamp:.3g} from where "
            f"'{body.getPathName()}' is held, whose farthest point is {reach:.3g} from there"
        )
    elif distance > CHECKS.doubted_distance * size:
        if CHECKS.unit_ratio_max * distance < from_origin < CHECKS.relative_ratio_max * distance:
            reasons.append(
                f"goal {point(goal)} is {distance:.3g} from where effector '{node.getPathName()}' "
                f"began, {point(start)}, and {from_origin:.3g} from the origin: is it given "
                "relative to the effector"
            )
        elif nearest < CHECKS.other_node_ratio_max * distance:
            reasons.append(
                f"goal {point(goal)} is {nearest:.3g} from another part of '{body.getPathName()}', "
                f"and {distance:.3g} from where effector '{node.getPathName()}' began: is it the "
                "effector that is meant"
            )
    distances = np.linalg.norm(starts[:, None] - goals, axis=2)  # effector, goal
    for second in range(len(starts)):
        distance_sum = distances[effector, effector]
        exchanged = distances[effector, second] + distances[second, effector]
        if exchanged < CHECKS.exchanged_ratio_max * (distance_sum + distances[second, second]):
            reasons = [
                f"effectors {effector} and {second} began {exchanged:.3g} in sum from each other's "
                "goals, much nearer than from their own: are the goals exchanged"
            ]
    total = len(x)
    if CHECKS.fixed_fraction_max * total < len(fixed) < total:  # the start warns if all are fixed
        reasons.append(
            f"{len(fixed)} of {total} nodes of '{body.getPathName()}' are fixed: "
            "is the clamp too large"
        )
    return reasons


def _distances(points: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Return the distance of each point, shape (n, 3), to the nearest of some nodes [length]."""
    from scipy.spatial import KDTree

    distances: np.ndarray = KDTree(nodes).query(points)[0] if len(nodes) else np.zeros(0)
    return distances
