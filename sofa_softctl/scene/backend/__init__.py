"""Backends that run a scene: SOFA or the embedded runtime."""
