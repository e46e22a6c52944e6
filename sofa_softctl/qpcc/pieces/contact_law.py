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
    return distances(force, m.delta_c(effort, force), m.mu, m.starts, m.sticking) / m.size
