"""Dynamixel motors of the X series, protocol 2.0."""
