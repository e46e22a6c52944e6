"""Notes of a plan on the grid that it was made on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sofa_softctl.status import Status
from sofa_softctl.surrogate.cells.interpolant import Interpolant
from sofa_softctl.surrogate.grid.reduced_basis import LOST_MAX, ReducedBasisGrid
from sofa_softctl.surrogate.planning.planner import Plan
from sofa_softctl.surrogate.program.transcription import PlanningProblem


def with_grid_notes(result: Plan, problem: PlanningProblem, reduced: ReducedBasisGrid) -> Plan:
    """Return the plan with notes on its grid; a too small basis makes it NOT_CONVERGED.

    Notes: the plan was held at the end of the grid, or needed points without an equilibrium; the
    reduced basis leaves out more than `LOST_MAX`; samples could not be stored.
    """
    leaving = _bound_note(result, problem) or ("" if result.status.ok else _refusal_note(reduced))
    too_small, status = reduced.lost > LOST_MAX, result.status
    if too_small and status in (Status.SOLVED, Status.CLOSEST_FEASIBLE):
        status = Status.NOT_CONVERGED
    basis = _basis_note(reduced) if too_small else ""
    notes = filter(None, (basis, result.message, leaving, store_note(reduced)))
    return replace(result, status=status, message=" ".join(notes))


def store_note(reduced: ReducedBasisGrid) -> str:
    """Return a note on damaged or unsaved equilibria of the store, or ""."""
    store, notes = reduced.grid.corners.store, []
    if store is None:
        return ""
    if store.damaged_count:
        notes.append(
            f"{store.damaged_count} equilibria in the store were damaged, and were solved again "
            "where they were needed: check the disk."
        )
    if store.unsaved_count:
        notes.append(f"{store.unsaved_count} equilibria could not be kept. {store.fault}")
    elif store.fault:
        notes.append(f"The store could not be read, and equilibria were solved anew. {store.fault}")
    return " ".join(notes)


def _basis_note(reduced: ReducedBasisGrid) -> str:
    return (
        f"The reduced basis is too small: {reduced.coordinates} coordinates leave out "
        f"{reduced.lost:.1e} of the motion to a corner, more than {LOST_MAX:g}, so that inertia is "
        f'wrong. Do not execute the plan; give SURROGATE "coordinates": {2 * reduced.coordinates}.'
    )


def _bound_note(result: Plan, problem: PlanningProblem) -> str:
    """Return a note on coordinates at the bounds of the grid, or ""."""
    lower, upper = problem.state_bounds
    a, ends = result.a[1:], []
    for bound, distance in ((lower, a - lower), (upper, upper - a)):
        is_at_bound = distance <= 1e-6
        if is_at_bound.any():
            step, line = np.argwhere(is_at_bound)[0]
            ends.append(
                f"line {line + 1} at {bound[step, line]:g} from instant {step + 2} on, "
                f"{int(is_at_bound[:, line].sum())} instants in all"
            )
    if not ends:
        return ""
    return (
        f"The plan wants to leave the grid, and was held at its end: {'; '.join(ends)}. Raise "
        '"reach" of SURROGATE, or "u_max" if tensions are at their limit, or give more time.'
    )


def _refusal_note(reduced: ReducedBasisGrid) -> str:
    """Return a note on points without a value in the last calls, or ""."""
    if not len(reduced.refused):
        return ""
    point, grid = reduced.refused[0], reduced.grid
    location = f"a = {np.round(point, 3).tolist()}"
    if isinstance(grid, Interpolant) and not ((point >= grid.lower) & (point <= grid.upper)).all():
        return f'It wanted to go to {location}, outside the grid: raise "reach" or "u_max".'
    failures = sorted(grid.failures, key=lambda failure: float(np.linalg.norm(failure[0] - point)))
    reason = failures[0][1] if failures else "the branch of its shapes ends there."
    return (
        f"It wanted to go to {location}, where the grid has no equilibrium to interpolate: {reason}"
    )
