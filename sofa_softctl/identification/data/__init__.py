"""Recordings: files, units, sampling, delays."""
