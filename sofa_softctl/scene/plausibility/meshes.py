"""Meshes of bodies whose elements are doubled, overlap, or leave nodes out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sofa_softctl.runtime.mesh.mesh import Mesh
from sofa_softctl.runtime.mesh.skin import overlaps, rows_as_keys
from sofa_softctl.scene.plausibility.bodies import Body
from sofa_softctl.scene.plausibility.warning import StartWarning, at


def mesh_warnings(bodies: Sequence[Body]) -> list[StartWarning]:
    """Faults of the tetrahedra of elastic bodies, which `softctl info` knows of files."""
    return [warning for body in bodies if body.elastic for warning in _of_body(body)]


def _of_body(body: Body) -> Iterator[StartWarning]:
    if body.elements.shape[1] == 4 and len(body.elements):
        for text in _faults(body.rest, body.elements):
            yield StartWarning(body.topology, f"{at(body.topology)}: {text}")


def _faults(x: np.ndarray, elements: np.ndarray) -> Iterator[str]:
    total = len(elements)
    distinct = np.unique(rows_as_keys(elements))
    if len(distinct) < total:
        yield (
            f"{total - len(distinct)} of {total} tetrahedra are there twice: the body is stiffer "
            "there, and heavier, than its material. Leave the copies out."
        )
    elif faces := overlaps(Mesh(x, tetrahedra=elements)):
        yield (
            f"tetrahedra overlap at {faces} faces: some are folded over, or two meshes lie in one "
            "another. Mesh again, and look at it with 'softctl info'."
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
