"""Line under tension as forces on a state, with exact stiffness."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.mechanics import ForceField, Pairs
from sofa_softctl.runtime.behavior.roles import Cable
from sofa_softctl.runtime.kernels.constraint.cable import cable_geometry, segment_stiffness


class LineTension(ForceField):
    """Forces f = -T dL/dx of a cable of a scene, whose tension T is given [force].

    Negative tension pushes. The stiffness is T d2L/dx2: the resistance of a tight line to lateral
    motion. Not a component of SOFA: it replaces a cable in the search for equilibria.
    """

    exact_tangent = True

    def __init__(self, cable: Cable, **values: Any) -> None:
        super().__init__(**values)
        self.cable = cable
        self.tension = 0.0

    def init(self) -> None:
        """Allocate the cable's geometry."""
        self.cable.check_differentiable()
        self.points = self.cable.indices.get()
        if len(np.unique(self.points)) != len(self.points):
            raise self.cable.fault("passes a point twice: give each of its 'indices' once.")
        self.directions = np.zeros((len(self.points), 3))
        self.blocks = np.zeros((len(self.points), 3, 3))

    def measure(self) -> float:
        """Return the present length; set `directions` to -dL/dx of its points, shape (m, 3)."""
        x = self.state.position.get()
        return cable_geometry(x, self.points, *self._pull(), self.directions)

    def _pull(self) -> tuple[np.ndarray, bool]:
        return self.cable.pullPoint.get(), self.cable.hasPullPoint.get()

    @override
    def add_force(self, force: np.ndarray) -> None:
        self.measure()
        force[self.points] += self.tension * self.directions

    def add_unit_force(self, force: np.ndarray) -> None:
        """Add df/dT at the position of the last `add_force` to force."""
        force[self.points] += self.directions

    def pairs(self) -> Pairs:
        """Return each point paired with itself, and with the point before it."""
        rows = np.concatenate((self.points, self.points[1:]))
        return rows, np.concatenate((self.points, self.points[:-1]))

    @override
    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        x = self.state.position.get()
        segment_stiffness(x, self.points, *self._pull(), self.blocks)
        blocks = factor * self.tension * self.blocks
        diagonal = blocks.copy()
        diagonal[:-1] += blocks[1:]
        slots = np.where(slots < 0, ~slots, slots)  # the blocks are symmetric
        np.add.at(values, slots, np.concatenate((diagonal, -blocks[1:])))

    @override
    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        x = self.state.position.get()
        segment_stiffness(x, self.points, *self._pull(), self.blocks)
        point_v = v[self.points]
        segment_v = point_v.copy()
        segment_v[1:] -= point_v[:-1]
        forces = np.einsum("kij,kj->ki", factor * self.tension * self.blocks, segment_v)
        forces[:-1] -= forces[1:].copy()
        out[self.points] += forces
