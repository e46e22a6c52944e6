"""Sensors of soft robots."""

from softrobots.sensors.pneumaticSensor import PneumaticSensor
from softrobots.sensors.stringsensor import StringSensor

__all__ = ["PneumaticSensor", "StringSensor"]
