"""Solvers of quadratic programs, one file each, with the interface `qp.QPSolver`."""

from sofa_softctl.qp.solvers.registry import ADAPTED, find, qp_solvers, register, sparse_qp_solvers

__all__ = ["ADAPTED", "find", "qp_solvers", "register", "sparse_qp_solvers"]
