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
    `RigidParts`, with their points in `RigidParts.RigidifiedParticules`. It becomes a
    child of both without its solvers; solvers above the new node move it.

    Args:
        targetObject: Node to which the new node is added.
        sourceObject: Node of the object, with `container` and `dofs`.
        groupIndices: Indices of the points of each rigid body.
        frames: Frame of each body: angles [degree] or a quaternion, preceded by the position if it
            is not the mean of its points. No rotation by default.
        name: Name of the new node; by default the object's name.

    Returns:
        The new node.

    Raises:
        ValueError: The number of frames or the size of a frame is wrong.
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
    # Resolve the links now: the paths change when the nodes are attached elsewhere.
    is_same_graph = sourceObject.getRoot() == targetObject.getRoot()
    for link in ("input", "output") if is_same_graph else ("output",):
        mapping.findLink(link).getLinkedBase()
    particles.addChild(sourceObject)
    deformable.addChild(sourceObject)
    return node


def _body(frame: Sequence[float], points: numpy.ndarray) -> list[float]:
    """Return position and quaternion of a rigid body."""
    if len(frame) not in (3, 4, 6, 7):
        raise ValueError(
            "A frame of Rigidify has three angles or a quaternion, and before them three "
            f"coordinates or none; got {list(frame)}."
        )
    has_position = len(frame) > 4
    rotation = list(frame[3:] if has_position else frame)
    middle = points.mean(axis=0).tolist() if len(points) else [0.0, 0.0, 0.0]
    position = list(frame[:3]) if has_position else middle
    if len(rotation) == 3:
        rotation = Quat.createFromEuler(rotation, inDegree=True).tolist()
    return [float(number) for number in (*position, *rotation)]


def _pairs(count: int, free: list[int], rigid: list[int]) -> list[int]:
    """Return for each point 0 if it is free, 1 if it is rigid, and its index among these."""
    pairs = numpy.zeros((count, 2), int)
    pairs[free, 1] = numpy.arange(len(free))
    for number, point in enumerate(rigid):  # the last body counts if bodies share a point
        pairs[point] = (1, number)
    return [int(value) for value in pairs.ravel()]
