"""Objects that are rigid in part."""

from stlib3.physics.mixedmaterial.rigidification import Rigidify

__all__ = ["Rigidify"]
