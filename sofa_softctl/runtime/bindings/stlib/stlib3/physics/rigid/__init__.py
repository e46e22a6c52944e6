"""Rigid objects."""

from stlib3.physics.rigid.RigidObject import RigidObject
from stlib3.physics.rigid.shapes import Cube, Floor, Sphere

__all__ = ["Cube", "Floor", "RigidObject", "Sphere"]
