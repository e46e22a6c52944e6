"""Exact derivatives of the time step, forward and backward.

With w the velocity at the end of the step, lam the multipliers and rho the parameters,

    r = M v + h f(x) + H(x)^T lam - A(x) w = 0,    x' = x + h w,    v' = w

so that A dw = dr at constant w. A contains the step's stiffness K, which may leave out a part of
-df/dx: the force fields' terms differentiate both f and K. With the stiffness of the cables r has
the term (h + beta) d(H^T lam)/dx w, as A has. Imposed displacements determine lam by a second
equation, c = h H(x) w + delta(x); delta is L0 - L of a cable, V - V0 of a cavity, the gap of a
contact. Contacts stay in their modes: they stick, slide or are open, see `multipliers`; rows along
tangents include the slip of the free motion before gaps close, see `PreContactSlip`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sofa_softctl.runtime.behavior.mechanics import ForceField, Mass
from sofa_softctl.runtime.behavior.step_term import StepTerm
from sofa_softctl.runtime.derivatives.implicit_step import ImplicitStep, StepState
from sofa_softctl.runtime.derivatives.multipliers import active_rows
from sofa_softctl.runtime.derivatives.parameters import ParameterDerivatives, StepParameter


class Tangent(NamedTuple):
    """Derivatives of a state by parameters."""

    x: np.ndarray
    """Derivatives of the positions, shape (p, n, 3)."""
    v: np.ndarray
    """Derivatives of the velocities, shape (p, n, 3)."""


class Cotangent(NamedTuple):
    """Derivatives of a number by a state."""

    x: np.ndarray
    """Derivatives by the positions, shape (n, 3)."""
    v: np.ndarray
    """Derivatives by the velocities, shape (n, 3)."""


class StepDerivative:
    """Derivatives of the steps of an ImplicitStep.

    Call `set_step`, then `forward` and `backward` any number of times.

    Args:
        step: Step that is differentiated.
        parameters: Parameters of the derivatives.
    """

    def __init__(self, step: ImplicitStep, parameters: Sequence[StepParameter]) -> None:
        self.step, self.parameters = step, list(parameters)
        self._terms: dict[int, tuple[slice, StepTerm]] = {
            id(field): (step.rows(field.state), field.step_term()) for field in step.force_fields
        }
        """Nodes and term of each force field, by its id."""

    def set_step(self, taken: StepState, *, again: bool = True) -> None:
        """Set the step.

        Args:
            taken: Result of `ImplicitStep.advance`, with the present parameters.
            again: Factorise again; False right after `advance`, while the factors are valid.
        """
        if again:
            self.step.evaluate(taken.x, taken.h, taken.lam / taken.h)
        self.taken = taken
        for rows, term in self._terms.values():
            term.at(taken.x[rows], taken.w[rows], taken.h, self.step.beta)
        drives = self.step.drives
        self._row_stiffness = drives.row_stiffness(taken.lam, taken.w, self.step.direction_weight)
        if taken.held.any():
            self._Y, self._W = self.step.compliance(taken.held)
            self._active = active_rows(taken.held, taken.lam, taken.slip, drives.friction)
        self._free: StepDerivative | None = None
        if taken.closing is not None and taken.closing.is_nonzero:
            zero, not_held = np.zeros_like(taken.lam), np.zeros_like(taken.held)
            free = StepState(taken.h, taken.x, taken.v, taken.closing.free, zero, not_held, zero)
            self._free = StepDerivative(self.step, self.parameters)
            self._free.set_step(free, again=False)

    # -- forward ----------------------------------------------------------------------------------

    def forward(self, before: Tangent, drive: np.ndarray | None = None) -> Tangent:
        """Return the derivatives of the state at the end by the parameters.

        Args:
            before: Derivatives of the state at the start.
            drive: Derivatives of the drives, shape (p, k); zero by default.
        """
        step, taken, drives = self.step, self.taken, self.step.drives
        r = np.stack([step.mass_product(v) for v in before.v])  # (p, n, 3)
        for rows, term in self._terms.values():
            term.add_by_positions(before.x[:, rows], r[:, rows])
        for k, parameter in enumerate(self.parameters):
            r[k] += parameter.residual(self)
        drives.add_row_stiffness(self._row_stiffness, before.x, r)
        if drive is not None:
            r += np.tensordot(drive, self._by_efforts(), axes=1)
        r[:, step.system.fixed] = 0.0
        w = step.solve_each(r)
        if taken.held.any():
            w = w + np.tensordot(self._multipliers_forward(before, w, drive), self._Y, axes=1)
        return Tangent(before.x + taken.h * w, w)

    def _by_efforts(self) -> np.ndarray:
        """Return dr by each tension and pressure, 0 for imposed displacements, (k, n, 3)."""
        step, taken, drives = self.step, self.taken, self.step.drives
        by_effort = np.zeros((len(drives), *taken.x.shape))
        for k in np.flatnonzero(~step.imposed):
            unit = np.zeros(len(taken.lam))
            unit[k] = taken.h
            by_effort[k] = drives.push(unit)
            if step.stiffness:
                by_effort[k] += step.direction_weight * drives.push_change(unit, taken.w)
        return by_effort

    def _multipliers_forward(
        self, before: Tangent, w: np.ndarray, drive: np.ndarray | None
    ) -> np.ndarray:
        """Return d(lam) of held rows, from d(drive) - d(delta) - h (H dw + dH w) - de, (p, q)."""
        taken, drives = self.taken, self.step.drives
        missing = np.empty((len(w), int(taken.held.sum())))
        imposed = None if drive is None else drives.with_contacts(drive, 0.0)
        free = None if self._free is None else self._free.forward(before).v
        for k, (dx, dw) in enumerate(zip(before.x, w, strict=True)):
            row_change = drives.rows_change(dx, taken.w)
            rhs = -drives.displacement_change(dx) - taken.h * (drives.rows(dw) + row_change)
            if free is not None:
                rhs[len(drives) :] -= self._drift_forward(dx, free[k])
            missing[k] = (rhs if imposed is None else rhs + imposed[k])[taken.held]
        return self._active.solve(self._W, missing.T).T

    def _drift_forward(self, dx: np.ndarray, of_free: np.ndarray) -> np.ndarray:
        """Return de of rows of contacts, see `PreContactSlip`, shape (rows,)."""
        contacts, closing = self.step.drives.contacts, self.taken.closing
        assert closing is not None
        change = contacts.rows_change(dx, closing.free) + contacts.rows(of_free)
        return closing.forward(contacts.gap_change(dx), change)

    # -- backward ---------------------------------------------------------------------------------

    def sums(self) -> ParameterDerivatives:
        """Return zero sums for `backward`."""
        sums = ParameterDerivatives()
        for key, (_, term) in self._terms.items():
            sums.stiffness[key] = np.zeros(term.stiffness_shape)
        for mass in self.step.system.masses:
            sums.mass[id(mass)] = 0.0
        sums.node_mass = np.zeros(self.step.size)
        return sums

    def backward(
        self, after: Cotangent, sums: ParameterDerivatives
    ) -> tuple[Cotangent, np.ndarray]:
        """Return derivatives by the state at the start from derivatives by the state at the end.

        Args:
            after: Derivatives by the state at the end.
            sums: Sums to which the step's terms of derivatives by the parameters are added.

        Returns:
            Derivatives by the state at the start, and by the drives, shape (k,).
        """
        step, taken, drives = self.step, self.taken, self.step.drives
        g = after.v + taken.h * after.x
        g[step.system.fixed] = 0.0
        y = step.solve(g)
        by_drive = np.zeros(len(taken.lam))
        by_x, of_free = after.x.copy(), None
        if taken.held.any():
            mu = np.zeros(len(taken.lam))
            mu[taken.held] = self._active.solve_transposed(self._W, drives.rows(y)[taken.held])
            y = y - taken.h * np.tensordot(mu[taken.held], self._Y, axes=1)
            by_x -= drives.displacement_change_transposed(mu)
            by_x -= taken.h * drives.push_change_transposed(mu, taken.w)
            by_drive += mu
            if self._free is not None:
                of_free = self._drift_backward(-mu[len(drives) :], sums)
                by_x += of_free.x
        for key, (rows, term) in self._terms.items():
            term.add_transposed(y[rows], by_x[rows], sums.stiffness[key])
        drives.add_row_stiffness(self._row_stiffness, y[None], by_x[None], transposed=True)
        by_effort = taken.h * drives.rows(y)
        if step.stiffness:
            by_effort += taken.h * step.direction_weight * drives.rows_change(taken.w, y)
        by_drive += np.where(drives.with_contacts(step.imposed, True), 0.0, by_effort)
        sums.rayleigh_mass += float(np.vdot(y, self.by_rayleigh_mass()))
        sums.rayleigh_stiffness += float(np.vdot(y, self.by_rayleigh_stiffness()))
        for mass in step.system.masses:
            sums.mass[id(mass)] += float(np.vdot(y, self.by_mass(mass)))
        sums.node_mass += np.einsum("ni,ni->n", y, self.by_node_mass(np.ones(step.size)))
        by_x[step.system.fixed] = 0.0
        by_v = step.mass_product(y)
        if of_free is not None:
            by_v += of_free.v
        return Cotangent(by_x, by_v), by_drive[: len(drives)]

    def _drift_backward(self, mu: np.ndarray, sums: ParameterDerivatives) -> Cotangent:
        """Return derivatives of mu . e by the state at the start; add its terms to `sums`."""
        contacts, closing = self.step.drives.contacts, self.taken.closing
        assert closing is not None and self._free is not None
        by_gap, by_free = closing.backward(mu)
        zero = np.zeros_like(closing.free)
        by_free_motion, _ = self._free.backward(Cotangent(zero, contacts.push(by_free)), sums)
        by_x = contacts.gap_change_transposed(by_gap)
        by_x += contacts.push_change_transposed(by_free, closing.free)
        return Cotangent(by_x + by_free_motion.x, by_free_motion.v)

    def collect(self, sums: ParameterDerivatives) -> np.ndarray:
        """Return the derivatives by the parameters, shape (p,)."""
        return np.array([parameter.collect(sums) for parameter in self.parameters])

    # -- dr by quantities of the step -------------------------------------------------------------

    def by_stiffness(self, field: ForceField, change: np.ndarray) -> np.ndarray:
        """Return dr for a change of the stiffnesses of a field's term, (n, 3); see StepTerm."""
        out = np.zeros_like(self.taken.x)
        rows, term = self._terms[id(field)]
        term.add_by_stiffness(change, out[rows])
        return out

    def by_mass(self, mass: Mass) -> np.ndarray:
        """Return dr for a relative change of a mass: M (v + h g - (1 + h alpha) w), (n, 3)."""
        step, taken = self.step, self.taken
        out = np.zeros_like(taken.x)
        part = step.system.part(out, mass.state)
        change = taken.v - (1.0 + taken.h * step.alpha) * taken.w
        mass.add_gravity(part, taken.h * mass._context.gravity.get())  # type: ignore[union-attr]
        mass.add_product(part, step.system.part(change, mass.state), 1.0)
        return out

    def by_node_mass(self, masses: np.ndarray) -> np.ndarray:
        """Return dr for masses (n,) added to nodes: m (v + h g - (1 + h alpha) w), (n, 3)."""
        step, taken = self.step, self.taken
        change = taken.v - (1.0 + taken.h * step.alpha) * taken.w
        for state in step.system.states:
            gravity = state._context.gravity.get()  # type: ignore[union-attr]
            change[step.rows(state)] += taken.h * gravity
        return np.asarray(masses[:, None] * change)

    def by_rayleigh_mass(self) -> np.ndarray:
        """Return dr by alpha: -h M w, shape (n, 3)."""
        return -self.taken.h * self.step.mass_product(self.taken.w)

    def by_rayleigh_stiffness(self) -> np.ndarray:
        """Return dr by beta: -h K w, with K of the cables if the step has it, shape (n, 3)."""
        step, taken = self.step, self.taken
        out = -taken.h * step.stiffness_product(taken.w)
        if step.stiffness:
            out += step.drives.push_change(taken.lam, taken.w)
        return out
