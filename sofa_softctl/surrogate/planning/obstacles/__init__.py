"""Obstacles of points: their cost, collisions between instants, and ways around them."""
