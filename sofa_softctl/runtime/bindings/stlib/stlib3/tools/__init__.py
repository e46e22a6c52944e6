"""Choosing parts of objects."""

from stlib3.tools.box_filter import BoxFilter

__all__ = ["BoxFilter"]
