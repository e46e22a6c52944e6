"""How the forces in a time step change with positions: one term for each force field."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.runtime.components.elasticity.tetrahedron_fem import TetrahedronFEMForceField
from sofa_softctl.runtime.derivatives.implicit_step import ImplicitStep, StepState
from sofa_softctl.runtime.kernels.elasticity import corotational_derivative as kernel
from sofa_softctl.runtime.kernels.elasticity.corotational_tangent import turns


class CorotationalTerm:
    """Of corotational tetrahedra, with the derivative of their rotations in f and in A."""

    def __init__(self, field: TetrahedronFEMForceField, rows: slice) -> None:
        self.field, self.rows = field, rows
        count = len(field.elements)
        self.G = np.empty((count, 4, 3, 3))
        self.Z = np.empty((count, 3, 3))

    def at(self, taken: StepState, beta: float) -> None:
        """Take a step whose start the field's rotations are those of."""
        field, self.h = self.field, taken.h
        x, w = (np.ascontiguousarray(part[self.rows]) for part in (taken.x, taken.w))
        turns(
            x,
            field.elements,
            field.method_number,
            field.frames0,
            field.rotations,
            field.h,
            self.G,
        )
        kernel.gradients(x, w, field.elements, field.h, self.h, self.h * (self.h + beta), self.Z)

    def add_by_positions(self, dx: np.ndarray, out: np.ndarray) -> None:
        """out += dr/dx dx, both of shape (p, n, 3)."""
        field = self.field
        kernel.add_by_positions(
            dx[:, self.rows],
            field.elements,
            field.h,
            self.G,
            self.Z,
            field.stiffness,
            self.h,
            out[:, self.rows],
        )

    def add_transposed(self, y: np.ndarray, out: np.ndarray, by_stiffness: np.ndarray) -> None:
        """out += (dr/dx)^T y, shape (n, 3); by_stiffness += that of y . r, shape (m, 2)."""
        field = self.field
        kernel.add_transposed(
            y[self.rows],
            field.elements,
            field.h,
            self.G,
            self.Z,
            field.stiffness,
            self.h,
            out[self.rows],
            by_stiffness,
        )

    def add_by_stiffness(self, change: np.ndarray, out: np.ndarray) -> None:
        """out += dr for a change of V lambda and V mu, shape (m, 2)."""
        field = self.field
        kernel.add_by_stiffness(change, field.elements, field.h, self.Z, self.h, out[self.rows])


class SpringTerm:
    """Of springs with a constant stiffness: dr = -h K dx."""

    def __init__(self, field: Any, rows: slice) -> None:
        self.field, self.rows = field, rows

    def at(self, taken: StepState, beta: float) -> None:
        """Take a step."""
        del beta  # K is constant
        self.h = taken.h

    def add_by_positions(self, dx: np.ndarray, out: np.ndarray) -> None:
        """See CorotationalTerm."""
        for one, own in zip(dx, out, strict=True):
            self.field.add_product(own[self.rows], one[self.rows], -self.h)

    def add_transposed(self, y: np.ndarray, out: np.ndarray, by_stiffness: np.ndarray) -> None:
        """See CorotationalTerm."""
        del by_stiffness  # it has no tetrahedra
        self.field.add_product(out[self.rows], y[self.rows], -self.h)


def terms_of(step: ImplicitStep) -> list[CorotationalTerm | SpringTerm]:
    """One term for each force field of the step's system, in its order."""
    found: list[CorotationalTerm | SpringTerm] = []
    for field in step.system.force_fields:
        start = step.system.offset[id(field.state)]
        rows = slice(start, start + field.state.count)
        if isinstance(field, TetrahedronFEMForceField):
            found.append(CorotationalTerm(field, rows))
        else:
            found.append(SpringTerm(field, rows))
    return found
