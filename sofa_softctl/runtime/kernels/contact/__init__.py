"""Collision detection."""
