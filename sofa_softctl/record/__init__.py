"""Recordings of runs, in MCAP."""
