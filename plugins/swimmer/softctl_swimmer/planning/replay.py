"""Plans of gaits that hold: on the exact model, and as motors play them between the instants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.status import Status
from sofa_softctl.surrogate import Iteration, Settings
from softctl_swimmer.planning.gait_plan import EFFORT, GENTLE, GaitPlan, plan_gait
from softctl_swimmer.planning.gaits import Gait, follow
from softctl_swimmer.planning.motion_map import HINGES, MassMap
from softctl_swimmer.planning.objectives import OBJECTIVES
from softctl_swimmer.planning.playing import Played, play
from softctl_swimmer.planning.swimming import SwimmingDynamics

AGREES = 0.02
"""Largest difference of progress on the exact model, and as played, over it [-]."""
TORQUE = 0.01
"""Largest excess of a torque there, over its limit [-]."""
FINER = 16
"""Steps in a step of the plan in which its torques are looked at between the instants: in a quarter
as many, means of them come out up to 6 % smaller."""
NOWHERE = 1e-6
"""Progress below which a gait leads nowhere, in sizes of its goal [-]."""
GENTLER, GENTLEST = 3.0, 9.0
"""How much more changes of torques are charged where a gait strains between its instants, once and
at most [-]..."""
LIGHTER = (1.0 / 4.0, 1.0 / 16.0)
"""... and how much less these and torques themselves where it idles."""
IDLE = 0.9
"""Torque between the instants, over the limit, below which a gait idles [-]."""
GLANCE = 40
"""Iterations after which a plan's progress is compared with the one that is played."""
PLAYED_TORQUE = 0.2
"""Largest excess of a torque between the instants, of its mean over a step of the plan [-]."""
AGAIN = 3
"""Times that a gait is planned anew at most, since it strains or bends too far."""
NARROWER = 0.97
"""Share of what hinges may bend that a gait is planned for anew, where it bent farther [-]."""
PLAYED_REACH = 1.05
"""Largest joint angle between the instants, over `reach` [-]; hinges' own ranges are kept."""


def solve_gait(
    dynamics: SwimmingDynamics,
    objective: str = "forward",
    *,
    instants: int = 81,
    reach: float = np.inf,
    settings: Settings | None = None,
    progress: Callable[[Iteration], None] | None = None,
) -> GaitPlan:
    """Plan a gait whose progress is the one that is played; `replay` remains to be done.

    Where the steps of a plan are so coarse that the gait leads elsewhere between them, by more
    than 2 %, it is planned on with the progress of finer steps. Where it takes more torque between
    them than `replay` accepts, or still leads elsewhere, changes of torques are charged three times
    as much, up to nine; where it bends farther than it may, the range of angles is narrowed. Where
    it leaves torque unused, since what it gains is small beside the charge, these and torques are
    charged a quarter, down to a sixteenth.

    Args:
        dynamics: See `plan_gait`, as the others.
        objective: Key of `OBJECTIVES`.
        instants: K.
        reach: Largest joint angle [rad].
        settings: Of the optimiser.
        progress: Called after each iteration.
    """
    chosen = settings or Settings()

    def planned(
        found: GaitPlan | None,
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
            start=None if found is None else _start(found, dynamics, narrow),
            refined=refined,
            settings=replace(chosen, iterations=iterations),
            progress=progress,
        )
        return again if found is None else replace(again, start=found.start, begun=found.begun)

    def leads_elsewhere(found: GaitPlan) -> bool:
        try:
            return not _agree(_played(found, dynamics).progress, found.progress)
        except SceneError:  # `replay` says so
            return False

    found = planned(None, False, min(GLANCE, chosen.iterations))
    refined = leads_elsewhere(found)  # then its own steps have no use for more iterations
    if not refined and not found.plan.status.ok and chosen.iterations > GLANCE:
        found = planned(found, False, chosen.iterations - GLANCE)
        refined = leads_elsewhere(found)
    if refined:
        found = planned(found, True, chosen.iterations)
    charge = narrow = 1.0
    for _ in range(AGAIN):
        before = charge, narrow
        elsewhere = leads_elsewhere(found)
        refined = refined or elsewhere
        if elsewhere or _strains(found, dynamics):
            charge = min(GENTLER * charge, GENTLEST)
        if (bent := _bent(found, dynamics)) > 1.0:
            narrow *= NARROWER / bent
        if (charge, narrow) == before:
            break
        found = planned(found, refined, chosen.iterations, charge, narrow)
    for charge in LIGHTER:
        if not (found.plan.status.ok and _idles(found, dynamics)):
            break
        light = planned(found, refined, chosen.iterations, charge, narrow)
        fails = not light.plan.status.ok or _strains(light, dynamics)
        fails = fails or _bent(light, dynamics) > 1.0
        if fails or light.progress <= found.progress:
            break
        found = light
    return found


def _start(found: GaitPlan, dynamics: SwimmingDynamics, narrow: float) -> Gait:
    """Its motion, or a smaller one in a narrower range."""
    if narrow == 1.0:
        return Gait(found.plan.a, found.plan.u)
    return follow(dynamics, narrow * found.plan.a[:, HINGES])


def _strains(found: GaitPlan, dynamics: SwimmingDynamics) -> bool:
    """Whether it takes too much torque between its instants, or leaves the map."""
    try:
        return _played(found, dynamics).torque > 1.0 + PLAYED_TORQUE
    except SceneError:
        return True


def _bent(found: GaitPlan, dynamics: SwimmingDynamics) -> float:
    """Largest angle between its instants over what is allowed there, if above 1, or 1 [-]."""
    try:
        angles = _played(found, dynamics).gait.a[:, HINGES]
    except SceneError:
        return 1.0
    low, high = _allowed(found, dynamics)
    return max(1.0, float((angles / high).max()), float((angles / low).max()))


def _idles(found: GaitPlan, dynamics: SwimmingDynamics) -> bool:
    """Whether torque is left between its instants."""
    try:
        return _played(found, dynamics).torque < IDLE
    except SceneError:
        return False


def _played(found: GaitPlan, dynamics: SwimmingDynamics) -> Played:
    goal = OBJECTIVES[found.objective](dynamics.embedding)
    return play(dynamics, found.plan.a[:, HINGES], goal, FINER)


def _bends(played: Played, found: GaitPlan, dynamics: SwimmingDynamics) -> str:
    """Which hinge bends too far between the instants; empty: none."""
    angles = played.gait.a[:, HINGES]
    for number, (low, high) in enumerate(zip(*_allowed(found, dynamics), strict=True)):
        least, largest = angles[:, number].min(), angles[:, number].max()
        if least < low or largest > high:
            return (
                f"Between its instants hinge {number + 1} bends from {least:.4g} to {largest:.4g} "
                f"rad; it may from {low:.4g} to {high:.4g}."
            )
    return ""


def _allowed(found: GaitPlan, dynamics: SwimmingDynamics) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest angles between the instants [rad], shapes (n,)."""
    limits = np.array([hinge.limits for hinge in dynamics.embedding.swimmer.hinges])
    most = PLAYED_REACH * found.reach
    return np.maximum(limits[:, 0], -most), np.minimum(limits[:, 1], most)


def replay(found: GaitPlan, dynamics: SwimmingDynamics, exact: MassMap) -> GaitPlan:
    """Move the hinges as planned on the exact model, and as motors do between the instants.

    Args:
        found: The plan.
        dynamics: The swimmer that it was planned for.
        exact: Its mass matrix itself, `MassEntries`: K evaluations.

    Returns:
        The plan with what came out; REJECTED if it is not what was planned.
    """
    goal, angles = OBJECTIVES[found.objective](dynamics.embedding), found.plan.a[:, HINGES]
    nowhere = abs(found.progress) < NOWHERE * goal.size
    if nowhere or found.progress < found.begun:
        than = "as good as nowhere" if nowhere else f"less far than its start, {found.begun:.4g}"
        text = f"It leads {found.progress:.4g}, {than}: this body cannot, or too weak torques."
        status = Status.worst((found.plan.status, Status.REJECTED))
        return replace(found, status=status, message=f"{text} {found.plan.message}".strip())
    gait = follow(dynamics.on(replace(dynamics.embedding, masses=exact)), angles)
    progress = goal.made(dynamics.embedding, gait.a) + found.correction
    torque = float(np.abs(gait.u).max())
    found = replace(found, exact=progress, torque=torque)
    said = _differs("On the exact model", progress, torque, TORQUE, found)
    advice = "take a finer map of the mass matrix"
    try:
        played = _played(found, dynamics)
    except SceneError as error:
        said = f"Between its instants it cannot be followed: {error}"
        advice = "plan with weaker torques, or a smaller time step"
    else:
        found = replace(
            found,
            motion=played.gait.a[::FINER],
            played=played.progress,
            played_torque=played.torque,
        )
        if not said:
            said = _bends(played, found, dynamics) or _differs(
                "Between its instants", played.progress, played.torque, PLAYED_TORQUE, found
            )
            advice = "plan with a smaller time step, or weaker torques"
    status, message = found.plan.status, "" if found.plan.status.ok else found.plan.message
    if said:
        status = Status.worst((status, Status.REJECTED))
        message = f"{said} Do not execute it: {advice}. {message}".strip()
    return replace(found, status=status, message=message)


def _differs(where: str, progress: float, torque: float, excess: float, found: GaitPlan) -> str:
    """What is not as planned; empty: nothing."""
    if _agree(progress, found.progress) and torque <= 1.0 + excess:
        return ""
    return (
        f"{where} its progress is {progress:.4g}, of the plan {found.progress:.4g}, and its "
        f"largest torque {torque:.4g} times the limit."
    )


def _agree(progress: float, planned: float) -> bool:
    return abs(progress - planned) <= AGREES * abs(progress)
