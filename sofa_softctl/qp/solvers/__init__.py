"""Solvers of quadratic programs, one file each, with the interface `qp.QPSolver`."""

from sofa_softctl.qp.solvers.registry import find, qp_solvers, register, sparse_qp_solvers

__all__ = ["find", "qp_solvers", "register", "sparse_qp_solvers"]
