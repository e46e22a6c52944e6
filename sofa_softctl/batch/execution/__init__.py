"""Doing the runs of a study: in worker processes, or on a cluster."""
