"""What is implausible in a scene as it starts: units, materials, places, what holds the bodies."""

from sofa_softctl.scene.plausibility.bodies import StartWarning
from sofa_softctl.scene.plausibility.check import implausible

__all__ = ["StartWarning", "implausible"]
