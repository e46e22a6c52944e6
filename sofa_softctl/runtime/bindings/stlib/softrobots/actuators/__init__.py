"""Cables that are pulled, cavities that are blown up."""

from softrobots.actuators.cable import PullingCable
from softrobots.actuators.pneumatic import PneumaticCavity

__all__ = ["PneumaticCavity", "PullingCable"]
