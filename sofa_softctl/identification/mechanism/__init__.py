"""Mechanisms of joints and springs: variational integrator and discrete adjoint."""

from sofa_softctl._internal.public import public

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "in_scene": ["MechanismPlant"],
        "mechanism": ["Mechanism"],
        "parts": ["Body", "Damper", "Joint", "Point", "Spring"],
        "problem": ["MechanismProblem"],
        "signals": ["Angle", "Force", "Given", "Output"],
        "urdf": ["from_urdf"],
    },
)
