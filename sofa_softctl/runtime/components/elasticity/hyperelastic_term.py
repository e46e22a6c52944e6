"""Term of hyperelastic tetrahedra in the step's residual."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.runtime.behavior.step_term import StepTerm
from sofa_softctl.runtime.kernels.elasticity import hyperelastic
from sofa_softctl.runtime.kernels.elasticity import hyperelastic_derivative as kernel


class HyperelasticTerm(StepTerm):
    """Term of a TetrahedronHyperelasticityFEMForceField: dr/dx = -h K - h (h + beta) dK/dw.

    Its stiffnesses are the parameters of the material in each tetrahedron, in which r is linear.
    """

    def __init__(self, field: Any) -> None:
        self.field = field
        count = len(field.elements)
        self.stiffness_shape = field.parameters.shape
        self.rates = np.empty((count, 3, 3))
        self.A = np.empty((count, 9, 9))
        self.invariants = np.empty((count, kernel.INVARIANTS))

    def at(self, x: np.ndarray, w: np.ndarray, h: float, beta: float) -> None:
        """See StepTerm."""
        field, self.h, self.c = self.field, h, h * (h + beta)
        self.x = np.ascontiguousarray(x)
        kernel.gradients(np.ascontiguousarray(w), field.elements, field.gradients, self.rates)
        kernel.tensors(*self._state, self.rates, self.h, self.c, self.A)
        self._unit_slopes: list[np.ndarray] = []

    @property
    def _state(self) -> tuple[np.ndarray, np.ndarray]:
        """Deformation gradients, and slopes of the energy."""
        return self.field._deformations, self.field._slopes

    def add_by_positions(self, dx: np.ndarray, out: np.ndarray) -> None:
        """See StepTerm."""
        kernel.add_by_positions(dx, self.field.elements, self.field.gradients, self.A, out)

    def add_transposed(self, y: np.ndarray, out: np.ndarray, by_stiffness: np.ndarray) -> None:
        """See StepTerm; dr/dx is symmetric."""
        field, found = self.field, self.invariants
        kernel.add_by_positions(y[None], field.elements, field.gradients, self.A, out[None])
        rates = (self.rates, self.h, self.c)
        kernel.invariants(y, field.elements, field.gradients, self._state[0], *rates, found)
        for number, slopes in enumerate(self._by_parameters()):
            by_stiffness[:, number] -= np.einsum("es,es->e", found, slopes)

    def add_by_stiffness(self, change: np.ndarray, out: np.ndarray) -> None:
        """See StepTerm."""
        field = self.field
        slopes = self._slopes(change)
        place = (field.elements, field.gradients, self._state[0])
        kernel.add_residual(*place, slopes, self.rates, self.h, self.c, out)

    def _by_parameters(self) -> list[np.ndarray]:
        """Derivatives of the slopes by each parameter, shape (m, 7) each."""
        if not self._unit_slopes:
            for one in np.eye(self.stiffness_shape[1]):
                unit = np.tile(one, (self.stiffness_shape[0], 1))
                self._unit_slopes.append(self._slopes(unit)[:, : kernel.INVARIANTS])
        return self._unit_slopes

    def _slopes(self, parameters: np.ndarray) -> np.ndarray:
        """Slopes of the energy with other parameters, shape (m, SLOPES)."""
        field = self.field
        F, slopes = np.empty_like(field._deformations), np.empty_like(field._slopes)
        hyperelastic.deform(
            self.x,
            field.elements,
            field.gradients,
            field.volumes,
            field.material.number,
            np.ascontiguousarray(parameters, dtype=float),
            F,
            slopes,
        )
        return slopes
