"""Equilibria as a function of actuators, with derivatives."""
