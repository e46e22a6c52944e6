"""Engines: Data computed from other Data."""
