"""Steps of many swimmers at once, from fluid at rest, driven by torques. Compiled.

The steps are those of plans (`planning.swimming`), in the angles alone: with zero momentum of body
and fluid, V = -N_VV^-1 N_Vq dq, and with the joint momenta P at the instants

    (N xi)_j - dt xi^T M_j(q)  xi / 4 = P_j + dt (u_j - b dq_j)
    P+_j = (N xi)_j + dt xi^T M_j(q+) xi / 4                       N = (M(q) + M(q+)) / 2

Newton's method solves the first line for dq: n unknowns, whatever the fluid costs. Where it leaves
the map, it goes half the way back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from softctl_swimmer.motion.se3 import cayley
from softctl_swimmer.planning.motion_map import MassMap

ITERATIONS, TOLERANCE = 30, 1e-9
"""Of Newton's method: at most; and of the joint momenta over their size in a step."""


@dataclass(frozen=True, eq=False)
class Swimmers:
    """m swimmers at an instant."""

    position: np.ndarray
    """Of link 0 [m], shape (m, 3)."""
    rotation: np.ndarray
    """Of link 0, shape (m, 3, 3)."""
    angles: np.ndarray
    """Of the hinges [rad], shape (m, n)."""
    momenta: np.ndarray
    """P, conjugate to the angles [kg m^2/s], shape (m, n)."""


def rates_of(masses: MassMap, angles: np.ndarray, momenta: np.ndarray) -> np.ndarray:
    """Joint rates dq [rad/s] of momenta at instants, shape (m, n)."""
    found = np.empty_like(momenta)
    _rates(masses.at(angles).value, momenta, found)
    return found


def momenta_of(masses: MassMap, angles: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """The inverse of `rates_of`."""
    found = np.empty_like(rates)
    _momenta(masses.at(angles).value, rates, found)
    return found


def stroke(
    masses: MassMap,
    now: Swimmers,
    torques: np.ndarray,
    dt: float,
    damping: float = 0.0,
    guess: np.ndarray | None = None,
) -> tuple[Swimmers, np.ndarray]:
    """A step of each swimmer.

    Args:
        masses: Angles to entries of the mass matrix, interpolated or exact.
        now: The swimmers.
        torques: Impulses of the joints at the instant over dt [N m], shape (m, n).
        dt: Time step [s].
        damping: Of each hinge [N m s/rad].
        guess: Joint rates where Newton's method begins, such as those on a map, shape (m, n).

    Returns:
        The swimmers at its end, and whether the equations of each were solved, shape (m,): they are
        not where the angles at its end are outside the map.
    """
    m = len(now.angles)
    here = masses.at(now.angles)
    rates = np.empty_like(now.momenta)
    _rates(here.value, now.momenta + dt * torques, rates)
    if guess is not None:
        rates = np.where(np.isfinite(guess), guess, rates)
    known = np.zeros_like(rates)  # the last ones whose angles were on the map
    twists, after = np.zeros((m, 6)), np.zeros_like(rates)
    solved = np.zeros(m, bool)
    waiting = np.arange(m)
    for _ in range(ITERATIONS):
        ahead = masses.at(now.angles[waiting] + dt * rates[waiting])
        done = np.zeros(len(waiting), bool)
        own, within = rates[waiting], known[waiting]
        twist, momenta = np.empty((len(waiting), 6)), np.empty((len(waiting), rates.shape[1]))
        _newton(
            here.value[waiting],
            here.gradient[waiting],
            ahead.value,
            ahead.gradient,
            now.momenta[waiting],
            torques[waiting],
            dt,
            damping,
            own,
            within,
            twist,
            momenta,
            done,
        )
        rates[waiting], known[waiting] = own, within
        twists[waiting], after[waiting] = twist, momenta
        solved[waiting] = done
        waiting = waiting[~done & np.isfinite(own).all(axis=1)]
        if not len(waiting):
            break
    position, rotation = np.empty_like(now.position), np.empty_like(now.rotation)
    _move(now.position, now.rotation, dt * twists, position, rotation)
    return Swimmers(position, rotation, now.angles + dt * rates, after), solved


@njit(cache=True)
def _unpacked(entries, M):
    """A symmetric matrix from its lower triangle, row by row."""
    k = 0
    for i in range(len(M)):
        for j in range(i + 1):
            M[i, j] = M[j, i] = entries[k]
            k += 1


@njit(cache=True)
def _reduced(M):
    """M of the hinges where link 0 follows, and V for unit rates, shapes (n, n) and (6, n)."""
    follow = -np.linalg.solve(np.ascontiguousarray(M[:6, :6]), np.ascontiguousarray(M[:6, 6:]))
    return M[6:, 6:] + np.ascontiguousarray(M[6:, :6]) @ follow, follow


@njit(cache=True)
def _rates(entries, momenta, rates):
    size = 6 + momenta.shape[1]
    M = np.empty((size, size))
    for p in range(len(entries)):
        _unpacked(entries[p], M)
        rates[p] = np.linalg.solve(_reduced(M)[0], momenta[p])


@njit(cache=True)
def _momenta(entries, rates, momenta):
    size = 6 + rates.shape[1]
    M = np.empty((size, size))
    for p in range(len(entries)):
        _unpacked(entries[p], M)
        momenta[p] = _reduced(M)[0] @ rates[p]


@njit(cache=True)
def _newton(
    here,
    here_slope,
    ahead,
    ahead_slope,
    before,
    torques,
    dt,
    damping,
    rates,
    known,
    twist,
    after,
    done,
):
    """Look at each swimmer's equations at its rates, and improve these where they do not hold.

    Rates that lead outside the map are moved half the way back to the last ones that did not.
    """
    n = rates.shape[1]
    size = 6 + n
    N = np.empty((size, size))
    slope, ahead_M = np.empty((n, size, size)), np.empty((n, size, size))
    for p in range(len(rates)):
        if not np.isfinite(ahead[p, 0]):
            rates[p] = 0.5 * (rates[p] + known[p])
            continue
        known[p] = rates[p]
        _unpacked(0.5 * (here[p] + ahead[p]), N)
        for j in range(n):
            _unpacked(here_slope[p, :, j], slope[j])
            _unpacked(ahead_slope[p, :, j], ahead_M[j])
        _, follow = _reduced(N)
        xi = np.empty(size)
        xi[:6] = follow @ rates[p]
        xi[6:] = rates[p]
        momenta = N @ xi
        lack = np.empty(n)
        worst, scale = 0.0, 0.0
        for j in range(n):
            bend = 0.25 * dt * (xi @ (slope[j] @ xi))
            force = dt * (torques[p, j] - damping * rates[p, j])
            lack[j] = momenta[6 + j] - bend - before[p, j] - force
            worst = max(worst, abs(lack[j]))
            scale = max(scale, abs(momenta[6 + j]) + abs(before[p, j]) + abs(force))
            after[p, j] = momenta[6 + j] + 0.25 * dt * (xi @ (ahead_M[j] @ xi))
        twist[p] = xi[:6]
        if worst <= TOLERANCE * scale or scale == 0.0:
            done[p] = True
            continue
        jacobian = np.empty((n, n))
        inner = np.ascontiguousarray(N[:6, :6])
        for k in range(n):
            bent = 0.5 * dt * (ahead_M[k] @ xi)
            change = np.zeros(size)
            change[6 + k] = 1.0
            change[:6] = -np.linalg.solve(inner, N[:6, 6 + k] + bent[:6])
            by_rate = N @ change + bent
            for j in range(n):
                jacobian[j, k] = by_rate[6 + j] - 0.5 * dt * (xi @ (slope[j] @ change))
            jacobian[k, k] += dt * damping
        rates[p] -= np.linalg.solve(jacobian, lack)


@njit(cache=True)
def _move(position, rotation, twist, moved, turned):
    """Move poses by the Cayley maps of twists."""
    for p in range(len(position)):
        turn, shift = cayley(twist[p])
        own = np.ascontiguousarray(rotation[p])
        moved[p] = position[p] + own @ shift
        turned[p] = own @ np.ascontiguousarray(turn)
