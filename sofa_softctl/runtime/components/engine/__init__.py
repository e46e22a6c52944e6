"""Data that are computed from other Data."""
