"""Motions of a chain from rest to rest, as an optimal control problem.

Motions of chains, many at once, and slopes by finite differences.
"""

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
    """From rest under one tension to rest with the tip at a goal, with least mean T'^2.

    State: the links' angles, their speeds, the tension T; input: T'. Constants z: the angles at the
    start, where the chain is at rest. Parameters: [tension at the start, displacement of the tip
    aside at the end, payload]. The tension may stay as it is afterwards.

    Args:
        model: The chain.
        horizon: Duration of a motion [time].
        tension: Least and largest tension at the start [force].
        goal: Least and largest displacement at the end [length].
        payload: Least and largest payload [mass].
        tension_max: Largest tension; a cable only pulls, so the least is 0 [force].
        rate_max: Largest rate of the tension, both ways [force / time].
        tolerance: Largest distance from the goal after the motion [length].
        units: Units of the model, such as "mm, kg, s", for the names of the variables.
        intervals: Number of intervals.
        steps: Steps of integration an interval.
    """
    given = None if units is None else Units.parse(units)
    length, force, mass, time = (
        symbol(given, each) for each in ("length", "force", "mass", "time")
    )
    n, usual = model.count, tension_max / horizon
    torque = model.stiffness[0]  # scale of torques: that of a bending of 1 rad
    rate = swing_rate(model, 0.5 * sum(tension), Plant(0.5 * sum(payload)))
    still = n * [0.0]

    def split(x: Symbol) -> tuple[list[Symbol], list[Symbol], Symbol]:
        return [x[i] for i in range(n)], [x[n + i] for i in range(n)], x[2 * n]

    def dynamics(x: Symbol, u: Symbol, z: Symbol, p: Symbol) -> list[Symbol]:
        angles, speeds, pull = split(x)
        return [*speeds, *model.acceleration(angles, speeds, pull, Plant(p[2])), u[0]]

    def balance(angles: list[Symbol], pull: Symbol, p: Symbol) -> list[Symbol]:
        return [each / torque for each in model.torques(angles, still, pull, Plant(p[2]))]

    def terminal(x: Symbol, z: Symbol, p: Symbol) -> list[Symbol]:
        angles, speeds, pull = split(x)
        begin = balance([z[i] for i in range(n)], p[0], p)
        tip = model.tip(angles, pull)[1] - p[1]
        arrived = tip / sum(model.lengths)
        return [*begin, arrived, *(each / rate for each in speeds), *balance(angles, pull, p)]

    def guess(p: np.ndarray, share: np.ndarray) -> np.ndarray:
        first, last = p[0], rest_tension(model, p[1], Plant(p[2]), tension_max)
        way = share**2 * (3.0 - 2.0 * share)
        pulls = first + (last - first) * way
        angles = model.equilibrium(pulls, Plant(p[2]))
        speeds = np.gradient(angles, horizon / (len(share) - 1), axis=1)
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
        initial=lambda z, p: [*(z[i] for i in range(n)), *still, p[0]],
        terminal=terminal,
        cost=lambda x, u, z, p: (u[0] / usual) ** 2,
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


def rest_tension(model: ChainModel, aside: float, plant: Plant, largest: float) -> float:
    """Tension at which the tip rests at a displacement aside, by bisection [force]."""
    low, high = 0.0, largest
    for _ in range(40):
        middle = 0.5 * (low + high)
        at = float(model.tip(list(model.equilibrium(middle, plant)), middle)[1])
        low, high = (middle, high) if at < aside else (low, middle)
    return 0.5 * (low + high)


def swing_rate(model: ChainModel, tension: float, plant: Plant) -> float:
    """Angular frequency of the slowest swing about the equilibrium, undamped [rad / time]."""
    n, tiny = model.count, 1e-6
    angles = model.equilibrium(tension, plant)
    at_rest = np.array(model.acceleration(list(angles), n * [0.0], tension, plant))
    slopes = []
    for i in range(n):
        moved = angles + tiny * (np.arange(n) == i)
        slopes.append(np.array(model.acceleration(list(moved), n * [0.0], tension, plant)))
    squares = np.linalg.eigvals(-(np.array(slopes) - at_rest).T / tiny).real
    if not squares.min() > 0.0:
        raise ValueError(
            f"The chain has no stable equilibrium at a tension of {tension:.4g} and a payload of "
            f"{plant.payload:.4g}: it buckles. Allow less payload."
        )
    return float(np.sqrt(squares.min()))


def residual_motion(
    model: ChainModel, x: Symbol, goal: Symbol, plant: Plant, rate: float
) -> Symbol:
    """Largest distance to the goal from now on at constant tension, as of one swing [length].

    The tip rests at y + y'' / w^2 and swings about it; damping is neglected.
    """
    n = model.count
    y, speed, acceleration = model.tip_motion(x[:n], x[n : 2 * n], x[2 * n], plant)
    away = acceleration / rate**2
    return abs(y + away - goal) + (away**2 + (speed / rate) ** 2) ** 0.5


def tension_command(model: ChainModel, horizon: float) -> Callable[[Motion, float], np.ndarray]:
    """`command` of a LibraryController for motions of this problem: the tension.

    That of the end of each step, as for implicit Euler; so the last one is that of rest.
    """

    def command(motion: Motion, share: float) -> np.ndarray:
        ends = np.linspace(0.0, 1.0, len(motion.x))
        return np.array([np.interp(share + model.dt / horizon, ends, motion.x[:, 2 * model.count])])

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
    """Angles and speeds of chains while the tension goes linearly from sample to sample.

    Args:
        model: The chain; its constants may be arrays, one a chain.
        angles: At the start, shape (n, ...).
        speeds: At the start, shape (n, ...).
        tension: At each sample, shape (K + 1, ...) [force].
        plant: Payload and factors, of one shape with the chains, or numbers.
        dt: Time from sample to sample [time].
        steps: Steps of the Runge-Kutta method of order four between two.

    Returns:
        Angles, then speeds, shape (K + 1, 2 n, ...); not finite where a chain's steps are too long.
    """
    n, h = model.count, dt / steps
    x: Any = np.concatenate((angles, speeds))
    seen = np.empty((len(tension), *x.shape))
    seen[0] = x

    def slope(first: Any, last: Any) -> Slope:
        """The rates in a step, from the tension at its start and that at its end."""

        def rates(x: list[Any], share: float) -> list[Any]:
            force = first + share * (last - first)
            return [*x[n:], *model.acceleration(x[:n], x[n:], force, plant)]

        return rates

    with np.errstate(over="ignore", invalid="ignore"):
        for k, (begin, end) in enumerate(pairwise(tension)):
            forces = [begin + i / steps * (end - begin) for i in range(steps + 1)]
            for first, last in pairwise(forces):
                x = rk4(slope(first, last), x, h)
            seen[k + 1] = x
    return seen


def slopes(
    misses: Callable[[np.ndarray], np.ndarray], at: np.ndarray, tiny: float = 1e-6
) -> np.ndarray:
    """Jacobian of a function of columns, by forward differences of all columns at once."""
    every = misses(at[:, None] + tiny * np.column_stack([np.zeros_like(at), np.eye(len(at))]))
    return np.asarray((every[:, 1:] - every[:, :1]) / tiny)
