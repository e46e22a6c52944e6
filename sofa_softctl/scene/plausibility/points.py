"""Points that do not lie where they should: outside the mesh that carries them, in other units."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sofa_softctl.runtime.mesh.skin import Skin, measured
from sofa_softctl.scene.body import body_size, cable_components, elements_of
from sofa_softctl.scene.channels import nodes_of, own_state
from sofa_softctl.scene.plausibility.bodies import StartWarning, at, point
from sofa_softctl.scene.plausibility.carrier import CarrierMesh, nearest_points

PULL_DISTANCE_MAX = 5.0
"""Distance of a pull point from its cable by the size of the body, above which it is warned of."""
PAIR_DISTANCE_MAX = 0.1
"""Distance of two nodes that are joined, by the size of the body, above which it is warned of."""
PAIRS = {
    "BilateralLagrangianConstraint": ("object1", "first_point", "object2", "second_point"),
    "AttachProjectiveConstraint": ("object1", "indices1", "object2", "indices2"),
    "RestShapeSpringsForceField": ("mstate", "points", "external_rest_shape", "external_points"),
}
"""Components that join nodes in pairs: link and indices of the first, and of the second."""
UNIT_FACTORS = (1000.0, 10.0, 0.1, 0.001)
"""Factors between units of length that are tried where points do not fit their mesh."""
COLLAPSED_RATIO = 0.1
"""Size of a surface or cable by the edge of the element around it, below which it is no size."""
BOUNDARY_DISTANCE_MAX = 0.2
"""Median distance of a chamber's wall from the boundary of its mesh, by the edges there [-].

Walls that were meshed separately come to 0.1 by their coarseness."""
_LATTICE = np.array([(i, j, 4 - i - j) for i in range(5) for j in range(5 - i)]) / 4.0
"""Barycentric coordinates of points that stand for a triangle, shape (15, 3)."""
REVERSED = -0.8
"""Cosine of the angle between two pieces of a cable below which it turns back on itself [-]."""
_PRESSED = "SurfacePressure"
"""How the names of components begin that press on a surface."""


def point_warnings(root: Any) -> list[StartWarning]:
    """Mapped points outside their mesh, open or misplaced chambers, distant pull points."""
    warnings: list[StartWarning] = []
    carriers: dict[str, CarrierMesh] = {}
    for node in nodes_of(root):
        for entry in node.objects:
            warnings += _distant_pairs(entry, node)
        state = own_state(node) or _visual_of(node)
        if state is None or not len(state.position.value):
            continue
        x = np.asarray(state.position.value, dtype=float)[:, :3]
        mapping, carrier = _barycentric_of(node), None
        misplaced: list[StartWarning] = []
        if mapping is not None:
            carrier = _carrier_of(mapping, carriers)
            if carrier is not None:
                about = _user_of(node) or mapping
                misplaced = [*_outside(about, x, carrier)]
                misplaced += [] if misplaced else _collapsed(node, about, x, carrier)
                warnings += misplaced
        for cable in cable_components([node]):
            warnings += [*_pulled_from_afar(cable, x), *_to_and_fro(cable, x)]
        for entry in node.objects:
            if entry.getClassName().startswith(_PRESSED):
                faults = _open_chamber(entry, x)
                if carrier is not None and not (misplaced or faults):
                    faults = _off_boundary(entry, x, carrier)
                warnings += faults
    return warnings


def _visual_of(node: Any) -> Any:
    """The surface that a GUI draws in a node; None if there is none."""
    visuals = [entry for entry in node.objects if entry.getClassName() == "OglModel"]
    return visuals[0] if visuals else None


def _barycentric_of(node: Any) -> Any:
    mappings = [e for e in node.objects if e.getClassName() == "BarycentricMapping"]
    return mappings[0] if mappings else None


def _user_of(node: Any) -> Any:
    """The component that the points of a node are for; None if it cannot be said."""
    kinds = ("Cable", "Position", _PRESSED)
    users = [entry for entry in node.objects if entry.getClassName().startswith(kinds)]
    users += [entry for entry in node.objects if entry.getClassName().endswith("CollisionModel")]
    return users[0] if users else None


def _outside(about: Any, x: np.ndarray, carrier: CarrierMesh) -> Iterator[StartWarning]:
    """Points farther than an element outside."""
    distance, edge = carrier.distances(x)
    is_outside = (distance > edge) & (edge > 0.0)
    if not is_outside.any():
        return
    worst = int(np.argmax(np.where(is_outside, distance, 0.0)))
    yield StartWarning(
        about,
        f"{at(about)}: its point {worst} at {point(x[worst])} is {distance[worst]:.3g} from "
        f"the nearest node of the mesh of '{carrier.path}', more than an element "
        f"({edge[worst]:.3g}); the mesh reaches {carrier.extents()}. {is_outside.sum()} of "
        f"{len(x)} points are that far out.{_unit_guess(x, carrier)} Correct 'position' of its "
        "MechanicalObject, or the units of one of them.",
    )


def _collapsed(
    node: Any, about: Any, x: np.ndarray, carrier: CarrierMesh
) -> Iterator[StartWarning]:
    """A surface or cable far smaller than the element around it."""
    has_cells = any(
        len(elements_of(entry, kind)) for entry in node.objects for kind in ("triangles", "quads")
    )
    if len(x) < 3 or not (has_cells or about.getClassName().startswith("Cable")):
        return
    size = float(np.ptp(x, axis=0).max())
    if size > COLLAPSED_RATIO * carrier.edges.max():
        return
    edge = float(carrier.distances(x)[1].min())
    if size < COLLAPSED_RATIO * edge and (guess := _unit_guess(x, carrier)):
        yield StartWarning(
            about,
            f"{at(about)}: its {len(x)} points are within {size:.3g} of each other, inside one "
            f"element of the mesh of '{carrier.path}' ({edge:.3g}), which reaches "
            f"{carrier.extents()}.{guess} Correct 'position' of its MechanicalObject, or the "
            "scale of its loader.",
        )


def _unit_guess(x: np.ndarray, carrier: CarrierMesh) -> str:
    """Return a question about the unit if the points times a factor lie in the mesh, else ''."""
    size = float(np.ptp(carrier.x, axis=0).max())
    for factor in UNIT_FACTORS:
        spread = factor * float(np.ptp(x, axis=0).max())
        if (
            len(x) > 1
            and COLLAPSED_RATIO * size < spread
            and not carrier.is_outside(factor * x).any()
        ):
            return f" Times {factor:g} they lie in it: are they in another unit?"
    return ""


def _open_chamber(entry: Any, x: np.ndarray) -> list[StartWarning]:
    """A surface under pressure whose triangles do not close, of those that have a volume."""
    if entry.findData("volumeGrowth") is None:
        return []
    skin = _surface_of(entry, x)
    if not len(skin.triangles) or skin.closed:
        return []
    if skin.crowded_edges:
        fault = (
            f"{skin.crowded_edges} edges of its surface belong to three triangles or more: it is "
            "there twice, or has walls within. Leave the copies out, or give each chamber its own "
            "component."
        )
    elif skin.open_edges:
        fault = (
            f"its surface is open: {skin.open_edges} edges belong to one of the "
            f"{len(skin.triangles)} triangles only, so its volume is not that of a chamber, and "
            "pressure pushes the body as a whole. Close the surface, or merge equal points."
        )
    else:
        fault = (
            f"its triangles are not turned alike: at {skin.twisted_edges} edges one faces in and "
            "the other one out. Make normals consistent when exporting."
        )
    return [StartWarning(entry, f"{at(entry)}: {fault}")]


def _off_boundary(entry: Any, x: np.ndarray, carrier: CarrierMesh) -> list[StartWarning]:
    """A chamber whose wall is not on the boundary of the tetrahedra that it presses on.

    Cells of a grid, which know nothing of chambers, may hold it, but not leave it out.
    """
    skin = _surface_of(entry, x)
    if not len(skin.triangles) or not len(carrier.skin.triangles):
        return []
    walls = x[np.unique(skin.triangles)]
    corners = carrier.x[carrier.skin.triangles]
    boundary = np.einsum("pk,tkc->tpc", _LATTICE, corners).reshape(-1, 3)
    distance, nearest = nearest_points(boundary, walls)
    if carrier.elements.shape[1] == 8:
        a, b, c = corners[nearest // len(_LATTICE)].transpose(1, 0, 2)
        outwards = np.einsum("pc,pc->p", np.cross(b - a, c - a), walls - boundary[nearest])
        distance = np.where(outwards > 0.0, distance, 0.0)
    lengths = np.linalg.norm(corners - corners[:, [1, 2, 0]], axis=2).mean(axis=1)
    edge = lengths[nearest // len(_LATTICE)]
    ratio = float(np.median(distance / edge))
    if ratio <= BOUNDARY_DISTANCE_MAX:
        return []
    return [
        StartWarning(
            entry,
            f"{at(entry)}: its surface is {np.median(distance):.3g} (median) from the boundary of "
            f"the mesh of '{carrier.path}', whose elements there are {np.median(edge):.3g} long: "
            "the pressure acts within the material, or in the void. Was one of the two moved or "
            "scaled?",
        )
    ]


def _surface_of(entry: Any, x: np.ndarray) -> Skin:
    """The surface of a component, points at the same place merged."""
    cells = [elements_of(entry, "triangles")]
    quads = elements_of(entry, "quads")
    cells += [quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]
    triangles = np.concatenate(cells)
    size = float(np.ptp(x, axis=0).max()) or 1.0
    _, first, merged = np.unique(
        np.round(x / (1e-6 * size)), axis=0, return_index=True, return_inverse=True
    )
    return measured(x, first[merged.ravel()][triangles])


def _carrier_of(mapping: Any, carriers: dict[str, CarrierMesh]) -> CarrierMesh | None:
    """The volume mesh that carries a mapping; None if there is none."""
    link = mapping.findLink("input_topology")
    linked = link.getLinkedBase() if link is not None else None
    parents = list(mapping.getContext().parents)
    if linked is None and not parents:
        return None
    for entry in [linked] if linked is not None else list(parents[0].objects):
        for kind in ("tetrahedra", "hexahedra"):
            elements = elements_of(entry, kind)
            if not len(elements):
                continue
            node = entry.getContext()
            path = node.getPathName()
            if path not in carriers:
                holder = own_state(node) or entry
                x = np.asarray(holder.position.value, dtype=float)[:, :3]
                if not len(x) or elements.max() >= len(x):
                    continue
                carriers[path] = CarrierMesh(path, x, elements)
            return carriers[path]
    return None


def _distant_pairs(entry: Any, node: Any) -> list[StartWarning]:
    """Nodes that are joined in pairs, and start far from each other."""
    names = PAIRS.get(entry.getClassName())
    if names is None:
        return []
    points = []
    for link, indices in (names[:2], names[2:]):
        target = entry.findLink(link)
        linked = target.getLinkedBase() if target is not None else None
        state = linked if linked is not None else own_state(node)
        if state is None:
            return []
        x = np.asarray(state.position.value, dtype=float)
        chosen = np.asarray(entry.findData(indices).value, dtype=int)
        if x.shape[1] < 3 or not len(chosen) or chosen.min() < 0 or chosen.max() >= len(x):
            return []
        points.append(x[chosen, :3])
    if len(points[0]) != len(points[1]):
        return []
    distance = np.linalg.norm(points[0] - points[1], axis=1)
    size, k = body_size(node), int(np.argmax(distance))
    if not distance[k] > PAIR_DISTANCE_MAX * size > 0.0:
        return []
    return [
        StartWarning(
            entry,
            f"{at(entry)}: its pair {k} starts {distance[k]:.3g} apart, from {point(points[0][k])} "
            f"to {point(points[1][k])}, and the body is {size:.4g} long: the first steps tear them "
            f"together. Are '{names[1]}' and '{names[3]}' in the same order, and of the right "
            "bodies?",
        )
    ]


def _to_and_fro(cable: Any, x: np.ndarray) -> Iterator[StartWarning]:
    """A cable that turns back on itself more than once, or stays at a place."""
    indices = np.asarray(cable.indices.value, dtype=int)
    if len(indices) < 2 or indices.max() >= len(x):
        return
    segments = np.diff(x[indices], axis=0)
    lengths = np.linalg.norm(segments, axis=1)
    if (lengths == 0.0).any():
        k = int(np.argmin(lengths))
        yield StartWarning(
            cable,
            f"{at(cable)}: entries {k} and {k + 1} of its 'indices' are points at the same place, "
            f"{point(x[indices[k]])}. Leave one of them out.",
        )
        return
    along = segments / lengths[:, None]
    turns = int((np.einsum("ki,ki->k", along[1:], along[:-1]) < REVERSED).sum())
    if turns > max(2, len(indices) // 4):
        yield StartWarning(
            cable,
            f"{at(cable)}: it turns back on itself at {turns} of its {len(indices)} points. Are "
            "its 'indices' in the order along the cable?",
        )


def _pulled_from_afar(user: Any, x: np.ndarray) -> list[StartWarning]:
    if not user.hasPullPoint.value:
        return []
    pull = np.ravel(user.pullPoint.value)
    size, distance = body_size(user.getContext()), float(np.linalg.norm(pull - x[0]))
    if not distance > PULL_DISTANCE_MAX * size > 0.0:
        return []
    return [
        StartWarning(
            user,
            f"{at(user)}: its pullPoint {point(pull)} is {distance:.4g} from the cable's first "
            f"point, and the body is {size:.4g} long. Is it in other units?",
        )
    ]
