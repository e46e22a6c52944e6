"""Bodies that are held at all nodes, or at none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.graph.nodes import controllers_of, nodes_of, own_state
from sofa_softctl.scene.plausibility.bodies import Body, StartWarning, at, gravity_of, point

FIXED = ("FixedProjectiveConstraint", "FixedConstraint")
HOLDS_NOTHING = re.compile(
    r"MechanicalObject|.*(Topology|TopologyContainer|TopologyModifier|GeometryAlgorithms|Loader"
    r"|Mass|ROI|Exporter|Monitor|(?<!Multi)Mapping|ConstraintCorrection|VisualModel|VisualStyle|Solver)"
    r"|TetrahedronFEMForceField|FastTetrahedralCorotationalForceField"
    r"|TetrahedronHyperelasticityFEMForceField|TetrahedralCorotationalFEMForceField"
    r"|HexahedronFEMForceField|AssumedStrainFEMForceField"
)
"""Classes of components that leave a body free to fall."""
LINKS = ("mstate", "mstate1", "mstate2", "object1", "object2", "input", "input1", "input2")
"""Links by which a component acts on states elsewhere in the graph."""
PULL_MARGIN = 0.1
"""Margin around a body's box by its size [-]; cables that are pulled from within hold nothing."""


def holding_warnings(root: Any, bodies: Sequence[Body]) -> list[StartWarning]:
    """Warn of elastic bodies with every node fixed, and those that gravity surely makes fall."""
    warnings = [w for body in bodies for w in (*_fixing_warnings(body), *_beside_face(body))]
    if (driven := _driven_paths(root)) is not None:
        for body in bodies:
            warnings += _unheld_warnings(root, body, driven) if gravity_of(root) > 0.0 else []
            warnings += _along_an_axis(root, body, driven)
            warnings += _on_a_line(root, body, driven)
    return warnings


def fixed_nodes(node: Any) -> set[int]:
    """Return the numbers of the nodes that components of a node fix."""
    fixed: set[int] = set()
    for component in node.objects:
        if component.getClassName() in FIXED:
            fix_all = component.findData("fixAll")
            fixes_all = fix_all is not None and fix_all.value
            count = len(own_state(node).position.value)
            fixed |= set(range(count) if fixes_all else map(int, component.indices.value))
    return fixed


def _fixing_warnings(body: Body) -> list[StartWarning]:
    if not body.elastic:
        return []
    for component in body.node.objects:
        directions = component.findData("fixedDirections")
        if directions is not None and not np.any(directions.value):
            return [
                StartWarning(
                    component,
                    f"{at(component)} fixes no direction: its 'fixedDirections' are all 0. Give 1 "
                    "for those in which nodes are held.",
                )
            ]
    fixed = fixed_nodes(body.node)
    fixing = [component for component in body.node.objects if component.getClassName() in FIXED]
    last = fixing[-1] if fixing else None
    if last is not None and not fixed:
        return [
            StartWarning(
                last,
                f"{at(last)} fixes no node of '{body.node.getPathName()}': its 'indices' are "
                "empty. Is the box of the ROI in other units, or beside the body?",
            )
        ]
    if last is None or len(fixed) < body.count:
        return []
    return [
        StartWarning(
            last,
            f"{at(last)} fixes all {body.count} nodes of '{body.node.getPathName()}', so the body "
            "cannot move. Fix the nodes of its clamp alone: look at the box of the ROI.",
        )
    ]


def _beside_face(body: Body) -> Iterator[StartWarning]:
    """Warn of fixed first nodes of a grid that an end of it was probably meant to have."""
    grids = [e for e in body.node.objects if e.getClassName() == "RegularGridTopology"]
    for component in body.node.objects if grids else ():
        if component.getClassName() not in FIXED or component.indices.getParent() is not None:
            continue
        indices = np.unique(np.asarray(component.indices.value, dtype=int))
        nx, ny, nz = (int(n) for n in np.ravel(grids[0].n.value))
        count = len(indices)
        if count in {ny * nz, nx * nz} - {nx * ny, 1} and indices[-1] == count - 1:
            axis, step = ("x", nx) if count == ny * nz else ("y", 0)
            remedy = f"0, {step}, {2 * step}, ... of it" if step else "those of it by a BoxROI"
            yield StartWarning(
                component,
                f"{at(component)} fixes the nodes 0 to {count - 1}, as many as the end of the grid "
                f"along {axis} has, but numbers run along x first, so they are not those of it. "
                f"Give {remedy}.",
            )


def _along_an_axis(root: Any, body: Body, driven: set[str]) -> Iterator[StartWarning]:
    """Warn of a body that is pushed along a direction in which nothing holds it."""
    partial = [e for e in body.node.objects if e.findData("fixedDirections") is not None]
    pushing = [e for e in body.node.objects if e.getClassName() == "ConstantForceField"]
    rest = [e for e in body.entries if e not in partial and e not in pushing]
    if not (partial and body.elastic and all(leaves_free(e, body, driven) for e in rest)):
        return
    held = np.any([np.asarray(e.fixedDirections.value)[:3] for e in partial], axis=0)
    loads = [np.asarray(root.gravity.value) * bool(body.masses)]
    loads += [np.reshape(e.totalForce.value, -1) for e in pushing]
    loose = ~held & np.any(loads, axis=0)
    if held.any() and loose.any() and not _is_linked(root, body):
        axis = "xyz"[int(np.argmax(loose))]
        yield StartWarning(
            partial[0],
            f"{at(partial[0])} leaves all nodes free along {axis}, nothing else holds the body "
            f"there, and gravity or a force acts along {axis}: it slides off. Give "
            "fixedDirections=[1, 1, 1], or hold some nodes by a FixedProjectiveConstraint.",
        )


def _on_a_line(root: Any, body: Body, driven: set[str]) -> Iterator[StartWarning]:
    """Warn of a body that turns about its only fixed nodes, all on a line."""
    fixing = [component for component in body.node.objects if component.getClassName() in FIXED]
    rest = [component for component in body.entries if component not in fixing]
    if len(fixing) != 1 or fixing[0].indices.getParent() is None or not len(body.elements):
        return
    x = body.rest[sorted(fixed_nodes(body.node))]
    if len(x) < 2 or not body.elastic or not all(leaves_free(e, body, driven) for e in rest):
        return
    widths = np.linalg.svd(x - x.mean(axis=0), compute_uv=False)
    if widths[1] < 1e-6 * body.size and not _is_linked(root, body):
        yield StartWarning(
            fixing[0],
            f"{at(fixing[0])} fixes {len(x)} nodes, all on the line from {point(x[0])} to "
            f"{point(x[-1])}, and the body turns about it. Enlarge the box of the ROI to hold a "
            "face.",
        )


def piece_warnings(root: Any, body: Body) -> list[StartWarning]:
    """Warn of pieces of a mesh that no element joins to the fixed one."""
    fixed = sorted(fixed_nodes(body.node))
    if not (body.elastic and fixed and len(body.elements)):
        return []
    is_reached = np.zeros(body.count, dtype=bool)
    is_reached[fixed] = True
    loose = body.elements
    while (is_next := is_reached[loose].any(axis=1)).any():  # a layer of elements after the other
        is_reached[loose[is_next]] = True
        loose = loose[~is_next]
    if not len(loose) or any(map(_may_join, body.entries)) or _is_linked(root, body):
        return []
    x = body.rest[loose.ravel()]
    return [
        StartWarning(
            body.topology,
            f"{at(body.topology)}: {len(loose)} of {len(body.elements)} elements, from "
            f"{point(x.min(axis=0))} to {point(x.max(axis=0))}, share no node with those that are "
            "fixed: the mesh is of several pieces, and nothing holds these. Merge the nodes "
            "between them, or mesh the body as a whole.",
        )
    ]


def _may_join(component: Any) -> bool:
    """Return True if a component may hold a piece of a mesh, or keep it from others."""
    return (
        re.search("Spring|Attach|Lagrangian|CollisionModel|Joint", component.getClassName())
        is not None
    )


def _unheld_warnings(root: Any, body: Body, driven: set[str]) -> list[StartWarning]:
    falls = body.elastic and bool(body.masses)  # a rigid one may be meant to
    free = falls and all(leaves_free(component, body, driven) for component in body.entries)
    if not free or _is_linked(root, body):
        return []
    return [
        StartWarning(
            body.state,
            f"{at(body.state)}: nothing holds this body of {body.count} nodes against gravity: no "
            "fixed node, spring, motor or contact; it falls. Add a FixedProjectiveConstraint at "
            "its clamp, or set gravity to [0, 0, 0].",
        )
    ]


def leaves_free(component: Any, body: Body, driven: set[str]) -> bool:
    """Return True if a component leaves a body free to fall; those driven hold it."""
    kind = component.getClassName()
    if kind == "CableConstraint":
        return _pulls_within(component, body)
    if kind == "PositionConstraint":  # an effector
        passive = component.valueType.value == "force" and not np.any(component.value.value)
        return passive and component.getPathName() not in driven
    return HOLDS_NOTHING.fullmatch(kind) is not None


def _pulls_within(cable: Any, body: Body) -> bool:
    if not cable.hasPullPoint.value:
        return True
    x = np.asarray(body.state.position.value)[:, :3]
    margin = PULL_MARGIN * body.size
    pull = np.ravel(cable.pullPoint.value)
    return bool(((pull >= x.min(axis=0) - margin) & (pull <= x.max(axis=0) + margin)).all())


def _is_linked(root: Any, body: Body) -> bool:
    """Return True if a component elsewhere refers to one of its states, and may hold it."""
    own_paths = {component.getPathName() for component in body.entries}
    for node in nodes_of(root):
        for component in node.objects:
            if component.getPathName() in own_paths:
                continue
            links = (component.findLink(name) for name in LINKS)
            linked = (link.getLinkedBase() for link in links if link is not None)
            if any(state is not None and state.getPathName() in own_paths for state in linked):
                return True
    return False


def _driven_paths(root: Any) -> set[str] | None:
    """Return the paths of driven components, or None if a controller may drive any."""
    paths: set[str] = set()
    for controller in controllers_of(find_backend().Sofa, root):
        actuators = getattr(controller, "actuators", None)
        if not isinstance(actuators, list):
            return None
        paths |= {actuator.getPathName() for actuator in actuators}
    return paths
