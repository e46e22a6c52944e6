"""Term of hyperelastic tetrahedra in the step's residual."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.runtime.behavior.step_term import StepTerm
from sofa_softctl.runtime.kernels.cholesky.block_matrix import BlockPattern
from sofa_softctl.runtime.kernels.elasticity import hyperelastic as kernel

STRAIN = 1e-5
"""Change of the deformation gradients in differences of the stiffness [-]: they err by its square,
and by rounding over it, some 1e-10 of the stiffness both."""


class HyperelasticTerm(StepTerm):
    """Term of a TetrahedronHyperelasticityFEMForceField: dr/dx = -h K - h (h + beta) dK/dw.

    The second part, how K changes along w, is the third derivative of the energy with w, symmetric
    in the others; it is taken as a central difference of K.
    """

    def __init__(self, field: Any) -> None:
        self.field = field
        rows, cols = field.pairs()
        self.pattern = BlockPattern.build(field.state.block_count, rows, cols)
        self.slots = self.pattern.slots(rows, cols).reshape(-1, 10)

    def at(self, x: np.ndarray, w: np.ndarray, h: float, beta: float) -> None:
        """See StepTerm."""
        values = np.zeros((len(self.pattern.indices), 3, 3))
        self._add_stiffness(x, -h, values)
        steepest = self._steepest(w)
        if steepest > 0.0:
            tau = STRAIN / steepest  # [time]
            share = -h * (h + beta) / (2.0 * tau)
            self._add_stiffness(x + tau * w, share, values)
            self._add_stiffness(x - tau * w, -share, values)
        self.matrix = self.pattern.to_csr(values)

    def _steepest(self, w: np.ndarray) -> float:
        """Largest rate of a deformation gradient [1 / time]."""
        field = self.field
        rates = np.einsum("eai,eaj->eij", w[field.elements], field.gradients)
        return float(np.abs(rates).max())

    def _add_stiffness(self, x: np.ndarray, factor: float, values: np.ndarray) -> None:
        """values += factor K(x); what the field itself is at stays."""
        field = self.field
        F, slopes = np.empty_like(field._deformations), np.empty_like(field._slopes)
        shape = (field.elements, field.gradients, field.volumes)
        kernel.deform(
            np.ascontiguousarray(x), *shape, field.material.number, field.parameters, F, slopes
        )
        kernel.add_matrix(field.gradients, F, slopes, factor, self.slots, values)

    def add_by_positions(self, dx: np.ndarray, out: np.ndarray) -> None:
        """See StepTerm."""
        columns = np.ascontiguousarray(dx.reshape(len(dx), -1).T)
        out += (self.matrix @ columns).T.reshape(out.shape)

    def add_transposed(self, y: np.ndarray, out: np.ndarray, by_stiffness: np.ndarray) -> None:
        """See StepTerm."""
        del by_stiffness  # there are none
        out += (self.matrix @ y.ravel()).reshape(y.shape)
