"""Experiments, their problems, parameters and channels."""
