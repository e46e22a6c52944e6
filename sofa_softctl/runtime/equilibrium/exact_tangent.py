"""Linear solves with the exact tangent stiffness, symmetric or not."""

from __future__ import annotations

import numpy as np
import scipy.sparse.linalg as sparse_linalg

from sofa_softctl.errors import MapError
from sofa_softctl.runtime.behavior.solvers import MechanicalSystem

ACCEPTED = 1e-8
"""Largest error of a solution with what is not symmetric [-]."""
RESTARTS = 10
"""Most restarts of GMRES, of 20 iterations each; where a robot rests it takes 16 in all."""


class ExactTangent:
    """K = -df/dx of all forces of a system, held rows as identity.

    The symmetric part is factorised; where there is another one, GMRES takes it in, with these
    factors as its preconditioner. Force fields give the exact K from then on.

    Args:
        system: The system; its linear solver must be a direct one.

    Raises:
        SceneError: the linear solver is iterative.
    """

    def __init__(self, system: MechanicalSystem) -> None:
        self.system = system
        self.solver = system.linear_solver.require_direct("equilibria")
        for field in system.force_fields:
            field.exact_tangent = True
        self.skew = any(field.skew for field in system.force_fields)

    @property
    def positive_definite(self) -> bool:
        """Whether the symmetric part of the last `factorise` was."""
        return self.solver.positive_definite

    def factorise(self) -> None:
        """Take K at the position of the last computed forces."""
        self.solver.set_matrix(0.0, 1.0, 0.0)

    def factorise_definite(self, shift: float) -> float:
        """Take K + shift M, with more shift where that is not positive definite; the shift.

        A shift far below what K has along its diagonal, per mass, is none.
        """
        self.factorise()
        stiff = np.abs(self.solver.A().diagonal()).sum()
        mass = np.zeros_like(self.system.v)
        self.system.add_product(mass, np.ones_like(mass), 1.0, 0.0, 0.0)
        least = float(1e-6 * stiff / mass.sum())
        if shift < least and self.positive_definite:
            return 0.0
        shift = max(shift, least)
        self.solver.set_matrix(shift, 1.0, 0.0)
        while not self.positive_definite:
            shift *= 4.0
            self.solver.set_matrix(shift, 1.0, 0.0)
        return shift

    def solve(
        self, force: np.ndarray, *, precision: float = 1e-12, transposed: bool = False
    ) -> np.ndarray:
        """K^-1 f, or K^-T f, shape (n, 3).

        Args:
            force: f, shape (n, 3).
            precision: Error at which GMRES ends [-]. One above 1e-8 asks for a rough answer, which
                is not checked.
            transposed: Whether K^T is meant.

        Raises:
            MapError: GMRES came to no answer.
        """
        shape, n = force.shape, force.size
        first = self.solver.solve(force).copy()
        if not self.skew:
            return first
        symmetric = self.solver.A()

        def product(v: np.ndarray) -> np.ndarray:
            whole = np.zeros(shape)
            self._add_skew(v.reshape(shape), whole, -1.0 if transposed else 1.0)
            self.system.project(whole)
            return symmetric @ v + whole.ravel()

        def undone(v: np.ndarray) -> np.ndarray:
            return self.solver.solve(v.reshape(shape)).ravel().copy()

        operator, factors = (
            sparse_linalg.LinearOperator((n, n), matvec=each, dtype=float)
            for each in (product, undone)
        )
        b = force.ravel()
        found, _ = sparse_linalg.gmres(
            operator, b, x0=first.ravel(), rtol=precision, atol=0.0, maxiter=RESTARTS, M=factors
        )
        if precision <= ACCEPTED:
            error = np.linalg.norm(product(found) - b) / max(float(np.linalg.norm(b)), 1e-300)
            if not error <= ACCEPTED:
                raise MapError(
                    f"The exact stiffness cannot be solved with: GMRES leaves an error of "
                    f"{error:.1e}. Use an elasticity with an energy, such as "
                    "TetrahedronHyperelasticityFEMForceField."
                )
        return found.reshape(shape)

    def transposed_product(self, v: np.ndarray) -> np.ndarray:
        """K^T v at the position of the last computed forces, shape (n, 3); the factors stay."""
        product = self.solver.product(0.0, 1.0, 0.0, v)
        self._add_skew(v, product, -1.0)
        self.system.project(product)
        return product

    def _add_skew(self, v: np.ndarray, out: np.ndarray, factor: float) -> None:
        """out += factor times the antisymmetric part of K, times v."""
        for field in self.system.force_fields:
            start = self.system.offset.get(id(field.state))
            if start is not None and field.skew:
                rows = slice(start, start + field.state.count)
                field.add_skew_product(out[rows], factor * v[rows])
