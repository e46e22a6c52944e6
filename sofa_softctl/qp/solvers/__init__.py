"""Solvers of quadratic programs, one file each, with the interface `qp.QPSolver`."""

from sofa_softctl.qp.solvers.registry import ADAPTED, DENSE, SPARSE, find, register

__all__ = ["ADAPTED", "DENSE", "SPARSE", "find", "register"]
