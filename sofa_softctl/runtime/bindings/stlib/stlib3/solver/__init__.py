"""Time integration."""

from stlib3.solver.defaultsolver import DefaultSolver

__all__ = ["DefaultSolver"]
