"""Meshes of bodies whose elements are doubled, overlap, or leave nodes out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sofa_softctl.runtime.mesh.mesh import Mesh
from sofa_softctl.runtime.mesh.skin import overlaps
from sofa_softctl.scene.geometry import elements_of
from sofa_softctl.scene.plausibility.bodies import Body
from sofa_softctl.scene.plausibility.warning import StartWarning, at


def mesh_warnings(bodies: Sequence[Body]) -> list[StartWarning]:
    """Faults of the tetrahedra of elastic bodies, which `softctl mesh info` knows of files."""
    return [warning for body in bodies if body.elastic for warning in _of_body(body)]


def _of_body(body: Body) -> Iterator[StartWarning]:
    topology, elements = _tetrahedra_of(body)
    if topology is None:
        return
    x = np.asarray(body.state.rest_position.value, dtype=float)
    if len(x) != body.count:
        x = np.asarray(body.state.position.value, dtype=float)
    for text in _faults(x[:, :3], elements):
        yield StartWarning(topology, f"{at(topology)}: {text}")


def _tetrahedra_of(body: Body) -> tuple[Any, np.ndarray]:
    """The topology that has a body's tetrahedra, and these; (None, empty) if there is none."""
    for entry in body.node.objects:
        elements = elements_of(entry, "tetrahedra")
        if "Topology" in entry.getClassName() and len(elements) and elements.max() < body.count:
            return entry, elements
    return None, np.empty((0, 4), dtype=int)


def _faults(x: np.ndarray, elements: np.ndarray) -> Iterator[str]:
    total = len(elements)
    distinct = np.unique(np.sort(elements, axis=1), axis=0)
    if len(distinct) < total:
        yield (
            f"{total - len(distinct)} of {total} tetrahedra are there twice: the body is stiffer "
            "there, and heavier, than its material. Leave the copies out."
        )
    elif faces := overlaps(Mesh(x, tetrahedra=elements)):
        yield (
            f"tetrahedra overlap at {faces} faces: some are folded over, or two meshes lie in one "
            "another. Mesh again, and look at it with 'softctl mesh info'."
        )
    unused = len(x) - len(np.unique(elements))
    if unused:
        yield (
            f"{unused} of {len(x)} nodes belong to no tetrahedron: they have mass and no "
            "stiffness, and fall freely. Leave them out."
        )
    size = float(np.ptp(x, axis=0).max()) or 1.0
    used = x[np.unique(elements)]
    coincident = len(used) - len(np.unique(np.round(used / (1e-9 * size)), axis=0))
    if coincident:
        yield (
            f"{coincident} nodes lie where another one lies: elements are not joined there. Merge "
            "equal nodes."
        )
