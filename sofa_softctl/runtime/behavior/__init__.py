"""Roles of components in a time step."""
