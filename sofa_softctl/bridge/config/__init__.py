"""The configuration file of a robot: reading, checking, and unit maps."""
