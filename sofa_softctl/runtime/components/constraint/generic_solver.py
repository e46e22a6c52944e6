"""Constraint solver of forward simulations, by projected Gauss-Seidel."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.constraint import ConstraintSystem
from sofa_softctl.runtime.behavior.solvers import ConstraintSolver
from sofa_softctl.runtime.core.data.types import Bool, Choice, Int, Real, Reals, Text
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.kernels.constraint.gauss_seidel import (
    BLOCK,
    COULOMB,
    PARAMETERS,
    conjugate_gradient,
    gauss_seidel,
)


class GenericConstraintSolver(ConstraintSolver):
    """Projected Gauss-Seidel from lambda = 0 in every step, or conjugate gradients built on it.

    With scaleTolerance the tolerance is multiplied by the number of rows. If maxIterations does not
    reach it, the last lambda is used, and currentError shows the error.
    """

    aliases: ClassVar[tuple[str, ...]] = (
        "BlockGaussSeidelConstraintSolver",
        "ProjectedGaussSeidelConstraintSolver",
        "ImprovedJacobiConstraintSolver",
        "UnbuiltGaussSeidelConstraintSolver",
    )

    resolutionMethod = Choice(
        "ProjectedGaussSeidel",
        "Method; UnbuiltGaussSeidel is projected Gauss-Seidel here.",
        choices=(
            "ProjectedGaussSeidel",
            "UnbuiltGaussSeidel",
            "NonsmoothNonlinearConjugateGradient",
        ),
    )
    maxIterations = Int(1000, "Largest number of sweeps.", aliases=("maxIt",))
    tolerance = Real(0.001, "Sum of |W_jj change of lambda_j| at which to stop.", unit="length")
    sor = Real(1.0, "Relaxation, 1 for none.")
    regularizationTerm = Real(0.0, "Added to the diagonal of W.")
    scaleTolerance = Bool(True, "Multiply the tolerance by the number of rows.")
    allVerified = Bool(False, "Unused.")
    newtonIterations = Int(100, "Largest number of sweeps of NonsmoothNonlinearConjugateGradient.")
    multithreading = Bool(False, "Unused.")
    computeGraphs = Bool(False, "Unused.")
    computeConstraintForces = Bool(False, "Fill constraintForces.")
    reverseAccumulateOrder = Bool(False, "Unused.")
    graphErrors = Text("", "Unused.", linkable=False)
    graphConstraints = Text("", "Unused.", linkable=False)
    graphForces = Text("", "Unused.", linkable=False)
    graphViolations = Text("", "Unused.", linkable=False)
    constraintCorrections = LinkType("Unused: all of the scene.", many=True)
    constraintForces = Reals([], "lambda of the last step.", read_only=True)
    currentNumConstraints = Int(0, "Rows of the last step.", read_only=True)
    currentNumConstraintGroups = Int(
        0, "Constraints of the last step, counting each pair of points and contact.", read_only=True
    )
    currentIterations = Int(0, "Sweeps of the last step, plus one.", read_only=True)
    currentError = Real(0.0, "Sum at which the last step stopped.", read_only=True)

    def attach(self, problem: ConstraintSystem) -> None:
        """Check that every constraint can be solved forward.

        Raises:
            SceneError: a constraint is an actuator, effector or equality of inverse control.
        """
        super().attach(problem)
        for constraint in problem.constraints:
            inverse = constraint.inverse_role is not None
            if inverse and not getattr(type(constraint), "effort_is_a_change", False):
                raise constraint.fault(
                    f"is for inverse control, but {self.describe()} solves forward: use "
                    "QPInverseProblemSolver instead, or CableConstraint and PositionConstraint."
                )

    def adjust(self, parameters: np.ndarray) -> None:
        """Change the rows' parameters (n, 6) before the solve."""

    @override
    def solve(self, problem: ConstraintSystem) -> None:
        count = problem.count
        self.currentNumConstraints.set(count)
        self.currentNumConstraintGroups.set(0)
        if not count:
            return
        W = problem.W
        if self.regularizationTerm.get() > 0.0:
            W[np.diag_indices(count)] += self.regularizationTerm.get()
        parameters = np.empty((count, PARAMETERS))
        for block, source, target, _ in problem.blocks:
            parameters[target] = block.parameters()[source]
        for constraint in problem.single:
            start = constraint.constraintIndex.get()
            parameters[start : start + constraint.row_count] = constraint.resolution()
            if constraint.starts_from is not None:
                problem.lam[start : start + constraint.row_count] = constraint.starts_from
            if constraint.solved_at_once:
                rows = slice(start, start + constraint.row_count)
                solution = np.linalg.lstsq(W[rows, rows], problem.delta_free[rows], rcond=None)[0]
                problem.lam[rows] = -solution
        kinds = parameters[:, 0]
        grouped = 0
        if problem.single:
            grouped = int(((kinds == COULOMB) | (kinds == BLOCK)).sum())  # three rows each
        self.currentNumConstraintGroups.set(count - grouped + grouped // 3)
        tolerance = self.tolerance.get() * (count if self.scaleTolerance.get() else 1)
        self.adjust(parameters)
        conjugate = self.resolutionMethod.get() == "NonsmoothNonlinearConjugateGradient"
        solve = conjugate_gradient if conjugate else gauss_seidel
        limit = self.newtonIterations.get() - 1 if conjugate else self.maxIterations.get()
        sweeps, error = solve(
            W, problem.delta_free, parameters, self.sor.get(), tolerance, max(limit, 0), problem.lam
        )
        self.currentIterations.set(sweeps + 1)
        self.currentError.set(error)
        if self.computeConstraintForces.get():
            self.constraintForces.set(problem.lam.copy())


class NNCGConstraintSolver(GenericConstraintSolver):
    """GenericConstraintSolver that always uses NonsmoothNonlinearConjugateGradient."""

    aliases = ("NonsmoothNonlinearConjugateGradientConstraintSolver",)

    def init(self) -> None:
        """Choose the method."""
        self.resolutionMethod.set("NonsmoothNonlinearConjugateGradient")
