"""Bodies and cables of a scene, as recordings keep them: what positions alone do not say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sofa_softctl.errors import RecordError, SceneError
from sofa_softctl.record.record import Record
from sofa_softctl.runtime.components.topology.parts import faces_of_hexahedra
from sofa_softctl.scene.control.system import effort_factor
from sofa_softctl.scene.graph.nodes import (
    cable_components,
    elements_of,
    nodes_of,
    own_state,
    path_of,
)
from sofa_softctl.scene.session.material import Material, material_from, material_of

_BODIES, _CABLES, _ABOUT = "bodies/", "cables/", "scene"
"""What the names of attachments begin with, and the name of that of the whole scene."""


@dataclass(frozen=True)
class Body:
    """A state with tetrahedra, hexahedra or triangles beside it."""

    name: str
    """Path of the state, such as 'trunk/dofs'."""
    rest: np.ndarray
    """Rest positions [length], shape (n, 3)."""
    tetrahedra: np.ndarray
    """Vertex numbers, shape (m, 4); m = 0: a surface."""
    triangles: np.ndarray
    """Vertex numbers, shape (k, 3); of a body without tetrahedra, the outer ones of hexahedra."""
    obstacle: bool = False
    """Whether it can be touched, and nothing moves it."""
    material: Material | None = None
    """Law of elasticity of the tetrahedra, where stresses can be had from it."""

    @property
    def cells(self) -> tuple[str, np.ndarray]:
        """Kind ('tetra' or 'triangle') and vertex numbers of what it is made of."""
        return ("tetra", self.tetrahedra) if len(self.tetrahedra) else ("triangle", self.triangles)

    def von_mises(self, positions: np.ndarray) -> np.ndarray | None:
        """Von Mises stress of each tetrahedron [pressure], shape (m,); None: not known.

        Args:
            positions: Shape (n, 3).
        """
        if self.material is None:
            return None
        return self.material.von_mises(positions, self.rest, self.tetrahedra)


@dataclass(frozen=True)
class Cable:
    """A cable along nodes of a state."""

    name: str
    """Path of its component, such as 'trunk/cable/motor'."""
    state: str
    """Path of the state."""
    indices: np.ndarray
    """Nodes of the state, shape (k,)."""
    pull_point: np.ndarray
    """Where it is pulled from [length], shape (1, 3), or (0, 3) where there is no such point."""
    lambda_per_effort: float
    """SOFA's multiplier of one unit of force; NaN where it is not known."""

    def points(self, positions: np.ndarray) -> np.ndarray:
        """Points of the cable [length], shape (..., k or k + 1, 3).

        Args:
            positions: Of its state, shape (..., n, 3).
        """
        along = positions[..., self.indices, :3]
        begin = np.broadcast_to(self.pull_point, (*along.shape[:-2], *self.pull_point.shape))
        return np.concatenate([begin, along], axis=-2)


@dataclass(frozen=True)
class Geometry:
    """Bodies and cables of a scene."""

    bodies: list[Body]
    """In the order of the graph; skins of other bodies, which they touch with, are left out."""
    cables: list[Cable]
    """In the order of the graph."""
    gravity: np.ndarray
    """Gravity [length/time^2], shape (3,)."""

    def attachments(self) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
        """Name and arrays of each, for a recording."""
        yield _ABOUT, {"gravity": self.gravity}
        for body in self.bodies:
            arrays = {
                "rest": body.rest,
                "tetrahedra": body.tetrahedra.astype(np.int32),
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
    """Bodies and cables of a scene that is initialised, on either backend."""
    nodes = nodes_of(root)
    return Geometry(
        bodies=[_body(state, topology) for state, topology in body_states(nodes)],
        cables=[_cable(root, entry) for entry in cable_components(nodes)],
        gravity=np.array(root.gravity.value, dtype=float),
    )


def geometry_in(record: Record) -> Geometry:
    """Bodies and cables of a recorded scene whose positions are in the recording.

    Raises:
        RecordError: The recording has none, as those of plans and of earlier versions.
    """
    found = record.attachments
    if _ABOUT not in found:
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
                triangles=arrays["triangles"],
                obstacle=bool(arrays["obstacle"]),
                material=material_from(arrays),
            )
            for name, arrays in found.items()
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
            for name, arrays in found.items()
            if name.startswith(_CABLES)
        ]
        gravity = found[_ABOUT]["gravity"]
    except KeyError as error:
        raise RecordError(f"The recording's meshes lack the array {error}.") from error
    return Geometry(
        [body for body in bodies if f"{body.name}.position" in record.channels],
        [cable for cable in cables if f"{cable.state}.position" in record.channels],
        gravity,
    )


def body_states(nodes: list[Any]) -> Iterator[tuple[Any, Any]]:
    """States that have tetrahedra, hexahedra or triangles beside them, each with its topology.

    Skins are left out: surfaces that follow a body with tetrahedra, for it to touch with.
    """
    for node in nodes:
        state = own_state(node)
        if state is None or _is_skin(node):
            continue
        for entry in node.objects:
            if "Topology" not in entry.getClassName() or entry.findData("tetrahedra") is None:
                continue
            if any(
                len(elements_of(entry, kind)) for kind in ("tetrahedra", "hexahedra", "triangles")
            ):
                yield state, entry
            break


def is_obstacle(state: Any) -> bool:
    """Whether it can be touched, and nothing moves it."""
    models = [e for e in state.getContext().objects if e.getClassName().endswith("CollisionModel")]
    return bool(models) and not any(model.simulated.value for model in models)


def _is_skin(node: Any) -> bool:
    """Whether a node only gives a body above it, which is shown itself, something to touch with."""
    if node.getMechanicalMapping() is None:
        return False
    above = [entry for parent in node.parents for entry in parent.objects]
    return any(
        len(elements_of(entry, kind))
        for entry in above
        for kind in ("tetrahedra", "hexahedra")
        if "Topology" in entry.getClassName()
    )


def surface_of(topology: Any) -> np.ndarray:
    """Triangles of a body without tetrahedra, shape (k, 3): of the outer sides of its hexahedra."""
    hexahedra = elements_of(topology, "hexahedra")
    if not len(hexahedra):
        return elements_of(topology, "triangles")
    faces, counts = faces_of_hexahedra(hexahedra)
    outer = faces[counts == 1]
    return np.concatenate([outer[:, [0, 1, 2]], outer[:, [0, 2, 3]]])


def _body(state: Any, topology: Any) -> Body:
    tetrahedra = elements_of(topology, "tetrahedra")
    rest = np.array(state.rest_position.value, dtype=float)
    if len(rest) != len(state.position.value):  # SOFA's mapped states may have none
        rest = np.array(state.position.value, dtype=float)
    return Body(
        name=path_of(state),
        rest=rest[:, :3],
        tetrahedra=tetrahedra,
        triangles=np.empty((0, 3), int) if len(tetrahedra) else surface_of(topology),
        obstacle=is_obstacle(state),
        material=material_of(state.getContext(), len(tetrahedra)),
    )


def _cable(root: Any, entry: Any) -> Cable:
    state = entry.getContext().getMechanicalState()
    point = np.array(entry.pullPoint.value, dtype=float).reshape(1, 3)
    try:
        factor = effort_factor(root, entry)
    except SceneError:  # nothing moves what it pulls at
        factor = float("nan")
    return Cable(
        name=path_of(entry),
        state=path_of(state),
        indices=np.array(entry.indices.value, dtype=int),
        pull_point=point if entry.hasPullPoint.value else point[:0],
        lambda_per_effort=factor,
    )
