"""TetrahedronFEMForceField under other names of SOFA."""

from __future__ import annotations

from typing import ClassVar

from sofa_softctl.runtime.components.elasticity.tetrahedron_fem import TetrahedronFEMForceField
from sofa_softctl.runtime.core.data.types import Bool, Choice, Color, Int, Text
from sofa_softctl.runtime.kernels.elasticity import corotational as kernel


class TetrahedralCorotationalFEMForceField(TetrahedronFEMForceField):
    """TetrahedronFEMForceField without the method svd, with equal forces and stiffness.

    Differences, as in SOFA: hexahedra are not cut into tetrahedra, and changes of youngModulus
    count from the next `reinit` on. Departures: rest positions are read at init, with SOFA's method
    small in every step. Von Mises stresses use Green's strain; SOFA's mix two frames and are
    divided by 36 times the volume of each element.

    Source: SOFA's component of the same name.
    """

    aliases: ClassVar[tuple[str, ...]] = ()
    methods: ClassVar[dict[str, int]] = {
        "small": kernel.SMALL,
        "large": kernel.LARGE,
        "polar": kernel.POLAR,
    }
    cuts_hexahedra: ClassVar[bool] = False

    method = Choice(
        "large",
        "Rotation of an element: none, from first edges, or polar decomposition.",
        choices=("small", "large", "polar"),
        follows="start",
    )
    computeVonMisesStress = Bool(False, "Compute von Mises stresses.")
    drawing = Bool(True, "Draw the elements.")
    drawColor1 = Color([0.0, 0.0, 1.0, 1.0], "Color of faces.")
    drawColor2 = Color([0.0, 0.5, 1.0, 1.0], "Color of faces.")
    drawColor3 = Color([0.0, 1.0, 1.0, 1.0], "Color of faces.")
    drawColor4 = Color([0.5, 1.0, 1.0, 1.0], "Color of faces.")

    def _stress_option(self) -> int:
        return 2 if self.computeVonMisesStress.get() else 0


class FastTetrahedralCorotationalForceField(TetrahedronFEMForceField):
    """TetrahedronFEMForceField with other names of methods; as in SOFA it cuts no hexahedra.

    qr (or large): frames of the first two edges; polar: the deformation gradient's rotation;
    polar2: polar of TetrahedronFEMForceField; none (or linear, small): no rotation. Departure: the
    stiffness is symmetric. SOFA assembles both blocks of an edge without transposing one, which is
    not the derivative of its forces.

    Source: SOFA's component of the same name.
    """

    aliases: ClassVar[tuple[str, ...]] = ()
    cuts_hexahedra: ClassVar[bool] = False
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
        "Rotation of an element.",
        choices=("qr", "large", "polar", "polar2", "none", "linear", "small"),
        follows="start",
    )
    drawing = Bool(True, "Draw the elements.")
    drawColor1 = Color([0.0, 0.0, 1.0, 1.0], "Color of faces.")
    drawColor2 = Color([0.0, 0.5, 1.0, 1.0], "Color of faces.")
    drawColor3 = Color([0.0, 1.0, 1.0, 1.0], "Color of faces.")
    drawColor4 = Color([0.5, 1.0, 1.0, 1.0], "Color of faces.")


class ParallelTetrahedronFEMForceField(TetrahedronFEMForceField):
    """TetrahedronFEMForceField; here it uses one processor."""

    aliases = ()

    nbThreads = Int(0, "Unused.")
    taskSchedulerType = Text("_default", "Unused.")
