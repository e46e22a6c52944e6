"""The course of the commands: limits, target buffer, state; without devices and clocks."""
