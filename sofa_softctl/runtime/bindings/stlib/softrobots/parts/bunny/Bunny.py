"""A hollow bunny that air blows up."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from softrobots.actuators import PneumaticCavity
from softrobots.parts.mesh_folder import mesh_file
from stlib3.physics.constraints import FixedBox
from stlib3.physics.deformable import ElasticMaterialObject

meshpath = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mesh")
"""Folder with Hollow_Stanford_Bunny.vtu and Hollow_Bunny_Body_Cavity.obj."""
BOX = ((-5.0, -6.0, -5.0), (5.0, -4.5, 5.0))
"""Corners of the box whose points are held."""


def Bunny(
    node: Any,
    translation: Sequence[float] = (0, 0, 0),
    controlType: str = "pressure",
    name: str = "Bunny",
    initialValue: float = 0.0001,
    youngModulus: float = 18000,
) -> Any:
    """Add a bunny that is held at its feet, with its cavity.

    Args:
        node: To which it is added.
        translation: [length].
        controlType: 'pressure' or 'volumeGrowth'; another word for no cavity.
        name: Of its node.
        initialValue: Pressure, or volume that is added.
        youngModulus: [pressure].

    Returns:
        The bunny's node.

    Raises:
        FileNotFoundError: its meshes are not there; the message says where to get them.
    """
    place = list(translation)
    wall = mesh_file(meshpath, "bunny", "Hollow_Bunny_Body_Cavity.obj")
    bunny = ElasticMaterialObject(
        name=name,
        volumeMeshFileName=mesh_file(meshpath, "bunny", "Hollow_Stanford_Bunny.vtu"),
        surfaceMeshFileName=wall,
        youngModulus=youngModulus,
        withConstrain=True,
        totalMass=0.5,
        translation=place,
    )
    node.addChild(bunny)
    box = [corner + move for low in BOX for corner, move in zip(low, place, strict=True)]
    FixedBox(bunny, doVisualization=True, atPositions=box)
    if controlType in ("pressure", "volumeGrowth"):
        PneumaticCavity(
            name="Cavity",
            attachedAsAChildOf=bunny,
            surfaceMeshFileName=wall,
            valueType=controlType,
            initialValue=initialValue,
            translation=place,
        )
    shown = bunny.addChild("visu")
    shown.addObject("TriangleSetTopologyContainer", name="container")
    shown.addObject("TriangleSetTopologyModifier")
    shown.addObject(
        "Tetra2TriangleTopologicalMapping",
        name="Mapping",
        input="@../container",
        output="@container",
    )
    shown.addObject("OglModel", color=[0.3, 0.2, 0.2, 0.6], translation=place)
    shown.addObject("IdentityMapping")
    return bunny
