"""Deformable and rigid objects, collisions and constraints."""

__all__ = ["collision", "constraints", "deformable", "mixedmaterial", "rigid"]
