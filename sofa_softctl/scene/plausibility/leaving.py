"""Simple causes for which a body leaves the scene, or a run diverges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sofa_softctl.scene.graph.nodes import (
    attributes_of,
    box_of,
    box_size,
    nodes_of,
    own_state,
    root_of,
)
from sofa_softctl.scene.plausibility.bodies import (
    Body,
    StartWarning,
    at,
    gravity_of,
    point,
    solver_above,
)
from sofa_softctl.scene.plausibility.holding import leaves_free

TINY_RATIO = 1.0 / 30.0
"""Size of the largest fixed surface by the size of the smallest moving body, below which it is
not a floor [-]."""
BEHIND_MIN = 0.2
"""Depth behind a plane by the size of the body, above which the body does not rest there [-]."""


def leaving_warnings(root: Any, bodies: Sequence[Body]) -> list[StartWarning]:
    """Warn of floors of no size, planes that face away, bodies without inertia, fixed copies."""
    return [
        *_tiny_floor(root),
        *(warning for body in bodies for warning in _of_body(root, body)),
    ]


def leaving_causes(root: Any, body: Body) -> list[str]:
    """Return the probable causes for a body that has left the scene."""
    certain = [*_tiny_floor(root), *_of_body(root, body)]
    causes = [warning.text for warning in certain]
    causes = causes or [*_common_groups(root, body)] or [*_nothing_below(root, body)]
    return causes or [*_on_soft_springs(root, body)]


def collision_models(root: Any) -> list[Any]:
    """Return the collision models of a node and those below."""
    components = (component for node in nodes_of(root) for component in node.objects)
    return [
        component
        for component in components
        if component.getClassName().endswith("CollisionModel")
        and component.findData("group") is not None
    ]


def groups_of(model: Any) -> set[int]:
    """Return the groups of a collision model, of which SOFA makes a row of numbers."""
    return set(np.ravel(model.group.value).tolist())


def _of_body(root: Any, body: Body) -> Iterator[StartWarning]:
    path = body.node.getPathName()
    gravity = gravity_of(root)
    yield from pushed_without_mass(body)
    for component in body.entries:
        kind = component.getClassName()  # SOFA's topology modifiers have no getContext()
        first_order = component.findData("firstOrder")
        if kind == "PlaneForceField" and not component.bilateral.value:
            yield from _behind_plane(component, body.size)
        elif kind == "ReadState" and component.getContext().getPathName() == path and body.masses:
            yield from _replay_warnings(component, body)
        elif _fixes(kind) and component.getContext().getMechanicalMapping() is not None:
            yield StartWarning(
                component,
                f"{at(component)} holds nodes that a mapping moves, so it has no effect: put it, "
                f"and its region, into the node of the body, '{path}'.",
            )
        elif first_order is not None and first_order.value and gravity and _is_free(body):
            yield StartWarning(
                component,
                f"{at(component)} has firstOrder=True, so '{path}' has no inertia, and what "
                f"nothing holds moves at a speed of {gravity:g}, the number of gravity, from the "
                "start: leave firstOrder out.",
            )


def _replay_warnings(component: Any, body: Body) -> Iterator[StartWarning]:
    """Warn of a body that both a file and an integrator move, in the embedded runtime."""
    frames = attributes_of(component).get("_frames", ())
    times = [time for time, vectors in frames if "X" in vectors]
    if len(times) > 1 and solver_above(body.node) is not None:
        yield StartWarning(
            component,
            f"{at(component)} sets the positions of '{body.node.getPathName()}' at {len(times)} "
            f"times up to {times[-1]:g}, and an integrator moves it in between: it jumps, and is "
            "neither simulated nor replayed. Leave out the ReadState, or the integrator.",
        )


def pushed_without_mass(body: Body) -> Iterator[StartWarning]:
    """Warn of a state with a force and without a mapping to the body above it."""
    kinds = [component.getClassName() for component in body.node.objects]
    parents = list(body.node.parents)
    is_part = bool(parents) and own_state(parents[0]) is not None
    if is_part and len(kinds) == 2 and {*kinds} == {"MechanicalObject", "ConstantForceField"}:
        if not list(body.node.children):
            yield StartWarning(
                body.state,
                f"{at(body.state)} has neither mass nor stiffness, and a force acts on it: map it "
                f"to the body of '{parents[0].getPathName()}', with a BarycentricMapping or "
                "RigidMapping in its node.",
            )


def _fixes(kind: str) -> bool:
    return kind.endswith(("FixedProjectiveConstraint", "FixedConstraint"))


def _is_free(body: Body) -> bool:
    """Return True if at most contacts keep a body from falling."""
    remaining = [e for e in body.entries if "CollisionModel" not in e.getClassName()]
    return bool(body.masses) and all(leaves_free(component, body, set()) for component in remaining)


def _behind_plane(plane: Any, size: float) -> Iterator[StartWarning]:
    """Warn of a plane with nodes deep on its wrong side at the start."""
    state = own_state(plane.getContext())
    if state is None or np.shape(state.position.value)[1] < 3 or not len(state.position.value):
        return
    x = np.asarray(state.position.value, dtype=float)[:, :3]
    heights = x @ np.asarray(plane.normal.value, dtype=float) - float(plane.d.value)
    if -heights.min() > BEHIND_MIN * size:
        count = int((heights < 0.0).sum())
        yield StartWarning(
            plane,
            f"{at(plane)} has {count} of {len(x)} nodes behind it at the start, up to "
            f"{-heights.min():.3g} deep, and pushes them along its normal: should 'normal' be the "
            "opposite one, or 'd' another number?",
        )


def _tiny_floor(root: Any) -> Iterator[StartWarning]:
    models = collision_models(root)
    sizes: dict[bool, list[tuple[float, Any]]] = {True: [], False: []}
    for model in models:
        if model.getClassName() == "TriangleCollisionModel" and model.active.value:
            size = box_size(model.getContext())
            sizes[bool(model.simulated.value)].append((size, model))
    moving = min((size for size, _ in sizes[True]), default=0.0)
    largest = max(sizes[False], key=lambda pair: pair[0], default=None)
    if largest is not None and 0.0 < largest[0] < TINY_RATIO * moving:
        yield StartWarning(
            largest[1],
            f"{at(largest[1])} is {largest[0]:.3g} long, and the smallest body that may touch it "
            f"{moving:.3g}: is it in another unit?",
        )


def _common_groups(root: Any, body: Body) -> Iterator[str]:
    """Warn of surfaces that a body does not touch since they have a common group."""
    own_models = collision_models(body.node)
    paths = {model.getPathName() for model in own_models}
    groups = set().union(*map(groups_of, own_models))
    for model in collision_models(root):
        common = groups & groups_of(model)
        if common and model.getPathName() not in paths:
            yield (
                f"{at(model)} has group={min(common)}, as the body's models do, so the two do not "
                "touch: give each another 'group', or none."
            )
            return


def _on_soft_springs(root: Any, body: Body) -> Iterator[str]:
    """Warn of springs that the weight of a body stretches beyond the scene, if embedded."""
    total = sum(float(mass.totalMass.value) for mass in body.masses if mass.findData("totalMass"))
    for component in (component for node in nodes_of(root) for component in node.objects):
        ends = [attributes_of(component).get(name) for name in ("first", "second")]
        if component.getClassName() != "SpringForceField" or body.state not in ends:
            continue
        stiffness, weight = float(np.sum(component.springs().stiffness)), total * gravity_of(root)
        if weight > stiffness * box_size(root):
            yield (
                f"Its weight of {weight:.3g} stretches {at(component)}, whose stiffnesses are "
                f"{stiffness:.3g} in sum: is its mass, or they, in another unit?"
            )


def _nothing_below(root: Any, body: Body) -> Iterator[str]:
    """Warn that no collision model of other bodies is below a body."""
    gravity = np.asarray(root.gravity.value, dtype=float)
    own_paths = {model.getContext().getPathName() for model in collision_models(body.node)}
    nodes = [model.getContext() for model in collision_models(root)]
    boxes = [box_of(node) for node in nodes if node.getPathName() not in own_paths]
    if not (own_paths and boxes and gravity.any()):
        return
    (low, high), axis = box_of(body.node), int(np.argmax(np.abs(gravity)))
    is_apart = np.array([np.maximum(box[0] - high, low - box[1]) > 0.0 for box in boxes])
    depths = [np.sign(gravity[axis]) * (2.0 * box - low - high)[:, axis] for box in boxes]
    is_apart[:, axis] = np.max(depths, axis=1) < 0.0  # all of it is above the body's middle
    if is_apart.any(axis=1).all():
        yield (
            f"Nothing that it can touch is below it, as gravity goes, {point(gravity)}: is gravity "
            "along another axis, or the floor elsewhere?"
        )


def floor_fault(models: Sequence[Any], body: Body, fallen: Sequence[Body]) -> str:
    """Return a sentence on a floor that falls along, or is uneven, else ''."""
    still = [model for model in models if not model.simulated.value]
    own_models = collision_models(body.node)
    floor = max(fallen, key=lambda fallen_body: fallen_body.size, default=body)
    if own_models and not still and floor.size > body.size and collision_models(floor.node):
        return (
            f"'{floor.node.getPathName()}' fell along, for nothing holds it. If it is the floor, "
            "leave out its solver and mass, and give its collision models moving=False and "
            "simulated=False."
        )
    return uneven_surface([*own_models, *still])


def uneven_surface(models: Sequence[Any]) -> str:
    """Name the first surface whose triangles are turned both ways, or has walls within; else ''."""
    from sofa_softctl.scene.plausibility.places.surfaces import surface_of, triangles_of, uneven

    for model in models:
        state = own_state(model.getContext())
        topology = next((e for e in model.getContext().objects if len(triangles_of(e))), None)
        if model.getClassName() != "TriangleCollisionModel" or None in (topology, state):
            continue
        x = np.asarray(state.position.value, dtype=float)[:, :3]
        skin = surface_of(topology, x)
        if (fault := uneven(skin)) and (skin.crowded_edges or _is_base_turned(model, x, skin)):
            return (
                f"{at(model)}: {fault} Contacts push the wrong way there. Give its outer triangles "
                "alone, turned outwards: make normals consistent when exporting, or change "
                "flipNormals of the topological mapping."
            )
    return ""


def _is_base_turned(model: Any, x: np.ndarray, skin: Any) -> bool:
    """Return True if triangles face inwards below, as gravity goes, or of what stays above.

    Of others that a topological mapping makes of a grid, some always do.
    """
    if not any("TopologicalMapping" in e.getClassName() for e in model.getContext().objects):
        return True
    gravity = np.asarray(root_of(model.getContext()).gravity.value, dtype=float)
    a, b, c = np.moveaxis(x[skin.triangles], 1, 0)
    normals = np.cross(b - a, c - a)
    is_inward = np.einsum("ki,ki->k", normals, (a + b + c) / 3.0 - x.mean(axis=0)) < 0.0
    steep = normals @ gravity * (-1.0 if model.simulated.value else 1.0)
    limit = 0.5 * np.linalg.norm(normals, axis=1) * np.linalg.norm(gravity)
    return bool((is_inward & (steep >= limit)).any())


def without_lines(root: Any) -> str:
    """Return a sentence on a surface without lines, whose seams points pass, else ''."""
    if not any(component.getClassName() == "LocalMinDistance" for component in root.objects):
        return ""
    for node in nodes_of(root):
        kinds = {component.getClassName(): component for component in node.objects}
        triangles = kinds.get("TriangleCollisionModel")
        if triangles is not None and "LineCollisionModel" not in kinds:
            return (
                f" Under LocalMinDistance points pass '{triangles.getPathName()}' where its "
                "triangles meet: add a LineCollisionModel and a PointCollisionModel beside it."
            )
    return ""
