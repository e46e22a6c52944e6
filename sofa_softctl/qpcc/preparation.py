"""Load solvers and compiled code before the first contact."""

from __future__ import annotations

from functools import cache

from sofa_softctl.qpcc.examples.contacts import contact_problems
from sofa_softctl.qpcc.examples.free import one_cable
from sofa_softctl.qpcc.search_options import SearchOptions
from sofa_softctl.qpcc.solve import solve

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
    solve(one_cable().problem, solver="proxqp")
    for each in contact_problems() if contacts else ():
        solve(each.problem, search=_FEW)
