"""What the components that are not here belong to, for messages."""

from __future__ import annotations

import re

_FAMILIES = (
    (r"Articul", "articulated bodies"),
    (
        r"WireRestShape|Adaptive.*Beam|.*BeamInterpolation|WBeam|Interventional|.*RodSection|"
        r"RodMeshLoader|SutureController",
        "beams (plugin BeamAdapter)",
    ),
    (r"Beam(?!Adapter).*ForceField|BeamLinearMapping|.*TubularMapping", "beams"),
    (
        r".*Cosserat|BeamHooke|LegendrePolynomials|PointsManager|.*DifferenceMultiMapping|"
        r"RigidDistanceMapping|ProjectionEngine",
        "rods (plugin Cosserat)",
    ),
    (
        r"HyperReduced|ModelOrderReduction|MOR|MechanicalMatrixMapperMOR|MappedMatrix",
        "reduced models (plugin ModelOrderReduction)",
    ),
    (r"Hexa.*ForceField|.*SparseGrid|.*NonUniform.*", "hexahedra"),
    (r"Triang.*ForceField|Quad.*ForceField|.*Shell|.*BendingFEM|TriangleFEM", "shells"),
    (r"Ogl|Visual|.*Camera|.*Light|.*Shader|Recorded", "drawing"),
    (r"Haptic|Geomagic|.*Joystick|OptiTrack|.*Tracking|LeapMotion", "devices of input"),
    (r".*Cuda", "SOFA's plugin for graphics cards"),
)


def family_of(name: str) -> str:
    """What a component of that name belongs to; empty where it is not known."""
    return next((text for pattern, text in _FAMILIES if re.match(pattern, name)), "")
