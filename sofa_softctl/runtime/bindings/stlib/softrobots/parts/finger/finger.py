"""Finger that a cable bends."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import Sofa.Core
from softrobots.actuators import PullingCable
from softrobots.parts.mesh_folder import mesh_file
from splib3.loaders import loadPointListFromFile
from stlib3.physics.collision import CollisionMesh
from stlib3.physics.constraints import FixedBox
from stlib3.physics.deformable import ElasticMaterialObject

meshpath = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mesh")
"""Folder with finger.vtk, finger.stl, cable.json and the two contact surfaces."""


class FingerController(Sofa.Core.Controller):  # type: ignore[misc]
    """Controller that pulls the cable with the keys + and -."""

    def __init__(self, *args: Any, **values: Any) -> None:
        Sofa.Core.Controller.__init__(self, *args, **values)
        self.node = values["node"]

    def onKeypressedEvent(self, event: dict[str, Any]) -> None:
        """Pull the cable by 1 more, or 1 less."""
        value = self.node.PullingCable.CableConstraint.value
        pull = float(value.value[0]) + {"+": 1.0, "-": -1.0}.get(event["key"], 0.0)
        value.value = [max(pull, 0.0) if event["key"] == "-" else pull]


def Finger(
    parentNode: Any = None,
    name: str = "Finger",
    rotation: Sequence[float] = (0.0, 0.0, 0.0),
    translation: Sequence[float] = (0.0, 0.0, 0.0),
    fixingBox: Sequence[float] = (-1.0, -1.0, -1.0, 1.0, 15.0, 15.0),
    pullPointLocation: Sequence[float] = (0.0, 0.0, 0.0),
    youngModulus: float = 18000,
    valueType: str = "displacement",
) -> Any:
    """Add a finger [mm, kg, s] with its cable, its collision surfaces and a controller for keys.

    Args:
        parentNode: Node to which it is added.
        name: Name of the finger's node.
        rotation: Angles about x, y and z [degree].
        translation: Translation [mm].
        fixingBox: Box of the fixed points: smallest x, y, z, then largest [mm].
        pullPointLocation: Pull point of the cable [mm].
        youngModulus: Young's modulus [kPa].
        valueType: Meaning of the cable's value: 'displacement' or 'force'.

    Returns:
        The node.

    Raises:
        FileNotFoundError: The meshes are missing; the message says where to get them.
    """
    transform: dict[str, Any] = {"rotation": list(rotation), "translation": list(translation)}
    surface = mesh_file(meshpath, "finger", "finger.stl")
    finger = ElasticMaterialObject(
        name=name,
        volumeMeshFileName=mesh_file(meshpath, "finger", "finger.vtk"),
        poissonRatio=0.3,
        youngModulus=youngModulus,
        totalMass=0.5,
        surfaceColor=[0.0, 0.8, 0.65, 1.0],
        surfaceMeshFileName=surface,
        **transform,
    )
    parentNode.addChild(finger)
    FixedBox(finger, atPositions=fixingBox, doVisualization=True)
    PullingCable(
        finger,
        "PullingCable",
        pullPointLocation=pullPointLocation,
        cableGeometry=loadPointListFromFile(mesh_file(meshpath, "finger", "cable.json")),
        valueType=valueType,
        **transform,
    )
    finger.addObject(FingerController(node=finger))
    for suffix, file, groups in (
        ("", "finger.stl", [1, 2]),
        ("Auto1", "fingerCollision_part1.stl", [1]),
        ("Auto2", "fingerCollision_part2.stl", [2]),
    ):
        CollisionMesh(
            finger,
            mesh_file(meshpath, "finger", file),
            name=f"CollisionMesh{suffix}",
            collisionGroup=groups,
            **transform,
        )
    return finger
