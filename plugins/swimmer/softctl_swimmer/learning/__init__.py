"""Swimmers that learn: many at once, on the map of their mass matrix or on the flow itself."""
