"""Points that do not lie where they should: outside the mesh that carries them, in other units."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sofa_softctl.scene.graph.nodes import cable_components, elements_of, nodes_of, own_state
from sofa_softctl.scene.plausibility.bodies import StartWarning, at, point
from sofa_softctl.scene.plausibility.places.cables import cable_warnings
from sofa_softctl.scene.plausibility.places.carriers import CarrierMesh, carrier_of
from sofa_softctl.scene.plausibility.places.links import link_warnings

UNIT_FACTORS = (1000.0, 10.0, 0.1, 0.001)
"""Factors between units of length that are tried where points do not fit their mesh."""
SIZE_RATIO_MIN = 0.1
"""Least plausible size of a surface or cable, in edges of the element around it."""
JOINING = (
    "SpringForceField",
    "RestShapeSpringsForceField",
    "AttachProjectiveConstraint",
    "BilateralLagrangianConstraint",
)
"""Components that join nodes or bodies."""
_PRESSED = "SurfacePressure"
"""Prefixes of the names of components that press on a surface."""


def point_warnings(root: Any) -> list[StartWarning]:
    """Warn of mapped points outside their mesh, open or misplaced chambers, distant pull points."""
    warnings: list[StartWarning] = []
    carriers: dict[str, CarrierMesh] = {}
    cables: list[tuple[Any, np.ndarray]] = []
    joined: dict[Any, Any] = {}
    for node in nodes_of(root):
        for item in node.objects:
            warnings += link_warnings(item, node)
            if item.getClassName() in JOINING:
                warnings += _joint_warnings(item, node, joined)
        state = own_state(node) or _visual_of(node)
        if state is None or not len(state.position.value):
            continue
        x = np.asarray(state.position.value, dtype=float)[:, :3]
        mapping, component, carrier = _barycentric_of(node), None, None
        misplaced: list[StartWarning] = []
        if mapping is not None:
            carrier = carrier_of(mapping, carriers)
            if carrier is not None:
                component = _user_of(node) or mapping
                misplaced = [*_distant_points(component, x, carrier)]
                misplaced += [] if misplaced else _collapsed_shapes(node, component, x, carrier)
                warnings += misplaced
        cables += [(cable, x) for cable in cable_components([node])]
        pressed = [e for e in node.objects if e.getClassName().startswith(_PRESSED)]
        if pressed or carrier is not None and not misplaced and _has_cells(node):
            from sofa_softctl.scene.plausibility.places.surfaces import surface_warnings

            around = None if misplaced else carrier
            warnings += surface_warnings(pressed, node, x, component, around)
    return [*warnings, *cable_warnings(cables)]


def _joint_warnings(component: Any, node: Any, joined: dict[Any, Any]) -> Iterator[StartWarning]:
    from sofa_softctl.scene.plausibility.places.joints import joint_warnings
    from sofa_softctl.scene.plausibility.places.pairs import pair_warnings

    yield from pair_warnings(component, node, joined)
    yield from joint_warnings(component, node)


def _visual_of(node: Any) -> Any:
    """Return the surface that a GUI draws in a node, or None."""
    visuals = [item for item in node.objects if item.getClassName() == "OglModel"]
    return visuals[0] if visuals else None


def _barycentric_of(node: Any) -> Any:
    """Return the mapping from a mesh, or for a pressed surface an IdentityMapping, or None."""
    is_pressed = any(item.getClassName().startswith(_PRESSED) for item in node.objects)
    kinds = ("BarycentricMapping", *(["IdentityMapping"] if is_pressed else []))
    mappings = [e for e in node.objects if e.getClassName() in kinds]
    return mappings[0] if mappings else None


def _user_of(node: Any) -> Any:
    """Return the component that uses the points of a node, or None if there is no such."""
    kinds = ("Cable", "Position", _PRESSED)
    users = [item for item in node.objects if item.getClassName().startswith(kinds)]
    users += [item for item in node.objects if item.getClassName().endswith("CollisionModel")]
    return users[0] if users else None


def _has_cells(node: Any) -> bool:
    kinds = ("triangles", "quads")
    return any(len(elements_of(item, kind)) for item in node.objects for kind in kinds)


def _distant_points(component: Any, x: np.ndarray, carrier: CarrierMesh) -> Iterator[StartWarning]:
    """Warn of points that are farther from the mesh than an element."""
    distance, edge = carrier.distances(x)
    is_outside = (distance > edge) & (edge > 0.0)
    if not is_outside.any():
        return
    worst = int(np.argmax(np.where(is_outside, distance, 0.0)))
    yield StartWarning(
        component,
        f"{at(component)}: its point {worst} at {point(x[worst])} is {distance[worst]:.3g} from "
        f"the nearest node of the mesh of '{carrier.path}', more than an element "
        f"({edge[worst]:.3g}); the mesh reaches {carrier.extents()}. {is_outside.sum()} of "
        f"{len(x)} points are that far out.{_unit_guess(x, carrier)} Correct 'position' of its "
        "MechanicalObject, or the units of one of them.",
    )


def _collapsed_shapes(
    node: Any, component: Any, x: np.ndarray, carrier: CarrierMesh
) -> Iterator[StartWarning]:
    """Warn of a surface or cable far smaller than the element around it."""
    if len(x) < 3 or not (_has_cells(node) or component.getClassName().startswith("Cable")):
        return
    size = float(np.ptp(x, axis=0).max())
    if size > SIZE_RATIO_MIN * carrier.edges.max():
        return
    edge = float(carrier.distances(x)[1].min())
    if size < SIZE_RATIO_MIN * edge and (guess := _unit_guess(x, carrier)):
        yield StartWarning(
            component,
            f"{at(component)}: its {len(x)} points are within {size:.3g} of each other, inside one "
            f"element of the mesh of '{carrier.path}' ({edge:.3g}), which reaches "
            f"{carrier.extents()}.{guess} Correct 'position' of its MechanicalObject, or the "
            "scale of its loader.",
        )


def _unit_guess(x: np.ndarray, carrier: CarrierMesh) -> str:
    """Return a question about the unit if the points times a factor lie in the mesh, else ''."""
    ratio = float(np.ptp(x, axis=0).max() / np.ptp(carrier.x, axis=0).max())
    for factor in UNIT_FACTORS:
        if (
            len(x) > 1
            and SIZE_RATIO_MIN < factor * ratio
            and max(ratio, 1.0 / ratio) > max(factor * ratio, 1.0 / (factor * ratio))
            and not carrier.is_outside(factor * x).any()
        ):
            return f" Times {factor:g} they lie in it: are they in another unit?"
    return ""
