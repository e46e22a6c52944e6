"""Estimates of parameters from experiments."""
