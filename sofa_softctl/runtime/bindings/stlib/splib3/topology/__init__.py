"""Meshes of cavities: points sorted along an axis, circles of a cylinder, closed ends."""
