"""FastTetrahedralCorotationalForceField."""

from __future__ import annotations

from typing import ClassVar

from sofa_softctl.runtime.components.elasticity.tetrahedron_fem import TetrahedronFEMForceField
from sofa_softctl.runtime.core.data.types import Bool, Choice, Vector
from sofa_softctl.runtime.kernels.elasticity import corotational as kernel


class FastTetrahedralCorotationalForceField(TetrahedronFEMForceField):
    """TetrahedronFEMForceField with methods of other names; here it is the same code.

    qr (or large): frames of the first two edges; polar: the deformation gradient's rotation;
    polar2: as polar of TetrahedronFEMForceField; none (or linear, small): no rotation. Departure:
    the stiffness is symmetric. SOFA assembles both blocks of an edge without transposing one, which
    is not the derivative of its forces.

    Source: SOFA's component of the same name.
    """

    aliases: ClassVar[tuple[str, ...]] = ()
    methods: ClassVar[dict[str, int]] = {
        "qr": kernel.LARGE,
        "large": kernel.LARGE,
        "polar": kernel.GRADIENT,
        "polar2": kernel.POLAR,
        "none": kernel.SMALL,
        "linear": kernel.SMALL,
        "small": kernel.SMALL,
    }

    method = Choice(
        "qr",
        "How an element's rotation is found.",
        choices=("qr", "large", "polar", "polar2", "none", "linear", "small"),
    )
    drawing = Bool(True, "Draw the elements.")
    drawColor1 = Vector(4, [0.0, 0.0, 1.0, 1.0], "Color of faces.")
    drawColor2 = Vector(4, [0.0, 0.5, 1.0, 1.0], "Color of faces.")
    drawColor3 = Vector(4, [0.0, 1.0, 1.0, 1.0], "Color of faces.")
    drawColor4 = Vector(4, [0.5, 1.0, 1.0, 1.0], "Color of faces.")
