"""Linear solves with the exact tangent stiffness, symmetric or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg as sparse_linalg

from sofa_softctl.runtime.behavior.solvers import MechanicalSystem
from sofa_softctl.runtime.simulation.system_matrix import SystemMatrix


class ExactTangent:
    """K = -df/dx of all forces of a system, identity in fixed rows.

    The system's linear solver factorises a symmetric K; SciPy's LU an asymmetric one. Force fields
    use the exact K from then on.

    Args:
        system: System with a direct linear solver.

    Raises:
        SceneError: The linear solver is iterative.
    """

    def __init__(self, system: MechanicalSystem) -> None:
        self.system = system
        self.solver = system.linear_solver.require_direct("equilibria")
        self._approximate = [field for field in system.force_fields if not field.exact_tangent]
        self._set_exact(True)
        self.skew = any(field.skew for field in system.force_fields)
        self._matrix = SystemMatrix(system) if self.skew else None
        self._lu: Any = None

    @property
    def positive_definite(self) -> bool:
        """True if the symmetric part of the last `factorise` is positive definite."""
        return self.solver.positive_definite

    def factorise(self, shift: float = 0.0) -> None:
        """Factorise K + shift M at the position of the last computed forces."""
        self.solver.set_matrix(shift, 1.0, 0.0)
        if self._matrix is not None:
            self._lu = _factors(self._full_matrix(self._matrix, shift))

    def factorise_definite(self, shift: float) -> float:
        """Factorise K + shift M, with a larger shift until it is positive definite; return it.

        Shifts far below K's diagonal per mass count as zero.
        """
        self.factorise()
        stiff = np.abs(self.solver.A().diagonal()).sum()
        mass = np.zeros_like(self.system.v)
        self.system.add_product(mass, np.ones_like(mass), 1.0, 0.0, 0.0)
        shift_min = float(1e-6 * stiff / mass.sum())
        if shift < shift_min and self.positive_definite:
            return 0.0
        shift = max(shift, shift_min)
        self.factorise(shift)
        while not self.positive_definite:
            shift *= 4.0
            self.factorise(shift)
        return shift

    def solve(self, force: np.ndarray, *, transposed: bool = False) -> np.ndarray:
        """Return K^-1 f, or K^-T f, shape (n, 3); NaN if K is singular or not finite.

        Args:
            force: f, shape (n, 3).
            transposed: Solve with K^T.
        """
        if not self.skew:
            return self.solver.solve(force).copy()
        if self._lu is None:
            return np.full(force.shape, np.nan)
        solution: np.ndarray = self._lu.solve(force.ravel(), trans="T" if transposed else "N")
        return solution.reshape(force.shape)

    def transposed_product(self, v: np.ndarray) -> np.ndarray:
        """Return K^T v at the position of the last computed forces, (n, 3); the factors stay."""
        if self._matrix is None:
            return self.solver.product(0.0, 1.0, 0.0, v)
        return (self._full_matrix(self._matrix, 0.0).T @ v.ravel()).reshape(v.shape)

    @property
    def approximate_in_steps(self) -> bool:
        """True if a time step uses another stiffness."""
        return bool(self._approximate)

    def step_product(self, v: np.ndarray) -> np.ndarray:
        """Return a time step's stiffness at the position of the last forces, times v, (n, 3)."""
        self._set_exact(False)
        try:
            return self.solver.product(0.0, 1.0, 0.0, v)
        finally:
            self._set_exact(True)

    def _set_exact(self, exact: bool) -> None:
        for field in self._approximate:
            field.exact_tangent = exact

    def _full_matrix(self, matrix: SystemMatrix, shift: float) -> sparse.csr_array:
        """Return K + shift M with its antisymmetric part."""
        values = matrix.assemble(shift, 1.0, 0.0)
        return matrix.pattern.to_csr(values, skew=matrix.assemble_skew())


def _factors(matrix: sparse.csr_array) -> Any:
    """Return LU factors, or None if the matrix is singular or not finite."""
    if not np.isfinite(matrix.data).all():
        return None
    try:
        return sparse_linalg.splu(
            matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}
        )
    except RuntimeError:  # exactly singular
        return None
