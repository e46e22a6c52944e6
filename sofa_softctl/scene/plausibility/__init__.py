"""Implausible settings of a scene at its start: units, materials, positions, supports."""

from sofa_softctl.scene.plausibility.bodies import StartWarning
from sofa_softctl.scene.plausibility.check import implausible

__all__ = ["StartWarning", "implausible"]
