"""Bodies and cables of a scene for recordings, in addition to the positions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sofa_softctl.errors import RecordError, SceneError
from sofa_softctl.record.record import Record
from sofa_softctl.runtime.components.topology.parts import boundary_triangles
from sofa_softctl.scene.control.system import effort_factor
from sofa_softctl.scene.graph.nodes import (
    cable_components,
    elements_of,
    nodes_of,
    own_state,
    path_of,
)
from sofa_softctl.scene.session.material import Material, material_from, material_of

NO_HEXAHEDRA = np.empty((0, 8), dtype=np.int32)
"""Hexahedra in recordings of versions that wrote none."""
_BODIES, _CABLES, _ABOUT = "bodies/", "cables/", "scene"
"""Prefixes of the names of attachments, and the name of the scene's attachment."""


@dataclass(frozen=True)
class Body:
    """A state with tetrahedra, hexahedra or triangles in its node."""

    name: str
    """Path of the state, such as 'trunk/dofs'."""
    rest: np.ndarray
    """Rest positions [length], shape (n, 3)."""
    tetrahedra: np.ndarray
    """Vertex numbers, shape (m, 4); m = 0 for a surface."""
    hexahedra: np.ndarray
    """Vertex numbers, shape (m, 8); m = 0 for a surface."""
    triangles: np.ndarray
    """Vertex numbers, shape (k, 3); only for a body without tetrahedra: surface of hexahedra."""
    obstacle: bool = False
    """Whether the body is a fixed collision object."""
    material: Material | None = None
    """Law of elasticity of the cells, or None if unknown."""

    @property
    def cells(self) -> tuple[str, np.ndarray]:
        """Kind ('tetra', 'hexahedron' or 'triangle') and vertex numbers of the cells."""
        if len(self.tetrahedra):
            return "tetra", self.tetrahedra
        return (
            ("hexahedron", self.hexahedra) if len(self.hexahedra) else ("triangle", self.triangles)
        )

    def cell_values(self, positions: np.ndarray) -> dict[str, np.ndarray]:
        """Return von Mises stress and strain energy of each cell, or {} without a known law.

        Args:
            positions: Positions [length], shape (n, 3).
        """
        if self.material is None:
            return {}
        return self.material.cell_values(positions, self.rest, self.cells[1])


@dataclass(frozen=True)
class Cable:
    """A cable along nodes of a state."""

    name: str
    """Path of the component, such as 'trunk/cable/motor'."""
    state: str
    """Path of the state."""
    indices: np.ndarray
    """Nodes of the state, shape (k,)."""
    pull_point: np.ndarray
    """Pull point [length], shape (1, 3), or (0, 3) if there is none."""
    lambda_per_effort: float
    """SOFA's multiplier of one unit of force, or NaN if unknown."""

    def points(self, positions: np.ndarray) -> np.ndarray:
        """Return the points of the cable [length], shape (..., k or k + 1, 3).

        Args:
            positions: Positions of the state [length], shape (..., n, 3).
        """
        nodes = positions[..., self.indices, :3]
        start = np.broadcast_to(self.pull_point, (*nodes.shape[:-2], *self.pull_point.shape))
        return np.concatenate([start, nodes], axis=-2)


@dataclass(frozen=True)
class Geometry:
    """Bodies and cables of a scene."""

    bodies: list[Body]
    """Bodies in the order of the graph, without the collision surfaces of other bodies."""
    cables: list[Cable]
    """Cables in the order of the graph."""
    gravity: np.ndarray
    """Gravity [length/time^2], shape (3,)."""

    def attachments(self) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
        """Return names and arrays of the attachments to a recording."""
        yield _ABOUT, {"gravity": self.gravity}
        for body in self.bodies:
            arrays = {
                "rest": body.rest,
                "tetrahedra": body.tetrahedra.astype(np.int32),
                "hexahedra": body.hexahedra.astype(np.int32),
                "triangles": body.triangles.astype(np.int32),
                "obstacle": np.array(body.obstacle),
            }
            law = {} if body.material is None else body.material.arrays()
            yield _BODIES + body.name, arrays | law
        for cable in self.cables:
            yield (
                _CABLES + cable.name,
                {
                    "state": np.array(cable.state),
                    "indices": cable.indices.astype(np.int32),
                    "pull_point": cable.pull_point,
                    "lambda_per_effort": np.array(cable.lambda_per_effort),
                },
            )


def geometry_of(root: Any) -> Geometry:
    """Return bodies and cables of an initialised scene, on either backend."""
    nodes = nodes_of(root)
    return Geometry(
        bodies=[_body(state, topology) for state, topology in body_states(nodes)],
        cables=[_cable(root, component) for component in cable_components(nodes)],
        gravity=np.array(root.gravity.value, dtype=float),
    )


def geometry_in(record: Record) -> Geometry:
    """Return bodies and cables of a recorded scene whose positions are in the recording.

    Raises:
        RecordError: The recording has no meshes, like recordings of plans and of old versions.
    """
    attachments = record.attachments
    if _ABOUT not in attachments:
        raise RecordError(
            "The recording has positions, but no meshes: it is of a plan, or an earlier version "
            "made it. Record the run again: softctl run SCENE --record FILE.mcap."
        )
    try:
        bodies = [
            Body(
                name=name.removeprefix(_BODIES),
                rest=arrays["rest"],
                tetrahedra=arrays["tetrahedra"],
                hexahedra=arrays.get("hexahedra", NO_HEXAHEDRA),
                triangles=arrays["triangles"],
                obstacle=bool(arrays["obstacle"]),
                material=material_from(arrays),
            )
            for name, arrays in attachments.items()
            if name.startswith(_BODIES)
        ]
        cables = [
            Cable(
                name=name.removeprefix(_CABLES),
                state=str(arrays["state"]),
                indices=arrays["indices"],
                pull_point=arrays["pull_point"],
                lambda_per_effort=float(arrays["lambda_per_effort"]),
            )
            for name, arrays in attachments.items()
            if name.startswith(_CABLES)
        ]
        gravity = attachments[_ABOUT]["gravity"]
    except KeyError as error:
        raise RecordError(f"The recording's meshes lack the array {error}.") from error
    return Geometry(
        [body for body in bodies if f"{body.name}.position" in record.channels],
        [cable for cable in cables if f"{cable.state}.position" in record.channels],
        gravity,
    )


def body_states(nodes: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Return states with tetrahedra, hexahedra or triangles, each with its topology.

    Skins are omitted: collision surfaces mapped to a body with tetrahedra.
    """
    for node in nodes:
        state = own_state(node)
        if state is None or _is_skin(node):
            continue
        for component in node.objects:
            if (
                "Topology" not in component.getClassName()
                or component.findData("tetrahedra") is None
            ):
                continue
            if any(
                len(elements_of(component, kind))
                for kind in ("tetrahedra", "hexahedra", "triangles")
            ):
                yield state, component
            break


def is_obstacle(state: Any) -> bool:
    """Return True if a state has collision models, and none of them is simulated."""
    models = [e for e in state.getContext().objects if e.getClassName().endswith("CollisionModel")]
    return bool(models) and not any(model.simulated.value for model in models)


def _is_skin(node: Any) -> bool:
    """Return True if a node is only the collision surface of a body above it."""
    if node.getMechanicalMapping() is None:
        return False
    components = [component for parent in node.parents for component in parent.objects]
    return any(
        len(elements_of(component, kind))
        for component in components
        for kind in ("tetrahedra", "hexahedra")
        if "Topology" in component.getClassName()
    )


def surface_of(topology: Any) -> np.ndarray:
    """Return the triangles of a body without tetrahedra, or its hexahedra's surface, (k, 3)."""
    hexahedra = elements_of(topology, "hexahedra")
    if not len(hexahedra):
        return elements_of(topology, "triangles")
    return boundary_triangles(hexahedra)


def _body(state: Any, topology: Any) -> Body:
    tetrahedra, hexahedra = (elements_of(topology, k) for k in ("tetrahedra", "hexahedra"))
    rest = np.array(state.rest_position.value, dtype=float)
    if len(rest) != len(state.position.value):  # SOFA's mapped states may have none
        rest = np.array(state.position.value, dtype=float)
    return Body(
        name=path_of(state),
        rest=rest[:, :3],
        tetrahedra=tetrahedra,
        hexahedra=hexahedra,
        triangles=np.empty((0, 3), int) if len(tetrahedra) else surface_of(topology),
        obstacle=is_obstacle(state),
        material=material_of(state.getContext(), len(tetrahedra) or len(hexahedra)),
    )


def _cable(root: Any, component: Any) -> Cable:
    state = component.getContext().getMechanicalState()
    point = np.array(component.pullPoint.value, dtype=float).reshape(1, 3)
    try:
        factor = effort_factor(root, component)
    except SceneError:  # no integrator moves its state
        factor = float("nan")
    return Cable(
        name=path_of(component),
        state=path_of(state),
        indices=np.array(component.indices.value, dtype=int),
        pull_point=point if component.hasPullPoint.value else point[:0],
        lambda_per_effort=factor,
    )
