"""Load solvers and compiled code before the first contact."""

from __future__ import annotations

from functools import cache

import numpy as np

from sofa_softctl.qpcc.problem.modes import SearchOptions
from sofa_softctl.qpcc.problem.problem import InverseProblem
from sofa_softctl.qpcc.solve.solve import solve

_FEW = SearchOptions("exact", nodes=50)
"""Enough to come through all of the search; one problem would take a second to its end."""


@cache
def prepare(*, contacts: bool) -> None:
    """Load the QP solvers and the search's compiled code, by solving small problems.

    Some tenths of a second; half a minute where the code has to be compiled, once on a machine.
    Without it the first contact, or the first rejected answer of a solver, delays a step by that.

    Args:
        contacts: Whether there may be any; without them, solvers alone are loaded.
    """
    unit = np.ones((1, 1))
    one_cable = InverseProblem(
        W_ea=0.5 * unit, W_aa=unit, delta_e_free=np.array([-2.0]), delta_a_free=np.zeros(1)
    )
    solve(one_cable, solver="proxqp")
    if contacts:
        import scipy.linalg  # noqa: F401 - eigh of compiled code looks its routines up there

        from sofa_softctl.qpcc.examples.contacts import contact_problems

        for each in contact_problems():
            solve(each.problem, search=_FEW)
