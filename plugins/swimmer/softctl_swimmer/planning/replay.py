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
from softctl_swimmer.planning.playing import play
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
GENTLER = (3.0, 9.0)
"""How much more changes of torques are charged where a gait strains between its instants [-]..."""
LIGHTER = (1.0 / 4.0, 1.0 / 16.0)
"""... and how much less these and torques themselves where it idles."""
IDLE = 0.9
"""Torque between the instants, over the limit, below which a gait idles [-]."""
GLANCE = 40
"""Iterations after which a plan's progress is compared with the one that is played."""
PLAYED_TORQUE = 0.2
"""Largest excess of a torque between the instants, of its mean over a step of the plan [-]."""


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
    them than `replay` accepts, changes of torques are charged three times as much, up to nine;
    where it leaves torque unused, since what it gains is small beside the charge, these and torques
    a quarter, down to a sixteenth.

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
        found: GaitPlan | None, refined: bool, iterations: int, charge: float = 1.0
    ) -> GaitPlan:
        again = plan_gait(
            dynamics,
            objective,
            instants=instants,
            reach=reach,
            effort=min(charge, 1.0) * EFFORT,
            gentle=charge * GENTLE,
            start=None if found is None else Gait(found.plan.a, found.plan.u),
            refined=refined,
            settings=replace(chosen, iterations=iterations),
            progress=progress,
        )
        return again if found is None else replace(again, start=found.start, begun=found.begun)

    def leads_elsewhere(found: GaitPlan) -> bool:
        goal = OBJECTIVES[objective](dynamics.embedding)
        try:
            played = play(dynamics, found.plan.a[:, HINGES], goal, FINER)
        except SceneError:  # `replay` says so
            return False
        return not _agree(played.progress, found.progress)

    found = planned(None, False, min(GLANCE, chosen.iterations))
    refined = leads_elsewhere(found)  # then its own steps have no use for more iterations
    if not refined and not found.plan.status.ok and chosen.iterations > GLANCE:
        found = planned(found, False, chosen.iterations - GLANCE)
        refined = leads_elsewhere(found)
    if refined:
        found = planned(found, True, chosen.iterations)
    for charge in GENTLER:
        if not _played_torque(found, dynamics) <= 1.0 + PLAYED_TORQUE:  # or it leaves the map
            found = planned(found, refined, chosen.iterations, charge)
    for charge in LIGHTER:
        if not (found.plan.status.ok and _played_torque(found, dynamics) < IDLE):
            break
        light = planned(found, refined, chosen.iterations, charge)
        strains = _played_torque(light, dynamics) > 1.0 + PLAYED_TORQUE
        if strains or not light.plan.status.ok or light.progress <= found.progress:
            break
        found = light
    return found


def _played_torque(found: GaitPlan, dynamics: SwimmingDynamics) -> float:
    """Largest torque between its instants, over the unit [-]; NaN: it cannot be followed."""
    goal = OBJECTIVES[found.objective](dynamics.embedding)
    try:
        return play(dynamics, found.plan.a[:, HINGES], goal, FINER).torque
    except SceneError:
        return np.nan


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
    if abs(found.progress) < NOWHERE * goal.size or found.progress < found.begun:
        said = f"It leads {found.progress:.4g}, no farther than the wave that it began with"
        text = f"{said}, {found.begun:.4g}: this body cannot, or the torques are too weak."
        status = Status.worst((found.plan.status, Status.REJECTED))
        return replace(found, status=status, message=f"{text} {found.plan.message}".strip())
    gait = follow(dynamics.on(replace(dynamics.embedding, masses=exact)), angles)
    progress = goal.made(dynamics.embedding, gait.a) + found.correction
    torque = float(np.abs(gait.u).max())
    found = replace(found, exact=progress, torque=torque)
    said = _differs("On the exact model", progress, torque, TORQUE, found)
    advice = "take a finer map of the mass matrix"
    try:
        played = play(dynamics, angles, goal, FINER)
    except SceneError as error:
        said, advice = f"Between its instants it cannot be followed: {error}", "plan more steps"
    else:
        found = replace(
            found,
            motion=played.gait.a[::FINER],
            played=played.progress,
            played_torque=played.torque,
        )
        if not said:
            said = _differs(
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
