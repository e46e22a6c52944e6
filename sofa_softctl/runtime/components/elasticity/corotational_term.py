"""Term of corotational tetrahedra in the step's residual, with differentiated rotations."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.step_term import StepTerm
from sofa_softctl.runtime.kernels.elasticity import corotational_derivative as kernel
from sofa_softctl.runtime.kernels.elasticity.corotational_tangent import rotation_gradients


class CorotationalTerm(StepTerm):
    """Term of a TetrahedronFEMForceField; rotations follow the positions, in f and in K.

    The stiffnesses are V lambda and V mu of each tetrahedron.
    """

    def __init__(self, field: Any) -> None:
        self.field = field
        count = len(field.elements)
        self.stiffness_shape = (count, 2)
        self.G = np.empty((count, 4, 3, 3))
        self.Z = np.empty((count, 3, 3))

    @override
    def at(self, x: np.ndarray, w: np.ndarray, h: float, beta: float) -> None:
        field, self.h = self.field, h
        x, w = np.ascontiguousarray(x), np.ascontiguousarray(w)
        rotation_gradients(
            x, field.elements, field.method_number, field.frames0, field.rotations, field.h, self.G
        )
        kernel.gradients(x, w, field.elements, field.h, h, h * (h + beta), self.Z)

    @override
    def add_by_positions(self, dx: np.ndarray, out: np.ndarray) -> None:
        field = self.field
        kernel.add_by_positions(
            dx, field.elements, field.h, self.G, self.Z, field.stiffness, self.h, out
        )

    @override
    def add_transposed(self, y: np.ndarray, out: np.ndarray, by_stiffness: np.ndarray) -> None:
        field = self.field
        kernel.add_transposed(
            y, field.elements, field.h, self.G, self.Z, field.stiffness, self.h, out, by_stiffness
        )

    @override
    def add_by_stiffness(self, change: np.ndarray, out: np.ndarray) -> None:
        field = self.field
        kernel.add_by_stiffness(change, field.elements, field.h, self.Z, self.h, out)
