"""A finger that a cable bends."""

from softrobots.parts.finger.finger import Finger

__all__ = ["Finger"]
