"""Helpers of scenes: animations, numerics, loaders, the scene graph."""
