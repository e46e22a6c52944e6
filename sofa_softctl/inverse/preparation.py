"""Load solvers and compiled code before the first contact."""

from __future__ import annotations

import gc
from functools import cache

import numpy as np

from sofa_softctl.qpcc.problem.modes import SearchOptions
from sofa_softctl.qpcc.problem.problem import InverseProblem
from sofa_softctl.qpcc.solve.solve import ACTIVE_SET, solve

_SHORT_SEARCH = SearchOptions("exact", nodes=50)
"""Enough to run all code of the search; solving one of the problems fully takes a second."""


@cache
def prepare(*, contacts: bool) -> None:
    """Load the QP solvers and the search's compiled code, by solving small problems.

    Takes some tenths of a second, or half a minute if the code must be compiled, once per machine.
    Otherwise the first contact, or a solver's first rejected solution, delays a step by that.

    Args:
        contacts: Whether contacts are possible; otherwise only the solvers are loaded.
    """
    unit = np.ones((1, 1))
    one_cable = InverseProblem(
        W_ea=0.5 * unit, W_aa=unit, delta_e_free=np.array([-2.0]), delta_a_free=np.zeros(1)
    )
    for solver in (ACTIVE_SET, "proxqp"):
        solve(one_cable, solver=solver)
    if contacts:
        import scipy.linalg  # noqa: F401 - eigh of compiled code looks its routines up there

        from sofa_softctl.qpcc.examples.contacts import contact_problems

        for example in contact_problems():
            solve(example.problem, search=_SHORT_SEARCH)
    gc.collect()  # what was imported and built; otherwise one of the first steps does it, in 50 ms
