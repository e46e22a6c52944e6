"""Concerns of inverse control: look-ahead, measurements, slack cables, lost objects."""
