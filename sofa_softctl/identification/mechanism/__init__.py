"""Mechanisms of joints and springs: variational integrator and discrete adjoint."""

from sofa_softctl.base.public import public

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "in_scene": ["MechanismPlant"],
        "mechanism": ["Mechanism"],
        "parts": [
            "Armature",
            "Body",
            "Clamp",
            "Damper",
            "Distance",
            "Friction",
            "Joint",
            "Pin",
            "Point",
            "Rod",
            "Scaled",
            "Spring",
        ],
        "problem": ["MechanismProblem"],
        "signals": ["Angle", "Feedback", "Force", "GivenStart", "Output", "EquilibriumStart"],
        "urdf": ["from_urdf"],
    },
)
