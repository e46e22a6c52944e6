"""Components with more convenient parameters."""

from stlib3.components.oriented_box import addOrientedBoxRoi

__all__ = ["addOrientedBoxRoi"]
