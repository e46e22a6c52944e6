"""Actuators and solvers while a scene runs: what they do that cannot be meant."""
