"""What is implausible in a scene as it starts: units, materials, places, what holds the bodies."""

from sofa_softctl.scene.plausibility.check import implausible
from sofa_softctl.scene.plausibility.warning import StartWarning

__all__ = ["StartWarning", "implausible"]
