"""Cables and cavities whose efforts are sought."""

from softrobots.inverse.actuators.cable import PullingCable
from softrobots.inverse.actuators.pneumatic import PneumaticCavity

__all__ = ["PneumaticCavity", "PullingCable"]
