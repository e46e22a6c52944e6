"""Dimensionless mechanics of a step with contacts.

With D = diag(1 / sqrt(W_ii)) over the rows of actuators and contacts, efforts lam = D l and
displacements delta = D^-1 d satisfy

    d = (D W D) l + D delta_free,      (D W D)_ii = 1

so that l and d are square roots of energies, whatever the units of the actuators. The cone
|lam_t| <= mu lam_n stays round if both tangents share a unit, with mu c_n / c_t in place of mu.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sofa_softctl.qpcc.pieces.gauss_seidel import contact_gauss_seidel
from sofa_softctl.qpcc.pieces.mechanics_kernels import in_units_of_energy, modes_of
from sofa_softctl.qpcc.problem.contacts import Contacts
from sofa_softctl.qpcc.problem.modes import Modes
from sofa_softctl.qpcc.problem.problem import InverseProblem


@dataclass(frozen=True, eq=False)
class Mechanics:
    """An inverse problem in units of energy: every compliance has the diagonal one.

    Efforts and displacements of a row are in units of 1 / sqrt(W_ii) and sqrt(W_ii), so both are
    square roots of energies, independent of the units of actuators, effectors and contacts. Both
    tangents of a contact share a unit, the friction cone stays round, with another mu.
    """

    problem: InverseProblem
    """The problem in the scene's units."""
    contacts: Contacts
    """Contacts of the problem."""
    a_unit: np.ndarray
    """Effort of a unit of each actuator [effort / sqrt(energy)], shape (n_a,)."""
    c_unit: np.ndarray
    """Force of a unit of each contact row [effort / sqrt(energy)], shape (n_r,)."""
    F_u: np.ndarray
    """The objective is 1/2 ||F_u u + F_c lam + f||^2: rows of the weighted effectors, then of the
    energy term; over actuators [displacement / sqrt(energy)], shape (p, n_a)."""
    F_c: np.ndarray
    """Over contacts [displacement / sqrt(energy)], shape (p, n_r)."""
    f: np.ndarray
    """Weighted effector error in the free motion, then zeros [displacement], shape (p,)."""
    W_aa: np.ndarray
    """Actuators over actuators [-], shape (n_a, n_a)."""
    W_ac: np.ndarray
    """Actuators over contacts [-], shape (n_a, n_r)."""
    W_cc: np.ndarray
    """Contacts over contacts [-], shape (n_r, n_r)."""
    c_free: np.ndarray
    """delta_c in the free motion [sqrt(energy)], shape (n_r,)."""
    mu: np.ndarray
    """Coefficient of friction in these units [-], 0 for a contact of one row, shape (n_c,)."""
    starts: np.ndarray
    """First row of each contact, shape (n_c,) of int."""
    size: float
    """Unit of residuals of the contact law: the largest delta_c [sqrt(energy)]."""
    indefinite: float = 0.0
    """Negative part of the least eigenvalue of the energy term's Hessian, relative to the largest,
    which was removed; 0 where that is rounding [-]."""

    @property
    def sticking(self) -> bool:
        """True if contacts stick without a cone."""
        return self.contacts.law.friction == "sticking"

    @property
    def free_objective(self) -> float:
        """Objective of the free motion [displacement^2]."""
        return 0.5 * float(self.f @ self.f)

    @property
    def law(self) -> tuple[np.ndarray, np.ndarray, bool, float]:
        """Parameters of the contact law: mu, starts, sticking and size."""
        return self.mu, self.starts, self.sticking, self.size

    def delta_c(self, effort: np.ndarray, force: np.ndarray) -> np.ndarray:
        """delta_c under efforts (n_a,) and contact forces (n_r,), all in units of energy."""
        return self.W_cc @ force + effort @ self.W_ac + self.c_free

    def objective(self, effort: np.ndarray, force: np.ndarray) -> float:
        """Objective of efforts (n_a,) and contact forces (n_r,), all in units of energy."""
        residual = self.F_u @ effort + self.F_c @ force + self.f
        return 0.5 * float(residual @ residual)


def build_mechanics(problem: InverseProblem, contacts: Contacts, effort: np.ndarray) -> Mechanics:
    """Dimensionless mechanics of a problem.

    Args:
        problem: The problem.
        contacts: Contacts of the problem, at least one.
        effort: A typical effort on the contacts [effort], shape (n_a,), for scale.
    """
    W_ea, W_aa, delta_e, _, weight, _ = problem.arrays
    arrays = in_units_of_energy(
        W_ea,
        W_aa,
        delta_e,
        weight,
        problem.in_energy,
        float(problem.energy),
        contacts.W_ec,
        contacts.W_ac,
        contacts.W_cc,
        contacts.delta_c_free,
        contacts.friction,
        contacts.energy,
        np.ascontiguousarray(effort),
    )
    return Mechanics(problem, contacts, *arrays)


GAUSS_SEIDEL_WORK_MAX = 1e7
"""Maximum number of multiplications of Gauss-Seidel, some milliseconds. Nearly dependent contacts,
as if there are many on a few nodes, take 1e5 sweeps, of which this leaves 1e4 for 10 contacts."""


def contact_forces(
    mechanics: Mechanics,
    effort: np.ndarray,
    start: np.ndarray | None = None,
    *,
    sweeps: int | None = None,
) -> tuple[np.ndarray, float]:
    """Contact forces at given efforts.

    Args:
        mechanics: The mechanics.
        effort: Efforts in units of energy, shape (n_a,).
        start: Forces to start from in units of energy, shape (n_r,).
        sweeps: Maximum number of Gauss-Seidel sweeps. Default: as many as `WORK` allows.

    Returns:
        The forces in units of energy, shape (n_r,), and their residual of the contact law [-].
    """
    m = mechanics
    force = np.zeros(len(m.c_free)) if start is None else np.array(start)
    sweeps_max = int(GAUSS_SEIDEL_WORK_MAX) // len(force) ** 2 if sweeps is None else sweeps
    _, error = contact_gauss_seidel(
        m.W_cc,
        m.c_free + effort @ m.W_ac,
        m.starts,
        m.mu,
        m.sticking,
        1e-9 * m.size,
        sweeps_max,
        force,
    )
    return force, error / m.size


def modes_at(mechanics: Mechanics, effort: np.ndarray, force: np.ndarray) -> Modes:
    """Contact modes at given efforts and forces, in units of energy.

    Args:
        mechanics: The mechanics.
        effort: Efforts, shape (n_a,).
        force: Forces that obey the contact law up to 1e-6 of `size`, shape (n_r,).
    """
    m = mechanics
    modes: Modes = modes_of(force, m.delta_c(effort, force), *m.law)
    return modes
