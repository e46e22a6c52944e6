"""The paper's experiment: an arm that stretches, bends and twists a flexible loop."""

from sofa_softctl._internal.public import public

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "model": ["RADIUS", "TUBE"],
        "problem": ["LoopProblem"],
        "recording": ["ANGLE_NOISE", "TORQUE_NOISE"],
    },
)
