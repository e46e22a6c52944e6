"""Inverse problems as arrays, and their solution: QPs with complementarity of contacts."""
