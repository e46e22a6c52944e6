"""Stiffness of tight cables, for the implicit step."""

from __future__ import annotations

from typing import Any

import numpy as np
import Sofa.Core

from sofa_softctl.scene.control.system import effort_factor
from sofa_softctl.scene.graph.nodes import nodes_of


class LineStiffness(Sofa.Core.ForceFieldVec3d):  # type: ignore[misc]
    """Stiffness that a cable under tension gives to its points; it adds no force.

    SOFA's step takes a cable's force with the directions at the start of the step, whatever it does
    to them: explicitly. Under high tension, or far bent, the robot then flutters. With this force
    field beside the cable, the step is linearised in the directions too: implicit as that of
    elastic forces, and stable. A Python force field, so that it works in SOFA as well.

    The stiffness is T d2L/dx2, with the tension T of the last step, or of this one where `tension`
    is set.

    Args:
        cable: A CableConstraint or CableActuator; this is added to its node.
        root: Root of the scene.
        name: Name of the force field.

    Source: geometric stiffness of constraints, Tournier, Nesme, Gilles, Faure, "Stable constrained
        dynamics", ACM Transactions on Graphics 34 (2015).
    """

    def __init__(self, cable: Any, root: Any, name: str = "line_stiffness") -> None:
        Sofa.Core.ForceFieldVec3d.__init__(self, name=name)
        self.cable, self.root = cable, root
        self.tension: float | None = None
        """Tension of this step [force]; None: that of the last step."""

    def addForce(self, parameters: Any, force: Any, position: Any, velocity: Any) -> None:
        """No force: that is the cable's."""

    def addDForce(self, parameters: Any, df: Any, dx: Any) -> None:
        """df += kFactor df/dx dx."""
        first, second, blocks = self._segments()
        moved = np.vstack((np.asarray(dx.value), np.zeros(3)))  # row -1: the pull point
        pull = np.einsum("kij,kj->ki", blocks, moved[second] - moved[first])
        out = np.zeros_like(moved)
        np.add.at(out, first, pull)
        np.add.at(out, second, -pull)
        with df.writeableArray() as total:
            total += parameters["kFactor"] * out[:-1]

    def addKToMatrix(self, parameters: Any, n_nodes: int, n_dofs: int) -> np.ndarray:
        """df/dx as entries (row, column, value), shape (k, 3); always in the same places."""
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
        """Both points of each straight segment, (s,), -1 for the pull point; blocks, (s, 3, 3).

        A block is T d2L/dx2 of the second point, T (I - e e^T) / length; 0 without length.
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
        return float(self.cable.force.value) / effort_factor(self.root, self.cable)


def add_line_stiffness(root: Any, cable: Any) -> LineStiffness:
    """Add a `LineStiffness` to a cable's node, before the scene is initialised.

    One that is there already is returned: twice the stiffness would be wrong.

    Args:
        root: Root of the scene.
        cable: A CableConstraint or CableActuator.
    """
    name = f"{cable.getName()}_stiffness"
    for entry in cable.getContext().objects:
        if isinstance(entry, LineStiffness) and entry.getName() == name:
            return entry
    added: LineStiffness = cable.getContext().addObject(LineStiffness(cable, root, name=name))
    return added


def has_line_stiffness(root: Any) -> bool:
    """Whether a scene has a `LineStiffness`."""
    return any(
        isinstance(entry, LineStiffness) for node in nodes_of(root) for entry in node.objects
    )
