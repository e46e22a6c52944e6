"""Actuators, effectors and equalities of inverse problems."""
