"""Actuators and sensors of soft robots, forward and inverse, and parts of robots."""

__all__ = ["actuators", "inverse", "parts", "sensors"]
