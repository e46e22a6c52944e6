"""Optima as entries of a library, here or in worker processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sofa_softctl.errors import LibraryError
from sofa_softctl.library.entry import Entry, entry_of
from sofa_softctl.library.ocp.problem import OptimalControlProblem
from sofa_softctl.library.ocp.shooting import Program
from sofa_softctl.status import Status


class Solved(NamedTuple):
    """Result of solving one problem."""

    status: Status
    """Status of the nonlinear program."""
    entry: Entry | None
    """The motion; None where there is none, or a degenerate one."""
    why: str
    """Reason if there is none."""
    end: np.ndarray | None
    """Final state of the optimum, shape (n_x,)."""


def solve(program: Program, p: np.ndarray) -> Solved:
    """The optimum at parameters p as an entry of a library."""
    optimum = program.solve(p)
    where = optimum.v if optimum.status.ok else program.guess(p)
    undefined = program.model.undefined(where, p)
    if undefined and optimum.status is not Status.INFEASIBLE:
        at = "optimum" if optimum.status.ok else "initial guess"
        why = f"{' and '.join(undefined)} not finite at the {at}"
        return Solved(Status.NOT_CONVERGED, None, why, None)
    if not optimum.status.ok:
        return Solved(optimum.status, None, optimum.message, None)
    entry, regular = entry_of(program, optimum)
    return Solved(optimum.status, entry, str(regular), optimum.v[program.x_at[-1]])


_PROGRAMS: dict[str, Program] = {}
"""Program of the last builder that this worker solved for, by its key."""


def solve_anew(
    key: str, make: Callable[[], OptimalControlProblem], digest: str, p: np.ndarray
) -> Solved:
    """The optimum, in a worker, which makes the problem once for each builder.

    Raises:
        LibraryError: The problem that it makes is another one.
    """
    if key not in _PROGRAMS:
        program = Program(make())
        if program.digest != digest:
            raise LibraryError(
                f"A worker made another problem '{program.problem.name}' than the one that is "
                "built: its file was changed since, or a file that it imports. Start again."
            )
        _PROGRAMS.clear()
        _PROGRAMS[key] = program
    return solve(_PROGRAMS[key], p)
