"""Chains of links: a model of an arm that bends, its motions, their correction by measurements."""
