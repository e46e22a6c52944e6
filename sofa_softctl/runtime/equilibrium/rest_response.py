"""Sag and lowest period of an integrator's system, by the stiffness at its position."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.behavior.solvers import DirectLinearSolver, MechanicalSystem

GROUND_STIFFNESS = 1e-3
"""Stiffness to ground that makes the response of a free system finite: gravity would move the
masses by the system's size over this number [-]."""


@dataclass(frozen=True)
class RestResponse:
    """Linear response of a system to gravity."""

    sag: float
    """Largest difference between the static displacements of nodes under gravity [length]."""
    period: float
    """Rayleigh's estimate of the longest natural period [time], from the deflections under
    accelerations along x, y and z: an upper bound of its frequency, close to it."""


def rest_response(system: MechanicalSystem, gravity: np.ndarray) -> RestResponse | None:
    """Return sag and period of a system with fixed points, or None if they are not defined.

    Data stay as they are; the next step computes forces and matrix again.

    Args:
        system: Points with masses, of which some are fixed, and a direct linear solver.
        gravity: Acceleration [length/time^2], shape (3,).
    """
    solver = system.linear_solver
    is_direct = isinstance(solver, DirectLinearSolver) and system.solver.needs_linear_solver
    if not (is_direct and system.fixed.any() and _is_simple(system)):
        return None
    x = np.concatenate([state.position.get() for state in system.states])
    size, strength = float(np.ptp(x, axis=0).max()), float(np.linalg.norm(gravity))
    if not size > 0.0:
        return None
    snapshots = [field.snapshot() for field in system.force_fields]
    try:
        return _response(system, GROUND_STIFFNESS * strength / size, gravity)
    finally:  # such as the pulse of a pressure, which advances with each force
        for field, before in zip(system.force_fields, snapshots, strict=True):
            field.restore(before)


def _response(
    system: MechanicalSystem, mass_factor: float, gravity: np.ndarray
) -> RestResponse | None:
    solver = system.linear_solver
    for field in system.force_fields:  # their stiffness is at the position of the last forces
        field.add_force(np.zeros_like(field.state.force.get()))
    try:
        solver.set_matrix(mass_factor, 1.0, 0.0)
    except SceneError:  # singular: the first step reports it
        return None
    if not solver.positive_definite:
        return None
    sag = np.zeros_like(system.v)
    period = 0.0
    for axis in range(3):
        along = np.zeros_like(sag)
        along[:, axis] = 1.0
        load = _inertia(system, along)
        system.project(load)
        mode = np.array(solver.solve(load))
        inertia = _inertia(system, mode)
        period = max(period, 2.0 * math.pi * _root(np.vdot(mode, inertia), np.vdot(mode, load)))
        sag += gravity[axis] * mode
    distance = np.linalg.norm(sag, axis=1)
    return RestResponse(float(np.ptp(distance)), period)


def _is_simple(system: MechanicalSystem) -> bool:
    """Return True for points with masses that are not mapped, and no forces of user code."""
    return (
        bool(system.masses)
        and all(state.kind.name == "Vec3" for state in system.states)
        and all(id(mass.state) in system.offset for mass in system.masses)
        and not any(field._scripted for field in system.force_fields)
    )


def _inertia(system: MechanicalSystem, v: np.ndarray) -> np.ndarray:
    """Return M v, shape (n, 3)."""
    out = np.zeros_like(v)
    for mass in system.masses:
        mass.add_product(system.part(out, mass.state), system.part(v, mass.state), 1.0)
    return out


def _root(numerator: float, denominator: float) -> float:
    return math.sqrt(numerator / denominator) if denominator > 0.0 else 0.0
