"""Rigid parts of a deformable object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from splib3.numerics import Quat


def Rigidify(
    targetObject: Any,
    sourceObject: Any,
    groupIndices: Sequence[Sequence[int]],
    frames: Sequence[Sequence[float]] | None = None,
    name: str | None = None,
) -> Any:
    """Make parts of a deformable object rigid.

    The object's points then follow the free points in `DeformableParts` and the rigid bodies in
    `RigidParts`, with their points in `RigidParts.RigidifiedParticules`. It hangs below both, and
    loses the solvers that it has; solvers above the new node move it.

    Args:
        targetObject: Node to which the new node is added.
        sourceObject: Node of the object, with `container` and `dofs`.
        groupIndices: Numbers of the points of each rigid body.
        frames: Of each body: angles [degree] or a quaternion; before them its place, which is the
            mean of its points otherwise. No turn by default.
        name: Of the new node; that of the object by default.

    Returns:
        The new node.

    Raises:
        ValueError: not one frame for each body, or a frame of another size.
    """
    frames = [[0.0, 0.0, 0.0]] * len(groupIndices) if frames is None else frames
    if len(frames) != len(groupIndices):
        raise ValueError(
            f"Rigidify needs one frame for each body: got {len(frames)} frames and "
            f"{len(groupIndices)} groups of points."
        )
    points = numpy.array(sourceObject.container.position.value)
    bodies = [
        _body(frame, points[sorted(set(group))])
        for group, frame in zip(groupIndices, frames, strict=True)
    ]
    rigid = [int(index) for group in groupIndices for index in group]
    body_of = [number for number, group in enumerate(groupIndices) for _ in group]
    free = sorted(set(range(len(points))) - set(rigid))

    node = targetObject.addChild(sourceObject.name.value if name is None else name)
    deformable = node.addChild("DeformableParts")
    deformable.addObject(
        "MechanicalObject", template="Vec3", name="dofs", position=points[free].tolist()
    )
    bodies_node = node.addChild("RigidParts")
    bodies_node.addObject(
        "MechanicalObject", template="Rigid3", name="dofs", reserve=len(bodies), position=bodies
    )
    particles = bodies_node.addChild("RigidifiedParticules")
    particles.addObject(
        "MechanicalObject", template="Vec3", name="dofs", position=points[rigid].tolist()
    )
    particles.addObject(
        "RigidMapping", name="mapping", globalToLocalCoords=True, rigidIndexPerPoint=body_of
    )
    for part in ("solver", "integration", "correction"):
        if sourceObject.hasObject(part):
            sourceObject.removeObject(sourceObject.getObject(part))
    mapping = sourceObject.addObject(
        "SubsetMultiMapping",
        name="mapping",
        template="Vec3,Vec3",
        input=[deformable.dofs.getLinkPath(), particles.dofs.getLinkPath()],
        output=sourceObject.dofs.getLinkPath(),
        indexPairs=_pairs(len(points), free, rigid),
    )
    # Followed now where they lead: the paths change when the nodes are attached elsewhere.
    same = sourceObject.getRoot() == targetObject.getRoot()
    for link in ("input", "output") if same else ("output",):
        mapping.findLink(link).getLinkedBase()
    particles.addChild(sourceObject)
    deformable.addChild(sourceObject)
    return node


def _body(frame: Sequence[float], points: numpy.ndarray) -> list[float]:
    """Place and quaternion of a rigid body."""
    if len(frame) not in (3, 4, 6, 7):
        raise ValueError(
            "A frame of Rigidify has three angles or a quaternion, and before them three "
            f"coordinates or none; got {list(frame)}."
        )
    has_place = len(frame) > 4
    turn = list(frame[3:] if has_place else frame)
    middle = points.mean(axis=0).tolist() if len(points) else [0.0, 0.0, 0.0]
    place = list(frame[:3]) if has_place else middle
    quaternion = Quat.createFromEuler(turn, inDegree=True).tolist() if len(turn) == 3 else turn
    return [float(number) for number in (*place, *quaternion)]


def _pairs(count: int, free: list[int], rigid: list[int]) -> list[int]:
    """Of each point: 0 for a free one and 1 for one of a body, and its number among these."""
    pairs = numpy.zeros((count, 2), int)
    pairs[free, 1] = numpy.arange(len(free))
    for number, point in enumerate(rigid):  # the last one counts where bodies share a point
        pairs[point] = (1, number)
    return [int(entry) for entry in pairs.ravel()]
