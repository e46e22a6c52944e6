"""What a window shows."""

from stlib3.visuals.visualmodel import VisualModel

__all__ = ["VisualModel"]
