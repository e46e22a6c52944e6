"""Residuals of the contact law."""

from __future__ import annotations

import numpy as np

from sofa_softctl.qpcc.pieces.kernels import distances
from sofa_softctl.qpcc.pieces.mechanics import Mechanics


def law_error(mechanics: Mechanics, effort: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Distance of each contact from its law, relative to `Mechanics.size` [-], shape (n_c,).

    Zero if and only if the law is obeyed. Per contact the largest of

        normal       |min(lam_n, delta_n)|: interpenetration, pulling, or force across a gap
        tangential   |lam_t - P(lam_t - delta_t)| with P the projection onto the friction disc

    and without a cone ("sticking") the smaller of the distances from being inactive and sticking.
    In units of energy lam and delta have the same unit, and the compliance of each row is one.

    Args:
        mechanics: The mechanics.
        effort: Efforts in units of energy, shape (n_a,).
        force: Contact forces in units of energy, shape (n_r,).

    Source: the natural map of the complementarity problem, Facchinei and Pang 2003, section 1.5.
    """
    m = mechanics
    delta = m.delta_c(effort, force)
    error = distances(force, delta, m.mu, np.asarray(m.contacts.starts), m.sticking)
    return error / m.size


def cone_violation(mechanics: Mechanics, force: np.ndarray) -> float:
    """Largest excess of |lam_t| over mu lam_n, relative to `Mechanics.size` [-].

    Zero for sticking contacts, which have no cone.
    """
    m = mechanics
    if m.sticking or not m.rough.any():
        return 0.0
    n = m.contacts.starts[m.rough]
    excess = np.hypot(force[n + 1], force[n + 2]) - m.mu[m.rough] * force[n]
    return max(0.0, float(excess.max())) / m.size


def complementarity(mechanics: Mechanics, effort: np.ndarray, force: np.ndarray) -> float:
    """Largest |lam_n delta_n|, relative to the square of `Mechanics.size` [-]."""
    n = mechanics.contacts.starts
    product = force[n] * mechanics.delta_c(effort, force)[n]
    return float(np.abs(product).max()) / mechanics.size**2
