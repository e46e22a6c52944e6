"""Copies of a scene: states, models of its step, rollouts in other processes."""
