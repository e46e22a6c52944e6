"""Flexible loop, stretched, bent and twisted by an arm: the paper's experiment."""

from sofa_softctl._internal.public import public

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "model": ["RADIUS", "TUBE"],
        "problem": ["LoopProblem"],
        "recording": ["ANGLE_NOISE", "TORQUE_NOISE"],
    },
)
