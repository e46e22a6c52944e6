"""A hollow bunny that air blows up."""

from softrobots.parts.bunny.Bunny import Bunny

__all__ = ["Bunny"]
