"""Robots whose meshes the plugin SoftRobots brings."""

__all__ = ["bunny", "finger"]
