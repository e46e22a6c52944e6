"""Rows and recordings of a study in its folder."""
