"""Actuators and effectors of inverse problems: which efforts make the robot go there."""

__all__ = ["actuators", "effectors", "isAvailable"]

isAvailable = True
"""Whether there is inverse control: the embedded runtime has it, SOFA with SoftRobots.Inverse."""
