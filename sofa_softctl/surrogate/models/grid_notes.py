"""What a plan has to say of the grid that it was made on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sofa_softctl.status import Status
from sofa_softctl.surrogate.cells.interpolant import Interpolant
from sofa_softctl.surrogate.grid.reduced_basis import LOST_MAX, ReducedBasisGrid
from sofa_softctl.surrogate.planning.planner import Plan
from sofa_softctl.surrogate.program.transcription import PlanningProblem

AT_THE_END = 1e-6
"""Distance from the end of the grid below which a plan is at it [-]."""


def with_grid_notes(found: Plan, problem: PlanningProblem, reduced: ReducedBasisGrid) -> Plan:
    """The plan with what the grid adds to its message; not converged where the basis is too small.

    Notes: where the plan wants to leave the grid, or asked for points without an equilibrium; a
    reduced basis that leaves out more than `LOST_MAX`; samples that the store could not keep.
    """
    wants = _leaving(found, problem) or ("" if found.status.ok else _refused(reduced))
    too_small, status = reduced.lost > LOST_MAX, found.status
    if too_small and status in (Status.SOLVED, Status.CLOSEST_FEASIBLE):
        status = Status.NOT_CONVERGED
    basis = _basis(reduced) if too_small else ""
    notes = filter(None, (basis, found.message, wants, store_note(reduced)))
    return replace(found, status=status, message=" ".join(notes))


def store_note(reduced: ReducedBasisGrid) -> str:
    """What is to be known of the store of equilibria; empty if all is well."""
    store, notes = reduced.grid.corners.store, []
    if store is None:
        return ""
    if store.damaged:
        notes.append(
            f"{store.damaged} equilibria in the store were damaged, and were solved again where "
            "they were needed: check the disk."
        )
    if store.unsaved:
        notes.append(f"{store.unsaved} equilibria could not be kept. {store.fault}")
    elif store.fault:
        notes.append(f"The store could not be read, and equilibria were solved anew. {store.fault}")
    return " ".join(notes)


def _basis(reduced: ReducedBasisGrid) -> str:
    return (
        f"The reduced basis is too small: {reduced.coordinates} coordinates leave out "
        f"{reduced.lost:.1e} of the motion to a corner, more than {LOST_MAX:g}, so that inertia is "
        f'wrong. Do not execute the plan; give SURROGATE "coordinates": {2 * reduced.coordinates}.'
    )


def _leaving(found: Plan, problem: PlanningProblem) -> str:
    """Where coordinates are held by an end of the grid; empty if they are nowhere."""
    lower, upper = problem.state_bounds
    a, ends = found.a[1:], []
    for bound, past in ((lower, a - lower), (upper, upper - a)):
        at = past <= AT_THE_END
        if at.any():
            step, line = np.argwhere(at)[0]
            ends.append(
                f"line {line + 1} at {bound[step, line]:g} from instant {step + 2} on, "
                f"{int(at[:, line].sum())} instants in all"
            )
    if not ends:
        return ""
    return (
        f"The plan wants to leave the grid, and was held at its end: {'; '.join(ends)}. Raise "
        '"reach" of SURROGATE, or "u_max" if tensions are at their limit, or give more time.'
    )


def _refused(reduced: ReducedBasisGrid) -> str:
    """Where the grid had no value when it was asked last; empty if it always had."""
    if not len(reduced.refused):
        return ""
    point, grid = reduced.refused[0], reduced.grid
    where = f"a = {np.round(point, 3).tolist()}"
    if isinstance(grid, Interpolant) and not ((point >= grid.lower) & (point <= grid.upper)).all():
        return f'It wanted to go to {where}, outside the grid: raise "reach" or "u_max".'
    near = sorted(grid.failures, key=lambda each: float(np.linalg.norm(each[0] - point)))
    why = near[0][1] if near else "the branch of its shapes ends there."
    return f"It wanted to go to {where}, where the grid has no equilibrium to interpolate: {why}"
