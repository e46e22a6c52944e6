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
from sofa_softctl.qpcc.problem.contacts import Contacts
from sofa_softctl.qpcc.problem.modes import INACTIVE, SLIDING, STICKING, Modes
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
    B_a: np.ndarray
    """Weighted effectors over actuators [displacement / sqrt(energy)], shape (n_e, n_a)."""
    B_c: np.ndarray
    """Weighted effectors over contacts [displacement / sqrt(energy)], shape (n_e, n_r)."""
    e_free: np.ndarray
    """Weighted effector error in the free motion [displacement], shape (n_e,)."""
    W_aa: np.ndarray
    """Actuators over actuators [-], shape (n_a, n_a)."""
    W_ac: np.ndarray
    """Actuators over contacts [-], shape (n_a, n_r)."""
    W_cc: np.ndarray
    """Contacts over contacts [-], shape (n_r, n_r)."""
    c_free: np.ndarray
    """delta_c in the free motion [sqrt(energy)], shape (n_r,)."""
    energy: np.ndarray | None
    """Hessian of the energy term over actuators, or over actuators and contact rows
    [displacement^2 / energy], shape (n_a, n_a) or (n_a + n_r, n_a + n_r). None = no term."""
    mu: np.ndarray
    """Coefficient of friction in these units [-], shape (n_c,)."""
    row_contact: np.ndarray
    """Contact of each row, shape (n_r,) of int."""
    rough: np.ndarray
    """Whether each contact has tangential rows, shape (n_c,) of bool."""
    size: float
    """Unit of residuals of the contact law: the largest delta_c [sqrt(energy)]."""
    indefinite: float = 0.0
    """Negative part of the least eigenvalue of `energy`, relative to the largest, which was
    removed; 0 where that is rounding [-]."""

    @property
    def sticking(self) -> bool:
        """True if contacts stick without a cone."""
        return self.contacts.law.friction == "sticking"

    def delta_c(self, effort: np.ndarray, force: np.ndarray) -> np.ndarray:
        """delta_c under efforts (n_a,) and contact forces (n_r,), all in units of energy."""
        return self.W_cc @ force + effort @ self.W_ac + self.c_free


def build_mechanics(problem: InverseProblem, contacts: Contacts, effort: np.ndarray) -> Mechanics:
    """Dimensionless mechanics of a problem.

    Args:
        problem: The problem.
        contacts: Contacts of the problem, at least one.
        effort: A typical effort on the contacts [effort], shape (n_a,), for scale.
    """
    rough = contacts.friction > 0.0
    row_contact = np.repeat(np.arange(contacts.n_c), np.where(rough, 3, 1))
    a_unit = _unit(problem.W_aa.diagonal())
    compliance = contacts.W_cc.diagonal().copy()
    first = contacts.starts[rough] + 1
    compliance[first] = compliance[first + 1] = 0.5 * (compliance[first] + compliance[first + 1])
    c_unit = _unit(compliance)
    mu = np.zeros(contacts.n_c)
    mu[rough] = contacts.friction[rough] * c_unit[contacts.starts[rough]] / c_unit[first]
    weight = problem.effector_weight[:, None]
    W_ac = a_unit[:, None] * contacts.W_ac * c_unit
    W_cc = c_unit[:, None] * contacts.W_cc * c_unit
    c_free = contacts.delta_c_free * c_unit
    energy, indefinite = _remove_negative_eigenvalues(_energy(problem, contacts, a_unit, c_unit))
    loaded = c_free + (effort / a_unit) @ W_ac
    size = max(float(np.abs(c_free).max()), float(np.abs(loaded).max())) or 1.0
    return Mechanics(
        problem=problem,
        contacts=contacts,
        a_unit=a_unit,
        c_unit=c_unit,
        B_a=weight * problem.W_ea * a_unit,
        B_c=weight * contacts.W_ec * c_unit,
        e_free=problem.effector_weight * problem.delta_e_free,
        W_aa=a_unit[:, None] * problem.W_aa * a_unit,
        W_ac=W_ac,
        W_cc=0.5 * (W_cc + W_cc.T),
        c_free=c_free,
        energy=energy,
        mu=mu,
        row_contact=row_contact,
        rough=rough,
        size=size,
        indefinite=indefinite,
    )


def _remove_negative_eigenvalues(energy: np.ndarray | None) -> tuple[np.ndarray | None, float]:
    """The energy term's Hessian without negative eigenvalues, and their relative size."""
    if energy is None:
        return None, 0.0
    values, vectors = np.linalg.eigh(energy)
    if values[0] >= -1e-9 * values[-1]:
        return energy, 0.0
    convex: np.ndarray = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return convex, float(-values[0] / max(values[-1], 1e-300))


def _unit(compliance: np.ndarray) -> np.ndarray:
    unit: np.ndarray = 1.0 / np.sqrt(np.where(compliance > 0.0, compliance, 1.0))
    return unit


def _energy(
    problem: InverseProblem, contacts: Contacts, a_unit: np.ndarray, c_unit: np.ndarray
) -> np.ndarray | None:
    """Hessian of the energy term in units of energy, see `InverseProblem` and `Contacts.energy`."""
    if problem.energy == 0.0:
        return None
    weight = problem.effector_weight[:, None]
    if not contacts.energy:
        return _actuators_energy(problem, contacts, a_unit, c_unit)
    B = weight * np.concatenate((problem.W_ea, contacts.W_ec), axis=1)
    W = np.block([[problem.W_aa, contacts.W_ac], [contacts.W_ac.T, contacts.W_cc]])
    if problem.energy_rows is not None:
        has_energy = np.concatenate((problem.energy_rows, np.ones(contacts.n_r, dtype=bool)))
        W = W * np.outer(has_energy, has_energy)
    norm = np.abs(W).sum(axis=1).max()
    if norm <= 1e-14:
        return None
    scale = problem.energy * np.abs(B.T @ B).sum(axis=1).max() / norm
    unit = np.concatenate((a_unit, c_unit))
    hessian = (0.5 * scale) * unit[:, None] * (W + W.T) * unit
    return hessian


def _actuators_energy(
    problem: InverseProblem, contacts: Contacts, a_unit: np.ndarray, c_unit: np.ndarray
) -> np.ndarray | None:
    """Hessian of the energy term over the actuators, in units of energy, shape (n_a, n_a).

    It is scaled by the tracking term, with the actuators acting freely, as without contacts, or
    with all contacts held, whichever is larger. A robot that moves its effectors only through
    contacts, such as one that rolls or a hand that holds an object, hardly moves them when free:
    that size depends on the mesh and varies by decades over steps. If the actuators move them in
    neither case, as before they reach an object, a small remainder keeps idle efforts at zero.
    """
    weight = problem.effector_weight[:, None]
    free = weight * problem.W_ea  # (n_e, n_a)
    W_cc = c_unit[:, None] * contacts.W_cc * c_unit
    forces_held = np.linalg.solve(
        0.5 * (W_cc + W_cc.T) + HELD_COMPLIANCE * np.eye(len(W_cc)),
        (contacts.W_ac * c_unit).T,
    )  # (n_r, n_a)
    by_forces = weight * contacts.W_ec * c_unit
    held_motion = free - by_forces @ forces_held
    smallest = (
        ENERGY_SIZE_RATIO_MIN
        * _norm(by_forces.T @ by_forces)
        * _norm(problem.W_aa)
        * np.eye(problem.n_a)
    )
    Q = max((free.T @ free, held_motion.T @ held_motion, smallest), key=_norm)
    hessian = problem.energy_hessian(Q)
    return None if hessian is None else a_unit[:, None] * hessian * a_unit


def _norm(Q: np.ndarray) -> float:
    """Largest sum of a row's absolute entries."""
    return float(np.abs(Q).sum(axis=1).max())


ENERGY_SIZE_RATIO_MIN = 1e-6
"""Least size of the energy term, relative to the motion of effectors by contact forces [-]."""
HELD_COMPLIANCE = 1e-6
"""Compliance of held contacts relative to their own [-]: contacts whose forces are not unique,
as of a rigid body on many points, share them evenly."""

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
        m.contacts.starts,
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
    starts = m.contacts.starts
    delta = m.delta_c(effort, force)
    normal, small = force[starts], 1e-7 * m.size
    kind = np.where(normal > np.maximum(delta[starts], 0.0), STICKING, INACTIVE)
    modes = Modes.of(kind)
    if m.sticking:
        return modes
    for i in np.flatnonzero(m.rough & (kind != INACTIVE)):
        t = slice(starts[i] + 1, starts[i] + 3)
        room = m.mu[i] * normal[i] - float(np.hypot(*force[t]))
        slip = float(np.hypot(*delta[t]))
        if slip > max(room, small):
            modes.kind[i] = SLIDING
            modes.direction[i] = delta[t] / slip
            modes.balance[i] = np.array([slip, m.mu[i] * normal[i]]) / (slip + m.mu[i] * normal[i])
    return modes
