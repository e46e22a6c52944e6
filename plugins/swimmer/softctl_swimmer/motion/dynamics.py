"""Free swimming: bodies and fluid with constant total momentum, joints driven by torques.

With xi = (twist V of link 0 in its frame, joint rates) the total kinetic energy is
xi^T M(q) xi / 2: the fluid term of eq. (3) of Jia, Pan, Manocha is part of M. The conjugate momenta
(p, pi) = M xi obey the equations of Kirchhoff for the base and of Lagrange for the joints,

    dp/dt = ad*_V p        (the momentum in space is constant: nothing holds the swimmer)
    dpi/dt = xi^T dM/dq xi / 2 + u - c dq/dt

Source: Lamb 1932, ch. VI; Kanso, Marsden, Rowley, Melli-Huber 2005, J. Nonlinear Sci. 15.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sofa_softctl.errors import SimulationError, UsageError
from softctl_swimmer.motion.inertia import Inertia
from softctl_swimmer.motion.se3 import (
    body_momentum,
    cayley,
    coadjoint,
    dcay_inv_transpose,
    spatial_momentum,
)

ROUNDING = 256 * np.finfo(float).eps
"""Residual of a step's equations, relative to the momenta in it, that counts as solved."""


@dataclass(frozen=True)
class State:
    """Position and momenta of a swimmer; the fluid has no separate state."""

    rotation: np.ndarray
    """Rotation of link 0's frame in space, shape (3, 3)."""
    position: np.ndarray
    """Position of link 0's origin [m], shape (3,)."""
    angles: np.ndarray
    """Angles of the hinges [rad], shape (n,)."""
    momentum: np.ndarray
    """Total linear [kg m/s] and angular [kg m^2/s] momentum of body and fluid (its impulse) in
    space, the latter about the fixed origin, shape (6,)."""
    joint_momentum: np.ndarray
    """Momenta conjugate to the angles [kg m^2/s], shape (n,)."""


@dataclass(frozen=True)
class Step:
    """Result of one time step."""

    state: State
    """State at the end of the step."""
    velocity: np.ndarray
    """Velocity xi in the middle of the step [m/s, rad/s], shape (6 + n,)."""
    iterations: int
    """Number of Newton iterations, each an evaluation of the inertia."""
    residual: float
    """Residual, relative to the momenta [-]."""


def at_rest(angles: np.ndarray) -> State:
    """Return a swimmer at rest in fluid at rest, with link 0's frame equal to that in space."""
    angles = np.array(angles, dtype=float)
    return State(np.eye(3), np.zeros(3), angles, np.zeros(6), np.zeros_like(angles))


def state_with_velocity(
    inertia: Inertia,
    angles: np.ndarray,
    velocity: np.ndarray,
    *,
    rotation: np.ndarray | None = None,
    position: np.ndarray | None = None,
) -> State:
    """Return a swimmer with a given velocity.

    Args:
        inertia: Inertia of bodies and fluid.
        angles: Angles of the hinges [rad], shape (n,).
        velocity: xi [m/s, rad/s], shape (6 + n,).
        rotation: Rotation of link 0, shape (3, 3), by default the identity.
        position: Position of link 0 [m], shape (3,), by default the origin.

    Raises:
        UsageError: The velocity is not finite, or `rotation` is not a rotation.
    """
    angles = np.array(angles, dtype=float)
    rotation = np.eye(3) if rotation is None else np.array(rotation, dtype=float)
    position = np.zeros(3) if position is None else np.array(position, dtype=float)
    if not np.isfinite(velocity).all():
        raise UsageError(f"The velocity is {np.asarray(velocity).tolist()}; expected numbers.")
    if not np.allclose(rotation @ rotation.T, np.eye(3)) or np.linalg.det(rotation) < 0.0:
        raise UsageError(f"{rotation.tolist()} is not a rotation: R R^T is not 1, or det R is -1.")
    momenta = inertia.at(angles)[0] @ velocity
    spatial = spatial_momentum(rotation, position, momenta[:6])
    return State(rotation, position, angles, spatial, momenta[6:])


def velocity_of(inertia: Inertia, state: State) -> np.ndarray:
    """Return xi of a state [m/s, rad/s], shape (6 + n,)."""
    return np.linalg.solve(inertia.at(state.angles)[0], _momenta(state))


def energy_of(inertia: Inertia, state: State) -> float:
    """Return the total kinetic energy of body and fluid [J]."""
    return 0.5 * float(_momenta(state) @ velocity_of(inertia, state))


def midpoint_step(
    inertia: Inertia,
    state: State,
    torques: np.ndarray,
    dt: float,
    *,
    damping: np.ndarray | float = 0.0,
    guess: np.ndarray | None = None,
    tolerance: float = ROUNDING,
    max_iterations: int = 50,
) -> Step:
    """Advance by a step of a variational integrator of second order on the Lie group.

        The discrete Lagrangian is dt xi^T M(q_mid) xi / 2, q_mid the mean of the angles at both
        ends, the base moved by the Cayley map of dt V. It is symplectic and symmetric under rigid
        motions:
    the momentum in space is constant up to rounding, for any step and torques, and
        without torques and damping the energy does not drift. Reversing time reverses a step.

    Args:
            inertia: Inertia of bodies and fluid.
            state: State at the start.
            torques: Torques of the joints [N m], constant over the step, shape (n,).
            dt: Length of the step [s]; a negative one goes backward.
            damping: Damping of the joints [N m s/rad], one for all or shape (n,).
            guess: Start value of xi, such as the last step's; by default xi of the state.
            tolerance: Residual that counts as solved, relative to the momenta. A larger one saves
                evaluations of the inertia, and costs energy and reversal, but no momentum in space.
            max_iterations: Largest number of iterations.

    Raises:
            SimulationError: The equations were not solved; the step is too long.
            UsageError: Torques are not n finite numbers, or a damping is negative.

        Source: Bou-Rabee, Marsden 2009; Kobilarov, Marsden 2011 (see `se3`). Newton's matrix leaves
        out the second derivatives of M, of the order dt^2; Broyden's updates make up for them.
    """
    base = body_momentum(state.rotation, state.position, state.momentum)
    start = np.concatenate([base, state.joint_momentum])
    torques, damping = np.asarray(torques, dtype=float), np.asarray(damping, dtype=float)
    _check_forces(torques, damping, len(state.angles))
    xi = velocity_of(inertia, state) if guess is None else np.array(guess, dtype=float)
    best, stalled = np.inf, 0
    correction, change = np.zeros((len(xi), len(xi))), None
    for iteration in range(1, max_iterations + 1):
        M, dM = inertia.at(state.angles + dt / 2 * xi[6:])
        momenta, slope = M @ xi, np.einsum("cdj,d->cj", dM, xi)  # slope = d(M xi)/dq
        image, B, D = dcay_inv_transpose(dt * xi[:6], momenta[:6])
        force = 0.5 * xi @ slope + torques - damping * xi[6:]
        residual = np.concatenate([image, momenta[6:] - dt / 2 * force]) - start
        size = np.abs(M) @ np.abs(xi) + np.abs(start) + np.finfo(float).tiny
        size[6:] += abs(dt) * np.abs(torques)
        relative = float(np.abs(residual).max() / size.max())
        if relative <= tolerance:
            return Step(_end(state, xi, momenta[6:] + dt / 2 * force, dt), xi, iteration, relative)
        if change is not None:  # Broyden's update: what the matrix of the last change missed
            correction += np.outer(residual, change) / (change @ change)
        stalled = stalled + 1 if relative > 0.5 * best else 0
        best = min(best, relative)
        if stalled >= 5 or not np.isfinite(relative):
            break
        jacobian = M.copy()
        jacobian[:, 6:] += dt / 2 * slope
        jacobian[:6] = B @ jacobian[:6]
        jacobian[:6, :6] += dt * D
        jacobian[6:] -= dt / 2 * slope.T
        jacobian[6:, 6:] += dt / 2 * np.diag(np.broadcast_to(damping, torques.shape))
        jacobian += correction
        change = -np.linalg.solve(jacobian, residual)
        xi = xi + change
    raise SimulationError(
        f"A step of {dt:g} s was not solved after {iteration} iterations: residual {best:.2g} of "
        f"the momenta, expected {tolerance:.2g}. Joint rates are {xi[6:].tolist()} rad/s: try a "
        "shorter step or smaller torques."
    )


def euler_step(
    inertia: Inertia,
    state: State,
    torques: np.ndarray,
    dt: float,
    *,
    damping: np.ndarray | float = 0.0,
) -> Step:
    """Advance by the explicit step of Jia, Pan, Manocha, eq. (4), of first order, for comparison.

    Accelerations at the start, (x_i+1 - 2 x_i + x_i-1) / dt^2 of the paper, change the velocity;
    the new velocity moves the swimmer. Momentum and energy drift with the order of the step.
    `iterations` is 2, the evaluations of the inertia; `velocity` the new one.

    Args:
        inertia: Inertia of bodies and fluid.
        state: State at the start.
        torques: Torques of the joints [N m], shape (n,).
        dt: Length of the step [s].
        damping: Damping of the joints [N m s/rad], one for all or shape (n,).
    """
    M, dM = inertia.at(state.angles)
    momenta = _momenta(state)
    xi = np.linalg.solve(M, momenta)
    slope = np.einsum("cdj,d->cj", dM, xi)
    rate = np.concatenate(
        [coadjoint(xi[:6], momenta[:6]), 0.5 * xi @ slope + torques - damping * xi[6:]]
    )
    xi = xi + dt * np.linalg.solve(M, rate - slope @ xi[6:])
    rotation, position = _move_base(state, xi, dt)
    angles = state.angles + dt * xi[6:]
    return Step(
        state_with_velocity(inertia, angles, xi, rotation=rotation, position=position), xi, 2, 0.0
    )


def _momenta(state: State) -> np.ndarray:
    base = body_momentum(state.rotation, state.position, state.momentum)
    return np.concatenate([base, state.joint_momentum])


def _move_base(state, xi, dt):
    turn, shift = cayley(dt * xi[:6])
    return state.rotation @ turn, state.position + state.rotation @ shift


def _check_forces(torques: np.ndarray, damping: np.ndarray, n: int) -> None:
    """Raise UsageError unless torques and damping fit n hinges."""
    if torques.shape != (n,) or not np.isfinite(torques).all():
        raise UsageError(f"Torques are {torques.tolist()}; expected {n} finite numbers [N m].")
    if damping.shape not in ((), (n,)) or not (damping >= 0.0).all():
        raise UsageError(
            f"Damping is {damping.tolist()}; expected a number from 0 on, or {n} [N m s/rad]."
        )


def _end(state, xi, joint_momentum, dt):
    """Return the state at the end of a step, with the same momentum in space as at the start."""
    rotation, position = _move_base(state, xi, dt)
    return State(rotation, position, state.angles + dt * xi[6:], state.momentum, joint_momentum)
