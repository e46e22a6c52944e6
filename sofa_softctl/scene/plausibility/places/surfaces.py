"""Misplaced surfaces of bodies, and chambers that are open or misplaced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sofa_softctl.runtime.mesh.skin import Skin, measure_skin
from sofa_softctl.scene.graph.nodes import elements_of
from sofa_softctl.scene.plausibility.bodies import StartWarning, at, point
from sofa_softctl.scene.plausibility.places.carriers import CarrierMesh, nearest_among

BOUNDARY_DISTANCE_MAX = 0.2
"""Distance of a chamber's triangle from the boundary of its mesh, by the longer of the edges of
both [-].

Triangles of walls that were meshed separately come to 0.18 by their coarseness."""
OFF_BOUNDARY_FRACTION_MAX = 0.1
"""Fraction of a chamber's triangles further than that, above which it is warned of [-]."""
_LATTICE = np.array([(i, j, 4 - i - j) for i in range(5) for j in range(5 - i)]) / 4.0
"""Barycentric coordinates of points that stand for a triangle, shape (15, 3)."""
SHAPE_TOLERANCE = 0.02
"""Relative difference of two boxes or volumes up to which they are the same [-]."""
OFFSET_MIN = 0.03
"""Distance between the centres of a body and of a surface of its shape, by its size, above which
the surface is misplaced [-]."""
SCALED_MIN = 0.1
"""Difference of a surface's scale from 1, if it has the shape of the body, above which its size is
wrong [-]."""
TURNED_MIN = 0.1
"""Difference between the boxes of a body and of a surface of its volume, by its size, above which
the surface is rotated [-]."""


def surface_warnings(
    pressed: Sequence[Any], node: Any, x: np.ndarray, about: Any, carrier: CarrierMesh | None
) -> Iterator[StartWarning]:
    """Warn of the surface of a node.

    Args:
        pressed: Components that press on it.
        node: The node.
        x: Points [length], shape (n, 3).
        about: Component that a warning is about if nothing presses on it.
        carrier: The mesh that carries it; None if its place is not to be looked at.
    """
    if carrier is not None and not pressed:
        yield from _surface_beside(about, node, x, carrier)
    for cavity in pressed:
        faults = _open_chamber(cavity, x)
        if carrier is not None and not faults:
            faults = _off_boundary(cavity, x, carrier)
        yield from faults


def _surface_beside(
    about: Any, node: Any, x: np.ndarray, carrier: CarrierMesh
) -> Iterator[StartWarning]:
    """Warn of a misplaced surface with the shape of the body that carries it."""
    topology = next((e for e in node.objects if len(triangles_of(e))), None)
    if topology is None or (cells := triangles_of(topology)).max() >= len(x):
        return
    surface = _box(x[cells.ravel()])
    body = _box(carrier.x[carrier.elements.ravel()])
    size = float(np.ptp(body, axis=0).max())
    difference = float(np.abs(np.ptp(surface, axis=0) - np.ptp(body, axis=0)).max())
    offset = surface.mean(axis=0) - body.mean(axis=0)
    is_turned, scale = False, 1.0
    if difference > SHAPE_TOLERANCE * size:
        if carrier.elements.shape[1] != 4:
            return
        skin = surface_of(topology, x)
        if not (
            skin.is_closed and carrier.skin.is_closed and skin.volume > 0.0 < carrier.skin.volume
        ):
            return
        scale = float(np.cbrt(skin.volume / carrier.skin.volume))
        if abs(scale - 1.0) < SHAPE_TOLERANCE / 3.0:
            offset = _centroid(x, skin) - _centroid(carrier.x, carrier.skin)
            is_turned = difference > TURNED_MIN * size
        elif abs(scale - 1.0) < SCALED_MIN or not _is_scaled(surface, body, scale):
            return
    if abs(scale - 1.0) >= SCALED_MIN:
        fault = f"is {scale:.3g} times as large"
    elif float(np.linalg.norm(offset)) > OFFSET_MIN * size:
        rounded = np.round(offset / size, 6) * size + 0.0  # without -0
        fault = f"stands {point(rounded)} beside it"
    elif is_turned:
        fault = f"is turned against it: it reaches from {point(surface[0])} to {point(surface[1])}"
    else:
        return
    yield StartWarning(
        about,
        f"{at(about)}: its surface has the shape of the mesh of '{carrier.path}', which reaches "
        f"{carrier.extents()}, and {fault}. Give both loaders the same translation, rotation and "
        "scale.",
    )


def _is_scaled(surface: np.ndarray, body: np.ndarray, scale: float) -> bool:
    """Return True if the box of a body times a factor is as large as another one."""
    expected = scale * np.ptp(body, axis=0)
    difference = np.abs(np.ptp(surface, axis=0) - expected)
    return bool((difference < SHAPE_TOLERANCE * expected.max()).all())


def _box(x: np.ndarray) -> np.ndarray:
    return np.array([x.min(axis=0), x.max(axis=0)])


def _centroid(x: np.ndarray, skin: Skin) -> np.ndarray:
    """Return the centre of the volume that a closed surface encloses [length], shape (3,)."""
    a, b, c = np.moveaxis((x - x[:1])[skin.triangles], 1, 0)
    volumes = np.einsum("ki,ki->k", a, np.cross(b, c)) / 6.0
    return np.asarray(x[0] + volumes @ (a + b + c) / (4.0 * skin.volume))


def _open_chamber(cavity: Any, x: np.ndarray) -> list[StartWarning]:
    if cavity.findData("volumeGrowth") is None:
        return []
    skin = surface_of(cavity, x)
    if not len(skin.triangles) or skin.is_closed:
        return []
    if skin.crowded_edges:
        fault = f"{uneven(skin)} Leave the copies out, or give each chamber its own component."
    elif skin.open_edges:
        fault = (
            f"its surface is open: {skin.open_edges} edges belong to one of the "
            f"{len(skin.triangles)} triangles only, so its volume is not that of a chamber, and "
            "pressure pushes the body as a whole. Close the surface, or merge equal points."
        )
    else:
        fault = f"{uneven(skin)} Make normals consistent when exporting."
    return [StartWarning(cavity, f"{at(cavity)}: {fault}")]


def uneven(skin: Skin) -> str:
    """Return a sentence if triangles have walls within, or are turned both ways, else ''."""
    if skin.crowded_edges:
        return (
            f"{skin.crowded_edges} edges of its surface belong to three triangles or more: it is "
            "there twice, or has walls within."
        )
    if skin.twisted_edges:
        return (
            f"its triangles are not turned alike: at {skin.twisted_edges} edges one faces in and "
            "the other one out."
        )
    return ""


def _off_boundary(cavity: Any, x: np.ndarray, carrier: CarrierMesh) -> list[StartWarning]:
    """Warn of a chamber whose wall is off the boundary of the mesh that it presses on.

    By the centres of its triangles: corners of a chamber that is turned may lie on it, too.
    Cells of a grid, which know nothing of chambers, may hold it, but not leave it out.
    """
    skin = surface_of(cavity, x)
    if not len(skin.triangles) or not len(carrier.skin.triangles):
        return []
    walls = x[skin.triangles]
    corners = carrier.x[carrier.skin.triangles]
    boundary = np.einsum("pk,tkc->tpc", _LATTICE, corners).reshape(-1, 3)
    centres = walls.mean(axis=1)
    distance, nearest = nearest_among(boundary)(centres)
    if carrier.elements.shape[1] == 8:
        a, b, c = corners[nearest // len(_LATTICE)].transpose(1, 0, 2)
        outwards = np.einsum("pc,pc->p", np.cross(b - a, c - a), centres - boundary[nearest])
        distance = np.where(outwards > 0.0, distance, 0.0)
    lengths, wall_edges = (
        np.linalg.norm(t - t[:, [1, 2, 0]], axis=2).mean(axis=1) for t in (corners, walls)
    )
    edge = lengths[nearest // len(_LATTICE)]
    is_off = distance > BOUNDARY_DISTANCE_MAX * np.maximum(edge, wall_edges)
    if is_off.mean() <= OFF_BOUNDARY_FRACTION_MAX:
        return _outer_skin(cavity, skin, x, carrier)
    return [
        StartWarning(
            cavity,
            f"{at(cavity)}: {is_off.sum()} of its {len(walls)} triangles are off the boundary "
            f"of the mesh of '{carrier.path}', by {np.median(distance[is_off]):.3g} (median), and "
            f"its elements there are {np.median(edge[is_off]):.3g} long: the pressure acts within "
            "the material, or in the void. Was one of the two moved, turned or scaled?",
        )
    ]


def _outer_skin(cavity: Any, skin: Skin, x: np.ndarray, carrier: CarrierMesh) -> list[StartWarning]:
    """Warn of a cavity with the outer surface of the body."""
    surface, body = _box(x[skin.triangles.ravel()]), _box(carrier.x[carrier.elements.ravel()])
    is_apart = np.abs(surface - body).max() > 1e-3 * np.ptp(body, axis=0).max()
    is_less = abs(skin.volume) < (1.0 - SHAPE_TOLERANCE) * abs(carrier.skin.volume)
    if cavity.findData("volumeGrowth") is None or is_apart or is_less:
        return []
    return [
        StartWarning(
            cavity,
            f"{at(cavity)}: its surface is the outer one of the mesh of '{carrier.path}', which "
            f"reaches {carrier.extents()}: the pressure acts on the outside, in place of a "
            "chamber. Give the triangles of the chamber within.",
        )
    ]


def surface_of(component: Any, x: np.ndarray) -> Skin:
    """Return the surface of a component, with coincident points merged."""
    triangles = triangles_of(component)
    size = float(np.ptp(x, axis=0).max()) or 1.0
    _, first, merged = np.unique(
        np.round(x / (1e-6 * size)), axis=0, return_index=True, return_inverse=True
    )
    return measure_skin(x, first[merged.ravel()][triangles])


def triangles_of(component: Any) -> np.ndarray:
    """Return the triangles of a component, two for each quad, shape (n, 3)."""
    quads = elements_of(component, "quads")
    cells = [elements_of(component, "triangles"), quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]
    return np.concatenate(cells)
