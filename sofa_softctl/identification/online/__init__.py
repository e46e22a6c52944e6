"""Estimates that follow a running scene."""
