"""Elastic bodies."""
