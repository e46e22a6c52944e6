"""What is to be reached: positions, and volumes of cavities."""

from softrobots.inverse.effectors.effectorGoal import EffectorGoal
from softrobots.inverse.effectors.positionEffector import PositionEffector
from softrobots.inverse.effectors.volumeEffector import VolumeEffector

__all__ = ["EffectorGoal", "PositionEffector", "VolumeEffector"]
