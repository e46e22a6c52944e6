"""Topologies."""
