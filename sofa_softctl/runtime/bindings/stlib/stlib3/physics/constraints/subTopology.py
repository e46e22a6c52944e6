"""Part of an object with another material."""

from __future__ import annotations

from typing import Any

import Sofa


def SubTopology(
    attachedTo: Any = None,
    containerLink: str | None = None,
    boxRoiLink: str | None = None,
    linkType: str = "tetrahedron",
    name: str = "modelSubTopo",
    poissonRatio: float = 0.3,
    youngModulus: float = 18000,
) -> Any:
    """Add a child with the elements of a region, and finite elements on them.

    Args:
        attachedTo: Node with the degrees of freedom.
        containerLink: Link to all points, such as '@../container.position'.
        boxRoiLink: Link to the elements of a region, such as '@../boxROI.tetrahedraInROI'.
        linkType: 'tetrahedron', 'triangle' or 'hexahedron'.
        name: Name of the child.
        poissonRatio: Poisson's ratio.
        youngModulus: Young's modulus, added to the object's [pressure].

    Returns:
        The child; None, with a message, if a parameter is missing.
    """
    if attachedTo is None or containerLink is None or boxRoiLink is None:
        Sofa.msg_error(
            "SubTopology",
            "attachedTo must be a node, containerLink a link to points and boxRoiLink a link to "
            "the elements of a region.",
        )
        return None
    kind = linkType[0].upper() + linkType[1:]
    elements = boxRoiLink.rpartition(".")[2].removesuffix("InROI")
    child = attachedTo.addChild(name)
    container = child.addObject(
        f"{kind}SetTopologyContainer", name="container", position=containerLink
    )
    container.findData(elements).value = boxRoiLink
    child.addObject(
        f"{kind}FEMForceField",
        name="FEM",
        method="large",
        poissonRatio=poissonRatio,
        youngModulus=youngModulus,
    )
    return child
