"""Rows of the inverse problem: actuators, effectors, contacts."""
