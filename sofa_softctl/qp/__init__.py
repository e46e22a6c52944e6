"""Convex quadratic programs, dense and sparse, with a KKT check of every answer."""

from sofa_softctl.base.public import public

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "problem": [
            "QP",
            "QPResult",
            "QPSolver",
            "SparseQP",
            "SparseQPSolver",
            "kkt_residual",
            "no_solution",
        ],
        "verified": ["VerifiedResult", "solve_checked"],
    },
)
