"""Steps of many swimmers at once, from fluid at rest, driven by torques. Compiled.

The steps are the same as in plans (`planning.swimming`), in the angles only: with zero momentum of
body and fluid, V = -N_VV^-1 N_Vq dq, and with the joint momenta P at the instants

    (N xi)_j - dt xi^T M_j(q)  xi / 4 = P_j + dt (u_j - b dq_j)
    P+_j = (N xi)_j + dt xi^T M_j(q+) xi / 4                       N = (M(q) + M(q+)) / 2

Newton's method solves the first line for the n unknowns dq. If it leaves the map, its step is
halved.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from softctl_swimmer.motion.se3 import cayley
from softctl_swimmer.planning.motion_map import MassMap

ITERATIONS, TOLERANCE = 30, 1e-9
"""Largest number of Newton iterations; relative tolerance of the joint momenta [-]."""


@dataclass(frozen=True, eq=False)
class Swimmers:
    """State of m swimmers at an instant."""

    position: np.ndarray
    """Position of link 0 [m], shape (m, 3)."""
    rotation: np.ndarray
    """Rotation of link 0, shape (m, 3, 3)."""
    angles: np.ndarray
    """Angles of the hinges [rad], shape (m, n)."""
    momenta: np.ndarray
    """Momenta P, conjugate to the angles [kg m^2/s], shape (m, n)."""


def rates_of(masses: MassMap, angles: np.ndarray, momenta: np.ndarray) -> np.ndarray:
    """Return the joint rates dq [rad/s] of momenta at instants, shape (m, n)."""
    rates = np.empty_like(momenta)
    _rates(masses.at(angles).value, momenta, rates)
    return rates


def momenta_of(masses: MassMap, angles: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Return the momenta of joint rates, the inverse of `rates_of`."""
    momenta = np.empty_like(rates)
    _momenta(masses.at(angles).value, rates, momenta)
    return momenta


def stroke(
    masses: MassMap,
    now: Swimmers,
    torques: np.ndarray,
    dt: float,
    damping: float = 0.0,
    guess: np.ndarray | None = None,
) -> tuple[Swimmers, np.ndarray]:
    """Advance each swimmer by a step.

    Args:
        masses: Angles to entries of the mass matrix, interpolated or exact.
        now: Swimmers at the start of the step.
        torques: Impulses of the joints at the instant over dt [N m], shape (m, n).
        dt: Time step [s].
        damping: Damping of each hinge [N m s/rad].
        guess: Joint rates where Newton's method begins, such as those on a map, shape (m, n).

    Returns:
        The swimmers at its end, and whether the equations of each were solved, shape (m,): they are
        not where the angles at its end are outside the map.
    """
    m = len(now.angles)
    jet = masses.at(now.angles)
    rates = np.empty_like(now.momenta)
    _rates(jet.value, now.momenta + dt * torques, rates)
    if guess is not None:
        rates = np.where(np.isfinite(guess), guess, rates)
    valid_rates = np.zeros_like(rates)  # the last ones whose angles were on the map
    twists, after = np.zeros((m, 6)), np.zeros_like(rates)
    all_solved = np.zeros(m, bool)
    unsolved = np.arange(m)
    for _ in range(ITERATIONS):
        jet_next = masses.at(now.angles[unsolved] + dt * rates[unsolved])
        is_solved = np.zeros(len(unsolved), bool)
        trial_rates, trial_valid_rates = rates[unsolved], valid_rates[unsolved]
        twist, momenta = np.empty((len(unsolved), 6)), np.empty((len(unsolved), rates.shape[1]))
        _newton(
            jet.value[unsolved],
            jet.gradient[unsolved],
            jet_next.value,
            jet_next.gradient,
            now.momenta[unsolved],
            torques[unsolved],
            dt,
            damping,
            trial_rates,
            trial_valid_rates,
            twist,
            momenta,
            is_solved,
        )
        rates[unsolved], valid_rates[unsolved] = trial_rates, trial_valid_rates
        twists[unsolved], after[unsolved] = twist, momenta
        all_solved[unsolved] = is_solved
        unsolved = unsolved[~is_solved & np.isfinite(trial_rates).all(axis=1)]
        if not len(unsolved):
            break
    position, rotation = np.empty_like(now.position), np.empty_like(now.rotation)
    _move(now.position, now.rotation, dt * twists, position, rotation)
    return Swimmers(position, rotation, now.angles + dt * rates, after), all_solved


@njit(cache=True)
def _unpack(entries, M):
    """Fill a symmetric matrix from its lower triangle, row by row."""
    k = 0
    for i in range(len(M)):
        for j in range(i + 1):
            M[i, j] = M[j, i] = entries[k]
            k += 1


@njit(cache=True)
def _reduce(M):
    """Return M of the hinges for a free link 0, and V for unit rates, shapes (n, n) and (6, n)."""
    follow = -np.linalg.solve(np.ascontiguousarray(M[:6, :6]), np.ascontiguousarray(M[:6, 6:]))
    return M[6:, 6:] + np.ascontiguousarray(M[6:, :6]) @ follow, follow


@njit(cache=True)
def _rates(entries, momenta, rates):
    size = 6 + momenta.shape[1]
    M = np.empty((size, size))
    for p in range(len(entries)):
        _unpack(entries[p], M)
        rates[p] = np.linalg.solve(_reduce(M)[0], momenta[p])


@njit(cache=True)
def _momenta(entries, rates, momenta):
    size = 6 + rates.shape[1]
    M = np.empty((size, size))
    for p in range(len(entries)):
        _unpack(entries[p], M)
        momenta[p] = _reduce(M)[0] @ rates[p]


@njit(cache=True)
def _newton(
    entries,
    slopes,
    entries_next,
    slopes_next,
    momenta_before,
    torques,
    dt,
    damping,
    rates,
    valid_rates,
    twist,
    momenta_after,
    is_solved,
):
    """Check each swimmer's equations at its rates, and improve unsolved ones by a Newton step.

    Rates that lead outside the map are replaced by the mean with the last valid ones.
    """
    n = rates.shape[1]
    size = 6 + n
    N = np.empty((size, size))
    slope, ahead_M = np.empty((n, size, size)), np.empty((n, size, size))
    for p in range(len(rates)):
        if not np.isfinite(entries_next[p, 0]):
            rates[p] = 0.5 * (rates[p] + valid_rates[p])
            continue
        valid_rates[p] = rates[p]
        _unpack(0.5 * (entries[p] + entries_next[p]), N)
        for j in range(n):
            _unpack(slopes[p, :, j], slope[j])
            _unpack(slopes_next[p, :, j], ahead_M[j])
        _, follow = _reduce(N)
        xi = np.empty(size)
        xi[:6] = follow @ rates[p]
        xi[6:] = rates[p]
        momenta = N @ xi
        residual = np.empty(n)
        worst, scale = 0.0, 0.0
        for j in range(n):
            bend = 0.25 * dt * (xi @ (slope[j] @ xi))
            force = dt * (torques[p, j] - damping * rates[p, j])
            residual[j] = momenta[6 + j] - bend - momenta_before[p, j] - force
            worst = max(worst, abs(residual[j]))
            scale = max(scale, abs(momenta[6 + j]) + abs(momenta_before[p, j]) + abs(force))
            momenta_after[p, j] = momenta[6 + j] + 0.25 * dt * (xi @ (ahead_M[j] @ xi))
        twist[p] = xi[:6]
        if worst <= TOLERANCE * scale or scale == 0.0:
            is_solved[p] = True
            continue
        jacobian = np.empty((n, n))
        inner = np.ascontiguousarray(N[:6, :6])
        for k in range(n):
            half_slope = 0.5 * dt * (ahead_M[k] @ xi)
            change = np.zeros(size)
            change[6 + k] = 1.0
            change[:6] = -np.linalg.solve(inner, N[:6, 6 + k] + half_slope[:6])
            by_rate = N @ change + half_slope
            for j in range(n):
                jacobian[j, k] = by_rate[6 + j] - 0.5 * dt * (xi @ (slope[j] @ change))
            jacobian[k, k] += dt * damping
        rates[p] -= np.linalg.solve(jacobian, residual)


@njit(cache=True)
def _move(position, rotation, twist, moved, turned):
    """Move poses by the Cayley maps of twists."""
    for p in range(len(position)):
        rotation_change, shift = cayley(twist[p])
        R = np.ascontiguousarray(rotation[p])
        moved[p] = position[p] + R @ shift
        turned[p] = R @ np.ascontiguousarray(rotation_change)
