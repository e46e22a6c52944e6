"""Plans of gaits that are confirmed on the exact model, and between the instants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.status import Status
from sofa_softctl.surrogate import Iteration, Settings
from softctl_swimmer.planning.gait_plan import EFFORT, GENTLE, GaitPlan, plan_gait
from softctl_swimmer.planning.gaits import Gait, follow_angles
from softctl_swimmer.planning.motion_map import HINGES, MassMap
from softctl_swimmer.planning.objectives import OBJECTIVES
from softctl_swimmer.planning.playing import PlayedGait, play
from softctl_swimmer.planning.swimming import SwimmingDynamics

SUBSTEP_COUNT = 16
"""Number of fine steps per step of the plan for torques between the instants; with a quarter of it,
their means are up to 6 % too small."""


@dataclass(frozen=True)
class ReplaySettings:
    """Tolerances of a replay, and charges of new plans."""

    progress_tolerance: float = 0.02
    """Largest relative difference of progress on the exact model, and as played [-]."""
    progress_min: float = 1e-6
    """Smallest progress of a useful gait, in sizes of its goal [-]."""
    torque_excess_max: float = 0.01
    """Largest excess of a torque on the exact model, relative to its limit [-]."""
    played_torque_excess_max: float = 0.2
    """Largest excess of a torque between the instants, as mean over a step of the plan [-]."""
    played_reach_ratio: float = 1.05
    """Largest joint angle between the instants, over `reach` [-]; hinges' own ranges also hold."""
    idle_torque: float = 0.9
    """Largest torque between the instants of a gait that idles, over the limit [-]."""
    first_iteration_count: int = 40
    """Number of iterations after which a plan's progress is compared with the played one."""
    replans_max: int = 3
    """Largest number of new plans for a gait that strains or bends too far."""
    charge_growth: float = 3.0
    """Factor of the charge on changes of torques each time a gait strains [-]."""
    charge_max: float = 9.0
    """Largest factor of this charge [-]."""
    reduced_charges: tuple[float, ...] = (1.0 / 4.0, 1.0 / 16.0)
    """Charges on torques and their changes that are tried if a gait leaves torque unused [-]."""
    narrowing: float = 0.97
    """Factor of the range of angles in a new plan for a gait that bent too far [-]."""


SETTINGS = ReplaySettings()


def solve_gait(
    dynamics: SwimmingDynamics,
    objective: str = "forward",
    *,
    instants: int = 81,
    reach: float = np.inf,
    settings: Settings | None = None,
    progress: Callable[[Iteration], None] | None = None,
) -> GaitPlan:
    """Plan a gait whose progress is also reached between the instants; `replay` must follow.

    If the played progress differs by more than 2 %, since the steps of the plan are too coarse, the
    plan continues with the progress of finer steps. If the gait takes more torque between the
    instants than `replay` accepts, or its progress still differs, changes of torques are charged
    three times as much, up to nine times; if it bends too far, the range of angles is narrowed. If
    it leaves torque unused, since its gain is smaller than the charge, the charge on torques and
    their changes is reduced to a quarter, then to a sixteenth.

    Args:
        dynamics: The swimmer, as for `plan_gait`.
        objective: Key of `OBJECTIVES`.
        instants: Number K of instants.
        reach: Largest joint angle [rad].
        settings: Settings of the optimiser.
        progress: Called after each iteration.
    """
    base_settings = settings or Settings()

    def plan_again(
        start_plan: GaitPlan | None,
        refined: bool,
        iterations: int,
        charge: float = 1.0,
        narrow: float = 1.0,
    ) -> GaitPlan:
        again = plan_gait(
            dynamics,
            objective,
            instants=instants,
            reach=reach,
            effort=min(charge, 1.0) * EFFORT,
            gentle=charge * GENTLE,
            narrow=narrow,
            start=None if start_plan is None else _start(start_plan, dynamics, narrow),
            refined=refined,
            settings=replace(base_settings, iterations=iterations),
            progress=progress,
        )
        return (
            again
            if start_plan is None
            else replace(again, start=start_plan.start, begun=start_plan.begun)
        )

    def leads_elsewhere(gait_plan: GaitPlan) -> bool:
        try:
            return not _agree(_play(gait_plan, dynamics).progress, gait_plan.progress)
        except SceneError:  # `replay` says so
            return False

    current_plan = plan_again(
        None, False, min(SETTINGS.first_iteration_count, base_settings.iterations)
    )
    refined = leads_elsewhere(current_plan)  # then its own steps have no use for more iterations
    if (
        not refined
        and not current_plan.plan.status.ok
        and base_settings.iterations > SETTINGS.first_iteration_count
    ):
        current_plan = plan_again(
            current_plan, False, base_settings.iterations - SETTINGS.first_iteration_count
        )
        refined = leads_elsewhere(current_plan)
    if refined:
        current_plan = plan_again(current_plan, True, base_settings.iterations)
    charge = narrow = 1.0
    for _ in range(SETTINGS.replans_max):
        before = charge, narrow
        is_elsewhere = leads_elsewhere(current_plan)
        refined = refined or is_elsewhere
        if is_elsewhere or _strains(current_plan, dynamics):
            charge = min(SETTINGS.charge_growth * charge, SETTINGS.charge_max)
        if (bend_ratio := _bend_ratio(current_plan, dynamics)) > 1.0:
            narrow *= SETTINGS.narrowing / bend_ratio
        if (charge, narrow) == before:
            break
        current_plan = plan_again(current_plan, refined, base_settings.iterations, charge, narrow)
    for charge in SETTINGS.reduced_charges:
        if not (current_plan.plan.status.ok and _idles(current_plan, dynamics)):
            break
        light_plan = plan_again(current_plan, refined, base_settings.iterations, charge, narrow)
        fails = not light_plan.plan.status.ok or _strains(light_plan, dynamics)
        fails = fails or _bend_ratio(light_plan, dynamics) > 1.0
        if fails or light_plan.progress <= current_plan.progress:
            break
        current_plan = light_plan
    return current_plan


def _start(gait_plan: GaitPlan, dynamics: SwimmingDynamics, narrow: float) -> Gait:
    """Return the motion of a plan, or a smaller one in a narrower range."""
    if narrow == 1.0:
        return Gait(gait_plan.plan.a, gait_plan.plan.u)
    return follow_angles(dynamics, narrow * gait_plan.plan.a[:, HINGES])


def _strains(gait_plan: GaitPlan, dynamics: SwimmingDynamics) -> bool:
    """Return True if a gait takes too much torque between its instants, or leaves the map."""
    try:
        return _play(gait_plan, dynamics).torque > 1.0 + SETTINGS.played_torque_excess_max
    except SceneError:
        return True


def _bend_ratio(gait_plan: GaitPlan, dynamics: SwimmingDynamics) -> float:
    """Return the largest angle between the instants relative to its limit, at least 1 [-]."""
    try:
        angles = _play(gait_plan, dynamics).gait.a[:, HINGES]
    except SceneError:
        return 1.0
    low, high = _angle_limits(gait_plan, dynamics)
    return max(1.0, float((angles / high).max()), float((angles / low).max()))


def _idles(gait_plan: GaitPlan, dynamics: SwimmingDynamics) -> bool:
    """Return True if a gait leaves torque unused between its instants."""
    try:
        return _play(gait_plan, dynamics).torque < SETTINGS.idle_torque
    except SceneError:
        return False


def _play(gait_plan: GaitPlan, dynamics: SwimmingDynamics) -> PlayedGait:
    goal = OBJECTIVES[gait_plan.objective](dynamics.embedding)
    return play(dynamics, gait_plan.plan.a[:, HINGES], goal, SUBSTEP_COUNT)


def _bend_message(played: PlayedGait, gait_plan: GaitPlan, dynamics: SwimmingDynamics) -> str:
    """Return a message on a hinge that bends too far between the instants, or ""."""
    angles = played.gait.a[:, HINGES]
    for number, (low, high) in enumerate(zip(*_angle_limits(gait_plan, dynamics), strict=True)):
        smallest, largest = angles[:, number].min(), angles[:, number].max()
        if smallest < low or largest > high:
            return (
                f"Between its instants hinge {number + 1} bends from {smallest:.4g} to "
                f"{largest:.4g} rad; it may from {low:.4g} to {high:.4g}."
            )
    return ""


def _angle_limits(gait_plan: GaitPlan, dynamics: SwimmingDynamics) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and largest angles between the instants [rad], shapes (n,)."""
    limits = np.array([hinge.limits for hinge in dynamics.embedding.swimmer.hinges])
    reach_max = SETTINGS.played_reach_ratio * gait_plan.reach
    return np.maximum(limits[:, 0], -reach_max), np.minimum(limits[:, 1], reach_max)


def replay(gait_plan: GaitPlan, dynamics: SwimmingDynamics, exact: MassMap) -> GaitPlan:
    """Move the hinges as planned on the exact model, and as motors do between the instants.

    Args:
        gait_plan: The plan.
        dynamics: The swimmer of the plan.
        exact: Exact mass matrix, `MassEntries`: K evaluations.

    Returns:
        The plan with the results of the replay; REJECTED if they differ from the plan.
    """
    goal, angles = OBJECTIVES[gait_plan.objective](dynamics.embedding), gait_plan.plan.a[:, HINGES]
    is_useless = abs(gait_plan.progress) < SETTINGS.progress_min * goal.size
    if is_useless or gait_plan.progress < gait_plan.begun:
        than = "nearly nothing" if is_useless else f"less far than its start, {gait_plan.begun:.4g}"
        text = f"It leads {gait_plan.progress:.4g}, {than}: this body cannot, or too weak torques."
        status = Status.worst((gait_plan.plan.status, Status.REJECTED))
        return replace(gait_plan, status=status, message=f"{text} {gait_plan.plan.message}".strip())
    gait = follow_angles(dynamics.on(replace(dynamics.embedding, masses=exact)), angles)
    progress = goal.progress_of(dynamics.embedding, gait.a) + gait_plan.correction
    torque = float(np.abs(gait.u).max())
    gait_plan = replace(gait_plan, exact=progress, torque=torque)
    problem = _difference_message(
        "On the exact model", progress, torque, SETTINGS.torque_excess_max, gait_plan
    )
    advice = "take a finer map of the mass matrix"
    try:
        played = _play(gait_plan, dynamics)
    except SceneError as error:
        problem = f"Between its instants it cannot be followed: {error}"
        advice = "plan with weaker torques, or a smaller time step"
    else:
        gait_plan = replace(
            gait_plan,
            motion=played.gait.a[::SUBSTEP_COUNT],
            played=played.progress,
            played_torque=played.torque,
        )
        if not problem:
            problem = _bend_message(played, gait_plan, dynamics) or _difference_message(
                "Between its instants",
                played.progress,
                played.torque,
                SETTINGS.played_torque_excess_max,
                gait_plan,
            )
            advice = "plan with a smaller time step, or weaker torques"
    status, message = (
        gait_plan.plan.status,
        "" if gait_plan.plan.status.ok else gait_plan.plan.message,
    )
    if problem:
        status = Status.worst((status, Status.REJECTED))
        message = f"{problem} Do not execute it: {advice}. {message}".strip()
    return replace(gait_plan, status=status, message=message)


def _difference_message(
    label: str, progress: float, torque: float, excess: float, gait_plan: GaitPlan
) -> str:
    """Return a message on the difference from the plan, or ""."""
    if _agree(progress, gait_plan.progress) and torque <= 1.0 + excess:
        return ""
    return (
        f"{label} its progress is {progress:.4g}, of the plan {gait_plan.progress:.4g}, and its "
        f"largest torque {torque:.4g} times the limit."
    )


def _agree(progress: float, planned: float) -> bool:
    return abs(progress - planned) <= SETTINGS.progress_tolerance * abs(progress)
