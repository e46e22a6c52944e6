"""Exact derivatives of the time step as it is taken, forward and backward.

With w the velocity at the end of the step, lam the multipliers and rho the parameters,

    r = M v + h f(x) + H(x)^T lam - A(x) w = 0,    x' = x + h w,    v' = w

so that A dw = dr at constant w. A holds the step's stiffness K, which may leave out a part of
-df/dx: the force fields' terms differentiate both f and K. With the stiffness of the cables r has
the term (h + beta) d(H^T lam)/dx w, for what A has. Where a displacement is imposed, lam follows
from c = h H(x) w + delta(x), which joins r as a second equation; delta is L0 - L of a cable, V - V0
of a cavity, the gap of a contact. Contacts stay in their modes: they stick, slide or are open, see
`multipliers`; rows along tangents have what the free motion slid before gaps closed, see `closing`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sofa_softctl.runtime.behavior.mechanics import ForceField, Mass
from sofa_softctl.runtime.behavior.step_term import StepTerm
from sofa_softctl.runtime.derivatives.implicit_step import ImplicitStep, StepState
from sofa_softctl.runtime.derivatives.multipliers import modes_of
from sofa_softctl.runtime.derivatives.parameters import StepParameter, Sums


class Tangent(NamedTuple):
    """Derivatives of a state by parameters."""

    x: np.ndarray
    """Of the positions, shape (p, n, 3)."""
    v: np.ndarray
    """Of the velocities, shape (p, n, 3)."""


class Cotangent(NamedTuple):
    """Derivatives of a number by a state."""

    x: np.ndarray
    """By the positions, shape (n, 3)."""
    v: np.ndarray
    """By the velocities, shape (n, 3)."""


class StepDerivative:
    """Derivatives of the steps of an ImplicitStep.

    `at` takes a step; then come `forward` and `backward` for it, as often as wanted.

    Args:
        step: The step.
        parameters: By which it is differentiated.
    """

    def __init__(self, step: ImplicitStep, parameters: Sequence[StepParameter]) -> None:
        self.step, self.parameters = step, list(parameters)
        self._terms: dict[int, tuple[slice, StepTerm]] = {
            id(field): (step.rows(field.state), field.step_term()) for field in step.force_fields
        }
        """Nodes and term of each force field, by its id."""

    def at(self, taken: StepState, *, again: bool = True) -> None:
        """Take a step.

        Args:
            taken: From `ImplicitStep.advance`, with the present parameters.
            again: Factorise again; False right after `advance`, when the factors are still there.
        """
        if again:
            self.step.at(taken.x, taken.h, taken.lam / taken.h)
        self.taken = taken
        for rows, term in self._terms.values():
            term.at(taken.x[rows], taken.w[rows], taken.h, self.step.beta)
        drives = self.step.drives
        self._curve = drives.curve(taken.lam, taken.w, self.step.curving)
        if taken.held.any():
            self._Y, self._W = self.step.compliance(taken.held)
            self._modes = modes_of(taken.held, taken.lam, taken.slip, drives.rough)
        self._free: StepDerivative | None = None
        if taken.closing is not None and taken.closing.matters:
            still, none = np.zeros_like(taken.lam), np.zeros_like(taken.held)
            free = StepState(taken.h, taken.x, taken.v, taken.closing.free, still, none, still)
            self._free = StepDerivative(self.step, self.parameters)
            self._free.at(free, again=False)

    # -- forward ----------------------------------------------------------------------------------

    def forward(self, before: Tangent, drive: np.ndarray | None = None) -> Tangent:
        """How the state at the end changes with the parameters.

        Args:
            before: How that at the start does.
            drive: How what is imposed does, shape (p, k); not at all by default.
        """
        step, taken, drives = self.step, self.taken, self.step.drives
        r = np.stack([step.mass_product(v) for v in before.v])  # (p, n, 3)
        for rows, term in self._terms.values():
            term.add_by_positions(before.x[:, rows], r[:, rows])
        for k, parameter in enumerate(self.parameters):
            r[k] += parameter.residual(self)
        drives.add_curved(self._curve, before.x, r)
        if drive is not None:
            r += np.tensordot(drive, self._by_efforts(), axes=1)
        r[:, step.system.fixed] = 0.0
        w = step.solve_each(r)
        if taken.held.any():
            w = w + np.tensordot(self._multipliers_forward(before, w, drive), self._Y, axes=1)
        return Tangent(before.x + taken.h * w, w)

    def _by_efforts(self) -> np.ndarray:
        """dr by each tension and pressure, 0 where a displacement is imposed, shape (k, n, 3)."""
        step, taken, drives = self.step, self.taken, self.step.drives
        found = np.zeros((len(drives), *taken.x.shape))
        for k in np.flatnonzero(~step.imposed):
            one = np.zeros(len(taken.lam))
            one[k] = taken.h
            found[k] = drives.push(one)
            if step.stiffness:
                found[k] += step.curving * drives.turned(one, taken.w)
        return found

    def _multipliers_forward(
        self, before: Tangent, w: np.ndarray, drive: np.ndarray | None
    ) -> np.ndarray:
        """d(lam) of held rows, shape (p, q), from d(drive) - d(delta) - h (H dw + dH w) - de."""
        taken, drives = self.taken, self.step.drives
        missing = np.empty((len(w), int(taken.held.sum())))
        given = None if drive is None else drives.with_contacts(drive, 0.0)
        free = None if self._free is None else self._free.forward(before).v
        for k, (moved, faster) in enumerate(zip(before.x, w, strict=True)):
            turned = drives.rows_turned(moved, taken.w)
            found = -drives.displaced(moved) - taken.h * (drives.rows(faster) + turned)
            if free is not None:
                found[len(drives) :] -= self._drift_forward(moved, free[k])
            missing[k] = (found if given is None else found + given[k])[taken.held]
        return self._modes.solve(self._W, missing.T).T

    def _drift_forward(self, dx: np.ndarray, of_free: np.ndarray) -> np.ndarray:
        """de of rows of contacts, see `Closing`, shape (rows,)."""
        contacts, closing = self.step.drives.contacts, self.taken.closing
        assert closing is not None
        changed = contacts.rows_turned(dx, closing.free) + contacts.rows(of_free)
        return closing.forward(contacts.widened(dx), changed)

    # -- backward ---------------------------------------------------------------------------------

    def sums(self) -> Sums:
        """Empty sums for `backward`."""
        sums = Sums()
        for key, (_, term) in self._terms.items():
            sums.stiffness[key] = np.zeros(term.stiffness_shape)
        for mass in self.step.system.masses:
            sums.mass[id(mass)] = 0.0
        return sums

    def backward(self, after: Cotangent, sums: Sums) -> tuple[Cotangent, np.ndarray]:
        """From derivatives by the state at the end to those by the state at the start.

        Args:
            after: Derivatives by the state at the end.
            sums: Get the step's share of the derivatives by the parameters.

        Returns:
            Derivatives by the state at the start, and by what is imposed, shape (k,).
        """
        step, taken, drives = self.step, self.taken, self.step.drives
        g = after.v + taken.h * after.x
        g[step.system.fixed] = 0.0
        y = step.solve(g)
        by_drive = np.zeros(len(taken.lam))
        by_x, of_free = after.x.copy(), None
        if taken.held.any():
            mu = np.zeros(len(taken.lam))
            mu[taken.held] = self._modes.solve_transposed(self._W, drives.rows(y)[taken.held])
            y = y - taken.h * np.tensordot(mu[taken.held], self._Y, axes=1)
            by_x -= drives.displaced_transposed(mu)
            by_x -= taken.h * drives.turned_transposed(mu, taken.w)
            by_drive += mu
            if self._free is not None:
                of_free = self._drift_backward(-mu[len(drives) :], sums)
                by_x += of_free.x
        for key, (rows, term) in self._terms.items():
            term.add_transposed(y[rows], by_x[rows], sums.stiffness[key])
        drives.add_curved(self._curve, y[None], by_x[None], transposed=True)
        by_effort = taken.h * drives.rows(y)
        if step.stiffness:
            by_effort += taken.h * step.curving * drives.rows_turned(taken.w, y)
        by_drive += np.where(drives.with_contacts(step.imposed, True), 0.0, by_effort)
        sums.rayleigh_mass += float(np.vdot(y, self.by_rayleigh_mass()))
        sums.rayleigh_stiffness += float(np.vdot(y, self.by_rayleigh_stiffness()))
        for mass in step.system.masses:
            sums.mass[id(mass)] += float(np.vdot(y, self.by_mass(mass)))
        by_x[step.system.fixed] = 0.0
        by_v = step.mass_product(y)
        if of_free is not None:
            by_v += of_free.v
        return Cotangent(by_x, by_v), by_drive[: len(drives)]

    def _drift_backward(self, mu: np.ndarray, sums: Sums) -> Cotangent:
        """Derivatives of mu . e by the state at the start; `sums` get its share."""
        contacts, closing = self.step.drives.contacts, self.taken.closing
        assert closing is not None and self._free is not None
        by_gap, by_free = closing.backward(mu)
        zero = np.zeros_like(closing.free)
        found, _ = self._free.backward(Cotangent(zero, contacts.push(by_free)), sums)
        by_x = contacts.widened_transposed(by_gap)
        by_x += contacts.turned_transposed(by_free, closing.free)
        return Cotangent(by_x + found.x, found.v)

    def collect(self, sums: Sums) -> np.ndarray:
        """Derivatives by the parameters, shape (p,)."""
        return np.array([parameter.collect(sums) for parameter in self.parameters])

    # -- dr by what a step depends on -------------------------------------------------------------

    def by_stiffness(self, field: ForceField, change: np.ndarray) -> np.ndarray:
        """dr for a change of the stiffnesses of a field's term, shape (n, 3); see StepTerm."""
        out = np.zeros_like(self.taken.x)
        rows, term = self._terms[id(field)]
        term.add_by_stiffness(change, out[rows])
        return out

    def by_mass(self, mass: Mass) -> np.ndarray:
        """dr for a relative change of a mass: M (v + h g - (1 + h alpha) w), shape (n, 3)."""
        step, taken = self.step, self.taken
        out = np.zeros_like(taken.x)
        own = step.system.part(out, mass.state)
        change = taken.v - (1.0 + taken.h * step.alpha) * taken.w
        mass.add_gravity(own, taken.h * mass._context.gravity.get())  # type: ignore[union-attr]
        mass.add_product(own, step.system.part(change, mass.state), 1.0)
        return out

    def by_rayleigh_mass(self) -> np.ndarray:
        """dr by alpha: -h M w, shape (n, 3)."""
        return -self.taken.h * self.step.mass_product(self.taken.w)

    def by_rayleigh_stiffness(self) -> np.ndarray:
        """-h K w, with that of the cables if the step has it, shape (n, 3)."""
        step, taken = self.step, self.taken
        out = -taken.h * step.stiffness_product(taken.w)
        if step.stiffness:
            out += step.drives.turned(taken.lam, taken.w)
        return out
