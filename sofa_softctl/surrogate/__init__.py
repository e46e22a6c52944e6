"""Interpolants of costly maps, from values and gradients on a grid that grows on demand."""
