"""Regions of interest."""
