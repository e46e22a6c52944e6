"""The constraint system of a step in compliance space, the same on both backends.

The only place that knows SOFA's lambda: what a scene calls effort (force, torque, pressure) is
lambda / effort_factor, whatever dt and integrator are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sofa_softctl.errors import SceneError


class ComplianceSystem:
    """W, delta_free and lambda of the scene, by the components that own the rows.

    Valid inside a step, from onBuildConstraintSystemEndEvent to onSolveConstraintSystemEndEvent.
    Source: Coevoet, Escande, Duriez 2019, eq. (4).
    """

    def __init__(self, root: Any) -> None:
        self.root = root
        self.solver = _constraint_solver(root)
        self._factors: dict[int, float] = {}

    def rows(self, components: Sequence[Any]) -> np.ndarray:
        """Rows of the components, in their order, shape (n,)."""
        parts = []
        for component in components:
            first = int(component.constraintIndex.value)
            parts.append(np.arange(first, first + row_count(component)))
        return np.concatenate(parts) if parts else np.empty(0, dtype=int)

    def compliance(self, rows: np.ndarray, columns: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """W[rows, columns] in displacement per effort; `factor`: effort factor of each column."""
        W = np.asarray(self.solver.W())[np.ix_(rows, columns)]
        scaled: np.ndarray = W * factor[None, :]
        return scaled

    def delta_free(self, rows: np.ndarray) -> np.ndarray:
        """delta of the rows in the free motion, shape (n,)."""
        found: np.ndarray = np.asarray(self.solver.dfree())[rows]
        return found

    def set_effort(self, rows: np.ndarray, effort: np.ndarray, factor: np.ndarray) -> None:
        """What the correction will apply on the rows."""
        self.solver.lambda_force()[rows] = effort * factor

    def effort_factor(self, component: Any) -> float:
        """lambda of one unit of effort on the component's rows.

        dt with a second-order integrator (lambda is an impulse), 1 in first order, 1 / dt with a
        static solver. Source: the integrators' right-hand sides in SOFA.
        """
        dt = float(self.root.dt.value)
        solver = _integrator(component)
        if solver.getClassName() == "StaticSolver":
            return 1.0 / dt
        first_order = solver.findData("firstOrder")
        return 1.0 if first_order is not None and first_order.value else dt


def row_count(component: Any) -> int:
    """Rows that a stock component makes.

    Raises:
        SceneError: the number of rows of such a component is not known.
    """
    kind = component.getClassName()
    if kind.startswith("Cable"):
        return 1
    if kind.startswith("Position"):
        used = int(np.count_nonzero(np.asarray(component.useDirections.value)))
        return used * len(component.indices.value)
    raise SceneError(
        f"{component.getPathName()} is a {kind}: inverse control knows the rows of CableConstraint "
        "and PositionConstraint."
    )


def _constraint_solver(root: Any) -> Any:
    for entry in root.objects:
        if callable(getattr(entry, "lambda_force", None)):
            return entry
    raise SceneError(
        "The scene has no constraint solver: add a GenericConstraintSolver to the root, before the "
        "controller."
    )


def _integrator(component: Any) -> Any:
    node = component.getContext()
    while node is not None:
        for entry in node.objects:
            if entry.getClassName() in ("EulerImplicitSolver", "StaticSolver"):
                return entry
        parents = list(node.parents)
        node = parents[0] if parents else None
    raise SceneError(f"{component.getPathName()} is moved by no EulerImplicitSolver above it.")
