"""Implicit Euler with a linear solver."""

from __future__ import annotations

from typing import Any


def DefaultSolver(node: Any, iterative: bool = True) -> Any:
    """Add an integrator, and as linear solver conjugate gradients or a factorisation.

    Returns:
        The linear solver.
    """
    node.addObject("EulerImplicitSolver", name="TimeIntegrationSchema")
    if iterative:
        return node.addObject(
            "CGLinearSolver", name="LinearSolver", iterations=25, tolerance=1e-5, threshold=1e-5
        )
    return node.addObject(
        "SparseLDLSolver", name="LinearSolver", template="CompressedRowSparseMatrixd"
    )
