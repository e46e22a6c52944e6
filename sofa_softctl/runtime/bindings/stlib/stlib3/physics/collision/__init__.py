"""Surfaces that collide."""

from stlib3.physics.collision.collision import CollisionMesh

__all__ = ["CollisionMesh"]
