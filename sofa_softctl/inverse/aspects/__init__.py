"""Concerns of inverse control beside its core: look-ahead, measurements, slack, lost objects."""
