"""Springs and joints that start strained, or that carry less than they seem to."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from sofa_softctl.scene.graph.nodes import body_of, body_size, own_state, stiffness_of
from sofa_softctl.scene.plausibility.bodies import StartWarning, at, solver_above
from sofa_softctl.scene.plausibility.holding import fixed_nodes
from sofa_softctl.scene.plausibility.places.pairs import NodePairs, pairs_of

LENGTH_RATIO_MAX = 2.0
"""Length of springs by their rest length, or the inverse, above which they start strained [-]."""
STRAIN_MIN = 0.1
"""Smallest difference of these lengths by the size of the body that counts [-]."""
LENGTH_TOLERANCE = 0.05
"""Relative difference up to which two lengths are the same [-]."""
TURN_RATIO_MIN = 1e-3
"""Angular stiffness of springs by the effect of their forces at the rim of the body, below which
the body turns [-]."""
TURN_START_MAX = 30.0
"""Initial angle between joined bodies above which it is not meant to vanish [degree]."""
COINCIDENCE_TOLERANCE = 1e-3
"""Distance of nodes by the size of the body below which they coincide [-]."""


def joint_warnings(joint: Any, node: Any) -> Iterator[StartWarning]:
    """Warn of a component that joins nodes or bodies."""
    kind = joint.getClassName()
    if kind == "SpringForceField" and hasattr(joint, "springs"):  # of the embedded runtime
        yield from _strained_springs(joint, node)
    elif kind == "RestShapeSpringsForceField":
        yield from _weak_turns(joint, node)
        yield from _one_way(joint, node)
        yield from _of_fixed(joint, node)
    elif (pairs := pairs_of(joint, node)) is None:
        return
    elif kind == "AttachProjectiveConstraint":
        yield from _carrying_nothing(pairs)
    elif kind == "BilateralLagrangianConstraint":
        yield from _turned_pairs(pairs)
        yield from _hinges(pairs)


def _strained_springs(joint: Any, node: Any) -> Iterator[StartWarning]:
    """Warn of springs that start far from their rest lengths."""
    springs, states = joint.springs(), (joint.first, joint.second)
    x1, x2 = (np.asarray(state.position.value, dtype=float)[:, :3] for state in states)
    ones, twos = springs.ones, springs.twos
    rest = np.asarray(springs.length, dtype=float)
    start = np.linalg.norm(x2[twos] - x1[ones], axis=1)
    acts = springs.enabled & (springs.stiffness > 0.0) & ~(springs.pulls_only & (start < rest))
    if not acts.any():
        return
    length, at_rest = float(np.median(start[acts])), float(np.median(rest[acts]))
    low, high = sorted((length, at_rest))
    size = max(body_size(state.getContext()) for state in states)
    if high <= LENGTH_RATIO_MAX * low or not high - low > STRAIN_MIN * size > 0.0:
        return
    ratio = length / at_rest if at_rest > 0.0 else math.inf
    hint = "Are they nodes of another mesh, or the lengths in another unit?"
    if x1 is not x2 and max(ones) < len(x2) and max(twos) < len(x1):
        crossed = float(np.median(np.linalg.norm(x1[twos] - x2[ones], axis=1)[acts]))
        if abs(crossed - at_rest) <= LENGTH_TOLERANCE * at_rest:
            hint = "With object1 and object2 exchanged they would fit."
    if at_rest == 0.0:
        hint = "Without 'lengths' these are 0: give them."
    elif any(
        abs(ratio / factor - 1.0) <= LENGTH_TOLERANCE for factor in (10.0, 1000.0, 0.1, 0.001)
    ):
        hint = "Are the lengths in another unit than the positions?"
    yield StartWarning(
        joint,
        f"{at(joint)}: its springs start {length:.3g} long (median of {acts.sum()}), and their "
        f"rest lengths are {at_rest:.3g}: they {'pull' if ratio > 1.0 else 'push'} from the first "
        f"step on. {hint}",
    )


def _weak_turns(joint: Any, node: Any) -> Iterator[StartWarning]:
    """Warn of springs that hold the position of a rigid body, but not its orientation."""
    state = _state_of(joint, node)
    if state is None or np.shape(state.position.value)[1] != 7 or joint.angularStiffness.isSet():
        return
    stiffness = np.max(joint.stiffness.value, initial=0.0) if joint.stiffness.isSet() else 0.0
    size = body_size(node)
    if 100.0 < TURN_RATIO_MIN * stiffness * size**2:
        yield StartWarning(
            joint,
            f"{at(joint)} holds places with stiffness={stiffness:.3g}, and turns with the default "
            f"angularStiffness of 100 alone, where {stiffness * size**2:.2g} would hold a body "
            f"{size:.3g} long alike: it turns. Give angularStiffness.",
        )


def _one_way(joint: Any, node: Any) -> Iterator[StartWarning]:
    """Warn of springs to a soft body that moves, which does not feel them."""
    link = joint.findLink("external_rest_shape")
    target = link.getLinkedBase() if link is not None else None
    if target is None or not hasattr(target, "getContext"):
        return
    context = target.getContext()
    if solver_above(context) is None or not stiffness_of(target) > 0.0:
        return
    if _root_path(context) != _root_path(node):
        yield StartWarning(
            joint,
            f"{at(joint)} is one-way: it pulls towards '{target.getPathName()}', which moves and "
            "feels no force from it. If both are to feel it, join them by a "
            "BilateralLagrangianConstraint or a SpringForceField.",
        )


def _of_fixed(joint: Any, node: Any) -> Iterator[StartWarning]:
    """Warn of springs to another body whose own nodes are all fixed."""
    pairs, fixed = pairs_of(joint, node), fixed_nodes(node)
    if pairs is not None and own_state(node) is not None and fixed.issuperset(pairs.nodes[0]):
        yield StartWarning(
            joint,
            f"{at(joint)} moves nothing: all of its {len(pairs.nodes[0])} points are fixed, and "
            f"do not follow '{pairs.states[1].getPathName()}'. Leave out what fixes them.",
        )


def _carrying_nothing(pairs: NodePairs) -> Iterator[StartWarning]:
    """Warn of an attachment in one direction between two soft bodies."""
    joint, nodes = pairs.component, [state.getContext() for state in pairs.states]
    solvers = [solver_above(node) for node in nodes]
    is_shared = None not in solvers and solvers[0].getPathName() == solvers[1].getPathName()
    is_soft = all(stiffness_of(state) > 0.0 for state in pairs.states)
    if is_shared and is_soft and not joint.twoWay.value and len(set(map(_root_path, nodes))) == 2:
        first, second = (node.getPathName() for node in nodes)
        yield StartWarning(
            joint,
            f"{at(joint)} has twoWay=False: '{second}' follows '{first}', which carries nothing of "
            "its weight and forces. Give twoWay=True.",
        )


def _turned_pairs(pairs: NodePairs) -> Iterator[StartWarning]:
    """Warn of rigid bodies that are joined and start turned against each other."""
    joint = pairs.component
    x1, x2 = (
        np.asarray(state.position.value, dtype=float)[nodes]
        for state, nodes in zip(pairs.states, pairs.nodes, strict=True)
    )
    if x1.shape[1] != 7 or x2.shape[1] != 7 or joint.keepOrientationDifference.value:
        return
    cosine = np.abs((x1[:, 3:] * x2[:, 3:]).sum(axis=1))
    turns = np.degrees(2.0 * np.arccos(np.minimum(cosine, 1.0)))
    k = int(np.argmax(turns))
    if turns[k] > TURN_START_MAX:
        yield StartWarning(
            joint,
            f"{at(joint)}: the bodies of its pair {k} start turned by {turns[k]:.0f} degrees "
            "against each other, and the first steps turn them to the same orientation. Give "
            "keepOrientationDifference=True to keep it.",
        )


def _hinges(pairs: NodePairs) -> Iterator[StartWarning]:
    """Warn of a joint of one pair of nodes of many that coincide."""
    x1, x2 = (np.asarray(state.position.value, dtype=float) for state in pairs.states)
    if len(pairs.nodes[0]) != 1 or {x1.shape, x2.shape} != {x1.shape} or x1.shape[1] != 3:
        return
    size = float(np.ptp(x1, axis=0).max())
    count = int((np.linalg.norm(x1 - x2, axis=1) < COINCIDENCE_TOLERANCE * size).sum())
    if count > 2 and pairs.nodes[0][0] == pairs.nodes[1][0] and not _is_joined_again(pairs):
        yield StartWarning(
            pairs.component,
            f"{at(pairs.component)} joins 1 of {count} pairs of nodes that coincide: the bodies "
            "turn about it. Give three pairs or more, not in a line, to hold turns as well.",
        )


def _is_joined_again(pairs: NodePairs) -> bool:
    paths = {state.getPathName() for state in pairs.states}
    node = pairs.component.getContext()
    joints = (pairs_of(joint, node) for joint in node.objects)
    duplicates = [p for p in joints if p and {state.getPathName() for state in p.states} == paths]
    return len(duplicates) > 1


def _state_of(joint: Any, node: Any) -> Any:
    link = joint.findLink("mstate")
    linked = link.getLinkedBase() if link is not None else None
    return linked if linked is not None else node.getMechanicalState()


def _root_path(node: Any) -> str:
    body = body_of(node)
    return "" if body is None else str(body.getPathName())
