"""Batches: many runs of a scene, one row a run."""
