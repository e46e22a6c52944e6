"""Edge2QuadTopologicalMapping: a tube around the frames of a beam."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sofa_softctl.runtime.components.topology.base import Topology
from sofa_softctl.runtime.components.topology.parts import EDGES_OF_QUAD, unique_parts
from sofa_softctl.runtime.components.topology.topological_mapping import TopologicalMapping
from sofa_softctl.runtime.core.data.types import Bool, Int, Integers, Real, Vector
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.kernels.mapping.rigid import rotated


class Edge2QuadTopologicalMapping(TopologicalMapping):
    """Circles of vertices around each frame, in its second and third direction, and quads between.

    Vertex j of the circle around frame i has the number i N + j; the state beside the output gets
    them as its positions. For ellipses `radius` is the extent along the cross product of the focal
    axis and the first direction, `radiusFocal` that along the focal axis.
    """

    needs: ClassVar[str] = "edges"

    nbPointsOnEachCircle = Int(0, "Vertices of each circle.")
    radius = Real(1.0, "Radius of the circles.", unit="length")
    radiusFocal = Real(0.0, "Radius along the focal axis; a circle at 0.", unit="length")
    focalAxis = Vector(3, [0.0, 0.0, 1.0], "Axis of ellipses, in each frame.")
    edgeList = Integers([], "Edges to surround; all by default.")
    flipNormals = Bool(False, "Turn the quads over.")
    toQuadContainer = LinkType("Unused: the output holds the quads.")
    toQuadModifier = LinkType("Unused: the mesh does not change.")

    def init(self) -> None:
        """Fill the output, and the state beside it.

        Raises:
            SceneError: there is no radius, less than one vertex a circle, or no frames.
        """
        if not (self.radius.isSet() or self.radiusFocal.isSet()) or self.radius.get() <= 0.0:
            raise self.fault(f"needs a positive 'radius', got {self.radius.get():g}.")
        if self.nbPointsOnEachCircle.get() < 1:
            raise self.fault(
                "needs 'nbPointsOnEachCircle' from 1 on, got "
                f"{self.nbPointsOnEachCircle.get()}; 10 makes round tubes."
            )
        super().init()
        source, target = self.topologies()
        states = [] if target._context is None else target._context.of("state")
        if states:
            self._place(source, states[0])

    def mapped(self, source: Topology) -> dict[str, np.ndarray]:
        """See TopologicalMapping."""
        count = self.nbPointsOnEachCircle.get()
        edges, chosen = source.elements("edges"), self.edgeList.get()
        edges = edges[chosen] if len(chosen) else edges
        j = np.arange(count)
        first, second = (edges[:, [end]] * count for end in (0, 1))
        after = (j + 1) % count
        quads = np.stack([first + j, second + j, second + after, first + after], axis=2)
        if self.flipNormals.get():
            # SOFA begins with the last vertex, but with the first where edges are chosen
            quads = quads[:, :, [0, 3, 2, 1] if len(chosen) else [3, 2, 1, 0]]
        quads = quads.reshape(-1, 4)
        return {"quads": quads, "edges": unique_parts(quads, EDGES_OF_QUAD)}

    def _place(self, source: Topology, state: Any) -> None:
        """Give the state its positions: the circles around the frames of now."""
        frames = None if source._context is None else source._context.find_upward("state")
        if frames is None or frames._data["position"].get().shape[1] != 7:
            raise self.fault(
                f"needs frames beside {source.describe()}: a MechanicalObject with "
                "template='Rigid3'."
            )
        poses = frames._data["position"].get()
        radius, focal = self.radius.get(), self.radiusFocal.get()
        y, z = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])
        if focal > 0.0:
            z = self.focalAxis.get() / np.linalg.norm(self.focalAxis.get())
            y = np.cross(z, [1.0, 0.0, 0.0])
        count = self.nbPointsOnEachCircle.get()
        angles = 2.0 * np.arange(count) * np.pi / count
        circle = radius * np.outer(np.cos(angles), y)
        circle += (focal if focal > 0.0 else radius) * np.outer(np.sin(angles), z)
        turned = rotated(np.repeat(poses[:, 3:], count, axis=0), np.tile(circle, (len(poses), 1)))
        places = np.repeat(poses[:, :3], count, axis=0) + turned
        state.resize(places)
        state._data["position"].set(places)
