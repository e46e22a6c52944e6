"""Joints and springs that fail to hold their nodes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sofa_softctl.scene.graph.nodes import body_size, nodes_of
from sofa_softctl.scene.plausibility.bodies import Body, at, bodies_of, gravity_of
from sofa_softctl.scene.plausibility.holding import FIXED
from sofa_softctl.scene.plausibility.places.pairs import NodePairs, pairs_of

JOINT_GAP_MAX = 0.05
"""Growth of the distance of joined nodes by the size of the smaller body, above which they are
apart [-]."""
FOLLOWING_RATIO_MIN, TURN_MIN = 0.05, 0.05
"""Motion of nodes relative to the targets of their springs, below which something else holds them,
and smallest change of a quaternion that counts [-]."""
STRETCH_MAX = 0.25
"""Stretch of springs that hold a body, by its size, above which they do not hold it [-]."""


@dataclass
class WatchedJoint:
    """A component that joins nodes, and the growth of their distances."""

    component: Any
    distances: Callable[[], np.ndarray]
    """Function that returns the present distances of joined nodes [length], shape (n,)."""
    limit: float
    """Growth of a distance above which the joint fails [length]."""
    reason: str
    """Probable reason and remedy, sentences for users."""
    start: np.ndarray = field(init=False)
    """Distances at the start [length], shape (n,)."""
    growth: float = 0.0
    """Largest growth of a distance up to now [length]."""
    apart_count: int = 0
    """Number of pairs above the limit at that time."""
    time: float = 0.0
    """Time of the largest growth [time]."""

    def __post_init__(self) -> None:
        self.start = self.distances()

    def check(self, time: float) -> None:
        """Look at the distances."""
        distances, switch = self.distances(), self.component.findData("activate")
        is_off = switch is not None and not switch.value
        if is_off or distances.shape != self.start.shape:  # or other nodes are joined now
            self.start = distances
        growth = distances - self.start
        if (largest := float(growth.max(initial=0.0))) > self.growth:
            self.growth, self.time = largest, time
            self.apart_count = int((growth > self.limit).sum())

    def texts(self) -> Iterator[str]:
        """Return a sentence if what it joins came apart."""
        if self.growth > self.limit > 0.0:
            yield (
                f"{self.component.getClassName()} '{self.component.getPathName()}' does not hold: "
                f"{self.apart_count} of its {len(self.start)} pairs came up to {self.growth:.3g} "
                f"apart, at t = {self.time:.4g}. {self.reason}"
            )


@dataclass
class WatchedPull:
    """Springs to positions that may move, and the motions of these and of the nodes."""

    component: Any
    state: Any
    points: np.ndarray
    """Nodes, shape (n,)."""
    start: np.ndarray = field(init=False)
    """Target and present values of the nodes at the start, shape (2, n, 3) or (2, n, 7)."""
    targets: deque[np.ndarray] = field(default_factory=lambda: deque(maxlen=11))
    """Changes of the target at the last looks, the first of them 50 steps ago."""
    travel: np.ndarray = field(init=False)
    """Largest changes of positions and of quaternions, of targets and nodes, shape (2, 2)."""

    def __post_init__(self) -> None:
        self.start, self.travel = self._values(), np.zeros((2, 2))

    def _values(self) -> np.ndarray:
        values = (self.state.rest_position.value, self.state.position.value)
        return np.array([np.asarray(x, dtype=float)[self.points] for x in values])

    def check(self, _time: float) -> None:
        """Look at the nodes, and at what they were pulled to ten looks ago."""
        change = np.abs(self._values() - self.start).max(axis=1, initial=0.0)
        self.targets.append(change[0].copy())
        change[0] = self.targets[0] if len(self.targets) == self.targets.maxlen else 0.0
        parts = [change[:, :3].max(axis=1), change[:, 3:].max(axis=1, initial=0.0)]
        self.travel = np.maximum(self.travel, np.transpose(parts))

    def texts(self) -> Iterator[str]:
        """Return a sentence if the target moved, but the nodes did not follow."""
        thresholds = (1e-3 * body_size(self.component.getContext()), TURN_MIN)
        for k, (target, followed) in enumerate(self.travel.T):
            if target > thresholds[k] and followed < FOLLOWING_RATIO_MIN * target:
                yield (
                    f"{at(self.component)}: the {('places', 'quaternions')[k]} that it pulls to "
                    f"changed by {target:.3g}, and its nodes followed by {followed:.2g}: something "
                    "holds them. Are they fixed as well, or joined to what is fixed?"
                )


def watched_joints(root: Any) -> list[WatchedJoint | WatchedPull]:
    """Return the watches on attachments, and on springs that are too soft for their body."""
    joints: list[WatchedJoint | WatchedPull] = []
    bodies = {body.node.getPathName(): body for body in bodies_of(root)}
    for node in nodes_of(root):
        for component in node.objects:
            kind = component.getClassName()
            if kind == "RestShapeSpringsForceField":
                joints += _springs(component, bodies.get(node.getPathName()), gravity_of(root))
                joints += _pulls(component, bodies.get(node.getPathName()))
            elif (pairs := pairs_of(component, node)) is not None and not _lets_go(component):
                reason = (
                    "It moves points by half of their distance after each step, and bodies under "
                    "solvers of their own are not joined by that: use a "
                    "BilateralLagrangianConstraint, or one solver above both."
                    if kind == "AttachProjectiveConstraint"
                    else "Has the constraint solver converged, and can all constraints hold at "
                    "the same time?"
                )
                joints.append(WatchedJoint(component, pairs.distances, _limit(pairs), reason))
    return joints


def _pulls(component: Any, body: Body | None) -> Iterator[WatchedPull]:
    """Return the watch on springs to rest positions, which a script may move."""
    if body is None or pairs_of(component, body.node) is not None:
        return
    count, shape = body.count, np.shape(body.state.rest_position.value)
    points = np.asarray(component.points.value, dtype=int)
    if shape == np.shape(body.state.position.value) and points.max(initial=0) < count:
        yield WatchedPull(component, body.state, points if len(points) else np.arange(count))


def _lets_go(joint: Any) -> bool:
    """Return True if a joint frees nodes that are far apart."""
    distance = joint.findData("minDistance")
    return distance is not None and float(distance.value) >= 0.0


def _limit(pairs: NodePairs) -> float:
    sizes = [float(np.ptp(np.asarray(s.position.value)[:, :3], axis=0).max()) for s in pairs.states]
    return JOINT_GAP_MAX * min((size for size in sizes if size > 0.0), default=0.0)


def _springs(springs: Any, body: Body | None, gravity: float) -> Iterator[WatchedJoint]:
    """Return the watch on springs too soft to carry the weight of a free body."""
    if body is None or np.shape(body.state.position.value)[1] < 3 or not body.size > 0.0:
        return
    masses = [mass for mass in body.masses if mass.findData("totalMass") is not None]
    if any(component.getClassName() in FIXED for component in body.entries) or not masses:
        return
    weight = gravity * sum(float(mass.totalMass.value) for mass in masses)
    points = np.asarray(springs.points.value, dtype=int)
    points = points if len(points) else np.arange(body.count)
    stiffnesses = np.ravel(np.asarray(springs.stiffness.value, dtype=float))
    stiffness = (
        stiffnesses
        if len(stiffnesses) == len(points)
        else np.full(len(points), (*stiffnesses, 100.0)[0])
    )
    total = float(stiffness.sum())
    if not weight > STRETCH_MAX * body.size * total:
        return
    pairs = pairs_of(springs, body.node)

    def distances() -> np.ndarray:
        if pairs is not None:
            return pairs.distances()
        rest = np.asarray(body.state.rest_position.value, dtype=float)
        x = np.asarray(body.state.position.value, dtype=float)
        return np.asarray(np.linalg.norm((x - rest)[points, :3], axis=1))

    yield WatchedJoint(
        springs,
        distances,
        STRETCH_MAX * body.size,
        f"Its stiffnesses are {total:.3g} in sum, and the body weighs {weight:.3g}: it hangs "
        f"{weight / total if total else np.inf:.3g} below, and is {body.size:.3g} long. Give "
        "stiffer springs.",
    )
