"""Inverse problems in numbers, and their solution: a QP, with complementarity of contacts."""
