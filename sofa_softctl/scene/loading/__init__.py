"""Scenes loaded from files, for both backends."""
