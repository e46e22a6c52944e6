"""Execution of a study's runs in worker processes, or on a cluster."""
