"""Hollow bunny that is inflated."""

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
"""Corners of the box whose points are fixed."""


def Bunny(
    node: Any,
    translation: Sequence[float] = (0, 0, 0),
    controlType: str = "pressure",
    name: str = "Bunny",
    initialValue: float = 0.0001,
    youngModulus: float = 18000,
) -> Any:
    """Add a bunny that is fixed at its feet, with its cavity.

    Args:
        node: Node to which it is added.
        translation: Translation [length].
        controlType: 'pressure' or 'volumeGrowth'; any other text for no cavity.
        name: Name of the bunny's node.
        initialValue: Pressure, or volume growth.
        youngModulus: Young's modulus [pressure].

    Returns:
        The bunny's node.

    Raises:
        FileNotFoundError: The meshes are missing; the message says where to get them.
    """
    offset = list(translation)
    wall = mesh_file(meshpath, "bunny", "Hollow_Bunny_Body_Cavity.obj")
    bunny = ElasticMaterialObject(
        name=name,
        volumeMeshFileName=mesh_file(meshpath, "bunny", "Hollow_Stanford_Bunny.vtu"),
        surfaceMeshFileName=wall,
        youngModulus=youngModulus,
        withConstrain=True,
        totalMass=0.5,
        translation=offset,
    )
    node.addChild(bunny)
    box = [corner + move for low in BOX for corner, move in zip(low, offset, strict=True)]
    FixedBox(bunny, doVisualization=True, atPositions=box)
    if controlType in ("pressure", "volumeGrowth"):
        PneumaticCavity(
            name="Cavity",
            attachedAsAChildOf=bunny,
            surfaceMeshFileName=wall,
            valueType=controlType,
            initialValue=initialValue,
            translation=offset,
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
    shown.addObject("OglModel", color=[0.3, 0.2, 0.2, 0.6], translation=offset)
    shown.addObject("IdentityMapping")
    return bunny
