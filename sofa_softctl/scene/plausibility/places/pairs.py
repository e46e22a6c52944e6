"""Nodes that components join in pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sofa_softctl.scene.graph.nodes import body_size, own_state
from sofa_softctl.scene.plausibility.bodies import StartWarning, at, point

PAIR_DISTANCE_MAX = 0.1
"""Distance of two nodes that are joined, by the size of the body, above which it is warned of."""
LINKS = {
    "BilateralLagrangianConstraint": ("object1", "first_point", "object2", "second_point"),
    "AttachProjectiveConstraint": ("object1", "indices1", "object2", "indices2"),
    "RestShapeSpringsForceField": ("mstate", "points", "external_rest_shape", "external_points"),
}
"""Components that join nodes in pairs: link and indices of the first, and of the second."""


@dataclass(frozen=True)
class NodePairs:
    """Nodes of two states that a component joins."""

    component: Any
    states: tuple[Any, Any]
    """State of the first and of the second nodes."""
    nodes: tuple[np.ndarray, np.ndarray]
    """Node numbers, shape (n,) each."""
    names: tuple[str, ...]
    """Names of the links and indices, as in `LINKS`."""

    def positions(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the present positions of both [length], shape (n, 3) each."""
        first, second = (
            np.asarray(state.position.value, dtype=float)[nodes, :3]
            for state, nodes in zip(self.states, self.nodes, strict=True)
        )
        return first, second

    def distances(self) -> np.ndarray:
        """Return the distance of each pair [length], shape (n,)."""
        first, second = self.positions()
        return np.asarray(np.linalg.norm(first - second, axis=1))


def pairs_of(joint: Any, node: Any) -> NodePairs | None:
    """Return the pairs that a component of a node joins, or None if it joins none in space."""
    names = LINKS.get(joint.getClassName())
    if names is None:
        return None
    states: list[Any] = []
    nodes: list[np.ndarray] = []
    for link, indices in (names[:2], names[2:]):
        target = joint.findLink(link)
        linked = target.getLinkedBase() if target is not None else None
        state = linked if linked is not None else own_state(node)
        chosen = np.asarray(joint.findData(indices).value, dtype=int)
        if not len(chosen) and link == "external_rest_shape" and linked is not None:
            chosen = np.arange(len(nodes[0]))  # one each, in their order
        if state is None or not len(chosen) or chosen.min() < 0:
            return None
        shape = np.shape(state.position.value)
        if shape[1] < 3 or chosen.max() >= shape[0]:
            return None
        states.append(state)
        nodes.append(chosen)
    if len(nodes[0]) != len(nodes[1]):
        return None
    return NodePairs(joint, (states[0], states[1]), (nodes[0], nodes[1]), names)


def pair_warnings(joint: Any, node: Any, joined: dict[Any, Any]) -> Iterator[StartWarning]:
    """Warn of nodes that are joined to themselves, twice, or that start far from each other.

    Args:
        joint: A joint.
        node: Node of the joint.
        joined: Earlier joints of the scene, by what they join; this one is added.
    """
    pairs = pairs_of(joint, node)
    if pairs is None:
        yield from _without_nodes(joint)
        return
    first, second = pairs.states
    numbers = zip(*(nodes.tolist() for nodes in pairs.nodes), strict=True)
    key = (joint.getClassName(), first.getPathName(), second.getPathName(), frozenset(numbers))
    has_springs = "external_points" in pairs.names  # which may act in one direction each
    if joined.setdefault(key, joint) is not joint and not has_springs:
        yield StartWarning(
            joint,
            f"{at(joint)} joins what '{joined[key].getPathName()}' joins already: of constraints "
            "that say the same the forces are not determined. Leave one out.",
        )
    is_same = first.getPathName() == second.getPathName()
    if is_same and not has_springs and (pairs.nodes[0] == pairs.nodes[1]).any():
        k = int(np.argmax(pairs.nodes[0] == pairs.nodes[1]))
        yield StartWarning(
            joint,
            f"{at(joint)}: it joins node {pairs.nodes[0][k]} of '{first.getPathName()}' to itself: "
            f"{_same_states(pairs)}",
        )
        return
    distance = pairs.distances()
    size, k = body_size(node), int(np.argmax(distance))
    if not distance[k] > PAIR_DISTANCE_MAX * size > 0.0:
        return
    x1, x2 = (x[k] for x in pairs.positions())
    hint = (
        _same_states(pairs)
        if is_same
        else f"Are '{pairs.names[1]}' and '{pairs.names[3]}' in the same order, and of the right "
        "bodies?"
    )
    yield StartWarning(
        joint,
        f"{at(joint)}: its pair {k} starts {distance[k]:.3g} apart, from {point(x1)} to "
        f"{point(x2)}, and the body is {size:.4g} long: the first steps tear them together. {hint}",
    )


def _without_nodes(joint: Any) -> Iterator[StartWarning]:
    """Warn of a joint that has nodes of one body only, or of none."""
    names = LINKS.get(joint.getClassName(), ())[1::2]
    if not names or "external_points" in names:  # without points, springs hold all nodes
        return
    counts = [len(joint.findData(name).value) for name in names]
    if 0 in counts:
        yield StartWarning(
            joint,
            f"{at(joint)} joins nothing: '{names[0]}' has {counts[0]} nodes, and '{names[1]}' has "
            f"{counts[1]}. Give a node of the second body for each of the first; is the box of an "
            "ROI beside the body?",
        )


def _same_states(pairs: NodePairs) -> str:
    """Return a question about two links that lead to the same state."""
    path = pairs.states[0].getPathName()
    return f"'{pairs.names[0]}' and '{pairs.names[2]}' both lead to '{path}': is one another body?"
