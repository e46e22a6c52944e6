"""Stiffness of tight cables, for the implicit step."""

from __future__ import annotations

from typing import Any

import numpy as np
import Sofa.Core

from sofa_softctl.scene.control.system import effort_factor
from sofa_softctl.scene.graph.nodes import nodes_of


class LineStiffness(Sofa.Core.ForceFieldVec3d):  # type: ignore[misc]
    """Geometric stiffness of a cable under tension; it adds no force.

    SOFA's step takes a cable's force with the directions at the start of the step: explicitly.
    Under high tension, or strongly bent, the robot then flutters. With this force field next to
    the cable, the step is linearised in the directions too: implicit like elastic forces, and
    stable. It is written in Python, so it also works in SOFA.

    The stiffness is T d2L/dx2. The tension T is `tension` if it is set; else the one that a
    CableConstraint of valueType "force" imposes in this step; else the one of the last step, since
    the tension of this step is not known before it is solved.

    Args:
        cable: A CableConstraint or CableActuator; the force field is added to its node.
        root: Root of the scene.
        name: Name of the force field.

    Source: geometric stiffness of constraints, Tournier, Nesme, Gilles, Faure, "Stable constrained
        dynamics", ACM Transactions on Graphics 34 (2015).
    """

    def __init__(self, cable: Any, root: Any, name: str = "line_stiffness") -> None:
        Sofa.Core.ForceFieldVec3d.__init__(self, name=name)
        self.cable, self.root = cable, root
        self.tension: float | None = None
        """Tension in this step, or None to read it from the cable [force]."""

    def addForce(self, parameters: Any, force: Any, position: Any, velocity: Any) -> None:
        """Add no force: the cable applies it."""

    def addDForce(self, parameters: Any, df: Any, dx: Any) -> None:
        """Add kFactor df/dx dx to df."""
        first, second, blocks = self._segments()
        displacement = np.vstack((np.asarray(dx.value), np.zeros(3)))  # row -1: the pull point
        pull = np.einsum("kij,kj->ki", blocks, displacement[second] - displacement[first])
        out = np.zeros_like(displacement)
        np.add.at(out, first, pull)
        np.add.at(out, second, -pull)
        with df.writeableArray() as total:
            total += parameters["kFactor"] * out[:-1]

    def addKToMatrix(self, parameters: Any, n_nodes: int, n_dofs: int) -> np.ndarray:
        """Return df/dx as entries (row, column, value) of constant sparsity, shape (k, 3)."""
        first, second, blocks = self._segments()
        rows = np.concatenate((first, second, first, second))
        columns = np.concatenate((first, second, second, first))
        values = np.concatenate((-blocks, -blocks, blocks, blocks))
        free = (rows >= 0) & (columns >= 0)
        axis = np.arange(3)
        entries = np.empty((np.count_nonzero(free), 3, 3, 3))
        entries[..., 0] = (3 * rows[free])[:, None, None] + axis[:, None]
        entries[..., 1] = (3 * columns[free])[:, None, None] + axis
        entries[..., 2] = values[free]
        return entries.reshape(-1, 3)

    def _segments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the points of each segment, (s,), -1: the pull point; blocks, (s, 3, 3).

        A block is T d2L/dx2 of the second point, T (I - e e^T) / length; 0 for zero length.
        """
        cable = self.cable
        points = np.asarray(cable.indices.value, int)
        x = np.asarray(cable.getContext().getMechanicalState().position.value)[points]
        if cable.hasPullPoint.value:
            points = np.concatenate(([-1], points))
            x = np.vstack((np.asarray(cable.pullPoint.value, float), x))
        along = np.diff(x, axis=0)
        length = np.linalg.norm(along, axis=1)[:, None, None]
        outer = along[:, :, None] * along[:, None, :]
        safe = np.where(length > 0.0, length, 1.0)
        blocks = np.where(length > 0.0, (np.eye(3) - outer / safe**2) / safe, 0.0)
        return points[:-1], points[1:], self._tension() * blocks

    def _tension(self) -> float:
        if self.tension is not None:
            return self.tension
        cable = self.cable
        imposed = cable.findData("valueType")
        if imposed is not None and imposed.value == "force":
            values, index = np.ravel(cable.value.value), int(cable.valueIndex.value)
            multiplier = float(values[index]) if index < len(values) else 0.0
        else:
            multiplier = float(cable.force.value)
        return multiplier / effort_factor(self.root, cable)


def add_line_stiffness(root: Any, cable: Any) -> LineStiffness:
    """Add a `LineStiffness` to a cable's node, before the scene is initialised.

    An existing one is returned, because twice the stiffness would be wrong.

    Args:
        root: Root of the scene.
        cable: A CableConstraint or CableActuator.
    """
    name = f"{cable.getName()}_stiffness"
    for component in cable.getContext().objects:
        if isinstance(component, LineStiffness) and component.getName() == name:
            return component
    added: LineStiffness = cable.getContext().addObject(LineStiffness(cable, root, name=name))
    return added


def has_line_stiffness(root: Any) -> bool:
    """Return True if a scene has a `LineStiffness`."""
    return any(
        isinstance(component, LineStiffness)
        for node in nodes_of(root)
        for component in node.objects
    )
