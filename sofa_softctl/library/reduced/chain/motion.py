"""Motions of a chain from rest to rest as an optimal control problem, and rollouts of chains."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from sofa_softctl.library.ocp.formulas import Slope, rk4
from sofa_softctl.library.ocp.problem import (
    Motion,
    OptimalControlProblem,
    Parameter,
    Symbol,
    Variable,
)
from sofa_softctl.library.reduced.chain.model import ChainModel, Plant
from sofa_softctl.units import Units, symbol


def chain_problem(
    model: ChainModel,
    *,
    horizon: float,
    tension: tuple[float, float],
    goal: tuple[float, float],
    payload: tuple[float, float],
    tension_max: float,
    rate_max: float,
    tolerance: float,
    units: str | None = None,
    intervals: int = 30,
    steps: int = 5,
) -> OptimalControlProblem:
    """Declare motions from rest to rest with the tip at a goal, with least mean T'^2.

    State: angles and speeds of the links, tension T; input: T'. Constants z: angles at the start,
    where the chain is at rest. Parameters: [tension at the start, displacement of the tip aside at
    the end, payload]. The tension can stay constant afterwards.

    Args:
        model: Chain of the robot.
        horizon: Duration of a motion [time].
        tension: Smallest and largest tension at the start [force].
        goal: Smallest and largest displacement at the end [length].
        payload: Smallest and largest payload [mass].
        tension_max: Largest tension; the smallest is 0, since a cable only pulls [force].
        rate_max: Largest absolute rate of the tension [force / time].
        tolerance: Largest distance from the goal after the motion [length].
        units: Units of the model, such as "mm, kg, s", for the names of the variables.
        intervals: Number of intervals.
        steps: Number of integration steps per interval.
    """
    unit_system = None if units is None else Units.parse(units)
    length, force, mass, time = (
        symbol(unit_system, value) for value in ("length", "force", "mass", "time")
    )
    n, rate_scale = model.count, tension_max / horizon
    torque_scale = model.stiffness[0]  # scale of torques: that of a bending of 1 rad
    rate = swing_rate(model, 0.5 * sum(tension), Plant(0.5 * sum(payload)))
    zero_speeds = n * [0.0]

    def split(x: Symbol) -> tuple[list[Symbol], list[Symbol], Symbol]:
        return [x[i] for i in range(n)], [x[n + i] for i in range(n)], x[2 * n]

    def dynamics(x: Symbol, u: Symbol, z: Symbol, p: Symbol) -> list[Symbol]:
        angles, speeds, pull = split(x)
        return [*speeds, *model.acceleration(angles, speeds, pull, Plant(p[2])), u[0]]

    def balance(angles: list[Symbol], pull: Symbol, p: Symbol) -> list[Symbol]:
        return [
            value / torque_scale for value in model.torques(angles, zero_speeds, pull, Plant(p[2]))
        ]

    def terminal(x: Symbol, z: Symbol, p: Symbol) -> list[Symbol]:
        angles, speeds, pull = split(x)
        start_residual = balance([z[i] for i in range(n)], p[0], p)
        tip = model.tip(angles, pull)[1] - p[1]
        tip_residual = tip / sum(model.lengths)
        return [
            *start_residual,
            tip_residual,
            *(value / rate for value in speeds),
            *balance(angles, pull, p),
        ]

    def guess(p: np.ndarray, fraction: np.ndarray) -> np.ndarray:
        first, last = p[0], rest_tension(model, p[1], Plant(p[2]), tension_max)
        course = fraction**2 * (3.0 - 2.0 * fraction)
        pulls = first + (last - first) * course
        angles = model.equilibrium(pulls, Plant(p[2]))
        speeds = np.gradient(angles, horizon / (len(fraction) - 1), axis=1)
        return np.column_stack([*angles, *speeds, pulls])

    def error(x: Symbol, z: Symbol, p: Symbol) -> Symbol:
        return residual_motion(model, [x[i] for i in range(2 * n + 1)], p[1], Plant(p[2]), rate)

    return OptimalControlProblem(
        name="chain",
        states=[
            *(Variable(f"angle {i + 1} [rad]") for i in range(n)),
            *(Variable(f"speed {i + 1} [rad/{time}]") for i in range(n)),
            Variable(f"tension [{force}]", 0.0, tension_max),
        ],
        inputs=[Variable(f"rate of the tension [{force}/{time}]", -rate_max, rate_max)],
        parameters=[
            Parameter(f"tension at the start [{force}]", *tension),
            Parameter(f"goal [{length}]", *goal),
            Parameter(f"payload [{mass}]", *payload),
        ],
        design=[Variable(f"angle {i + 1} at the start [rad]", guess=0.2) for i in range(n)],
        dynamics=dynamics,
        initial=lambda z, p: [*(z[i] for i in range(n)), *zero_speeds, p[0]],
        terminal=terminal,
        cost=lambda x, u, z, p: (u[0] / rate_scale) ** 2,
        guess=guess,
        error=error,
        tolerance=tolerance,
        terminal_tolerances=(3 * n + 1) * [tolerance / sum(model.lengths)],
        margin=0.0,  # the tension is linear between instants
        plant=model.numbers,
        error_unit=length,
        horizon=horizon,
        intervals=intervals,
        steps=steps,
    )


def rest_tension(model: ChainModel, aside: float, plant: Plant, tension_max: float) -> float:
    """Solve for the tension at which the tip rests at a displacement, by bisection [force]."""
    low, high = 0.0, tension_max
    for _ in range(40):
        middle = 0.5 * (low + high)
        tip_aside = float(model.tip(list(model.equilibrium(middle, plant)), middle)[1])
        low, high = (middle, high) if tip_aside < aside else (low, middle)
    return 0.5 * (low + high)


def swing_rate(model: ChainModel, tension: float, plant: Plant) -> float:
    """Return the angular frequency of the slowest undamped swing at rest [rad / time]."""
    n, angle_step = model.count, 1e-6
    angles = model.equilibrium(tension, plant)
    at_rest = np.array(model.acceleration(list(angles), n * [0.0], tension, plant))
    changes = []
    for i in range(n):
        displaced = angles + angle_step * (np.arange(n) == i)
        changes.append(np.array(model.acceleration(list(displaced), n * [0.0], tension, plant)))
    squares = np.linalg.eigvals(-(np.array(changes) - at_rest).T / angle_step).real
    if not squares.min() > 0.0:
        raise ValueError(
            f"The chain has no stable equilibrium at a tension of {tension:.4g} and a payload of "
            f"{plant.payload:.4g}: it buckles. Allow less payload."
        )
    return float(np.sqrt(squares.min()))


def residual_motion(
    model: ChainModel, x: Symbol, goal: Symbol, plant: Plant, rate: float
) -> Symbol:
    """Return the largest later distance to the goal at constant tension, as for one swing [length].

    The tip rests at y + y'' / w^2 and swings about it; damping is neglected.
    """
    n = model.count
    y, speed, acceleration = model.tip_motion(x[:n], x[n : 2 * n], x[2 * n], plant)
    rest_distance = acceleration / rate**2
    return abs(y + rest_distance - goal) + (rest_distance**2 + (speed / rate) ** 2) ** 0.5


def tension_command(model: ChainModel, horizon: float) -> Callable[[Motion, float], np.ndarray]:
    """Return the `command` of a LibraryController for this problem: the tension.

    Each step gets the tension at its end, as implicit Euler does, so the last one is the rest
    tension.
    """

    def command(motion: Motion, fraction: float) -> np.ndarray:
        ends = np.linspace(0.0, 1.0, len(motion.x))
        return np.array(
            [np.interp(fraction + model.dt / horizon, ends, motion.x[:, 2 * model.count])]
        )

    return command


def rollout(
    model: ChainModel,
    angles: np.ndarray,
    speeds: np.ndarray,
    tension: np.ndarray,
    plant: Plant,
    *,
    dt: float,
    steps: int = 1,
) -> np.ndarray:
    """Integrate chains under a tension that is linear between samples.

    Args:
        model: Chain, or chains if its constants are arrays.
        angles: Angles at the start, shape (n, ...).
        speeds: Speeds at the start, shape (n, ...).
        tension: Tension at each sample, shape (K + 1, ...) [force].
        plant: Payload and factors: numbers, or arrays of the chains' shape.
        dt: Time from sample to sample [time].
        steps: Number of RK4 steps per sample.

    Returns:
        Angles, then speeds, shape (K + 1, 2 n, ...); not finite for a chain whose steps are too
        long.
    """
    n, h = model.count, dt / steps
    x: Any = np.concatenate((angles, speeds))
    states = np.empty((len(tension), *x.shape))
    states[0] = x

    def slope(first: Any, last: Any) -> Slope:
        """Return the rates within a step, from the tensions at its start and end."""

        def rates(x: list[Any], fraction: float) -> list[Any]:
            force = first + fraction * (last - first)
            return [*x[n:], *model.acceleration(x[:n], x[n:], force, plant)]

        return rates

    with np.errstate(over="ignore", invalid="ignore"):
        for k, (begin, end) in enumerate(pairwise(tension)):
            forces = [begin + i / steps * (end - begin) for i in range(steps + 1)]
            for first, last in pairwise(forces):
                x = rk4(slope(first, last), x, h)
            states[k + 1] = x
    return states


def finite_difference_jacobian(
    residuals: Callable[[np.ndarray], np.ndarray], unknowns: np.ndarray, step: float = 1e-6
) -> np.ndarray:
    """Return a Jacobian by forward differences, with one call for all columns."""
    values = residuals(
        unknowns[:, None] + step * np.column_stack([np.zeros_like(unknowns), np.eye(len(unknowns))])
    )
    return np.asarray((values[:, 1:] - values[:, :1]) / step)
