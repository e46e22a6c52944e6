"""Measured motion: files, units, sampling."""
