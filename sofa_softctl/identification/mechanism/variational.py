"""Diagnosis of singular steps: joints without mass, redundant constraints.

Midpoint variational integrator of mechanisms.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sofa_softctl.errors import IdentificationError, SimulationError
from sofa_softctl.identification.mechanism import kernels
from sofa_softctl.identification.mechanism.kernels.arrays import Drive, Steering
from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.parts import Clamp, Pin, Rod
from sofa_softctl.identification.mechanism.start import Start, violation

SINGULAR_RATIO = 1e-9
"""Singular value or inertia, relative to the largest, that counts as zero [-]."""
ROWS = {Pin: 3, Clamp: 6, Rod: 1}
"""Number of equations of each constraint."""


def reason_for_singularity(mechanism: Mechanism, rho: np.ndarray, q: np.ndarray) -> str:
    """Return the reason for a singular step at a configuration, with a remedy, or ""."""
    return " ".join(filter(None, [_massless(mechanism, rho, q), _redundant(mechanism, rho, q)]))


def _massless(mechanism: Mechanism, rho: np.ndarray, q: np.ndarray) -> str:
    """Message on joints without inertia."""
    tree = mechanism.tree
    L = kernels.lagrangian(tree, rho, q, np.zeros(len(q)), False)
    inertia = np.diag(L.vv)[tree.joint]
    is_massless = inertia <= SINGULAR_RATIO * inertia.max(initial=0.0)
    names = [name for name, bare in zip(mechanism.coordinates, is_massless, strict=True) if bare]
    if not names:
        return ""
    return (
        f"There is no inertia about {_joints(names)}: add a Body to it, or to a joint after it, "
        "off the axis or with a gyration, or an Armature."
    )


def _redundant(mechanism: Mechanism, rho: np.ndarray, q: np.ndarray) -> str:
    """Message on redundant constraint equations."""
    tree = mechanism.tree
    n_h = len(tree.closed.kind)
    h, Dh = np.empty(n_h), np.empty((n_h, len(tree.parent)))
    kernels.measure(tree, tree.closed, rho, kernels.frames(tree, rho, q), h, Dh)
    Dh = Dh[:, tree.joint]
    missing = n_h - _rank(Dh)
    if not missing:
        return ""
    return (
        f"{_equations(mechanism, Dh, missing)} follow from the others, or do not depend on any "
        "joint, as those normal to the plane of a planar mechanism. Use a Rod, or add a sliding "
        "joint along the redundant direction: it stays at zero."
    )


def _equations(mechanism: Mechanism, Dh: np.ndarray, missing: int) -> str:
    """Return a message on constraints with redundant equations."""
    row, named = 0, []
    for constraint in mechanism.constraints:
        rows = range(row, row := row + ROWS[type(constraint)])
        rank = _rank(np.delete(Dh, rows, axis=0))
        if len(Dh) - len(rows) - rank < missing:  # without it, fewer are redundant
            named.append(f"the {type(constraint).__name__} of '{constraint.one}'")
    return f"{missing} of the {len(Dh)} equations of {', '.join(named)}"


def _rank(matrix: np.ndarray) -> int:
    if not matrix.size:
        return 0
    values = np.linalg.svd(matrix, compute_uv=False)
    return int((values > SINGULAR_RATIO * max(values.max(), 1e-300)).sum())


def _joints(names: list[str]) -> str:
    quoted = ", ".join(f"'{name}'" for name in names)
    return f"joint {quoted}" if len(names) == 1 else f"the joints {quoted}"


TOLERANCE = 1e-7
"""Largest last Newton step of a coordinate [rad] or [m]; the remaining error is its square."""
ITERATIONS = 25
"""Limit of Newton iterations in a step."""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A simulated motion of K steps."""

    dt: float
    """Time step [s]."""
    q: np.ndarray
    """Configurations, shape (K + 1, n)."""
    p: np.ndarray
    """Momenta p_k of eq. (4), shape (K + 1, n)."""
    multipliers: np.ndarray
    """Impulses of the constraints in each step, shape (K, n_h)."""
    p_start_rho: np.ndarray = field(repr=False)
    """dp_0/drho, shape (n, n_rho)."""

    @property
    def time(self) -> np.ndarray:
        """Times of the configurations [s], shape (K + 1,)."""
        return self.dt * np.arange(len(self.q))


def free(mechanism: Mechanism, steps: int, *, share: float = 0.5) -> Drive:
    """A drive without external forces for `steps` steps."""
    n = len(mechanism.coordinates)
    return Drive(
        gain_u=np.zeros((n, 0)),
        u=np.zeros((steps, 0)),
        fed=np.zeros(0, dtype=np.int64),
        gain=np.zeros((1, 0, 0)),
        target=np.zeros((steps, 0)),
        slope=np.zeros((steps, 0)),
        signal=np.zeros(0, dtype=np.int64),
        parameter=np.zeros(0, dtype=np.int64),
        share=share,
    )


UNSTEERED = Steering(np.zeros((0, 0, 0)), np.zeros((0, 0)))
"""No feedback of the state to the inputs."""


def simulate(
    mechanism: Mechanism,
    rho: np.ndarray,
    start: Start,
    drive: Drive,
    dt: float,
    steering: Steering = UNSTEERED,
) -> Trajectory:
    """Simulate all steps of a drive.

    Args:
        mechanism: The mechanism.
        rho: Parameters, shape (n_rho,).
        start: Initial state, on the constraints.
        drive: External forces of K steps.
        dt: Time step [s].
        steering: Feedback of the state to the inputs, which become those that were applied.

    Raises:
        SimulationError: A step has no solution, or is not finite.
        IdentificationError: The start violates a constraint, or a shape is wrong.

    Source: Caldwell, Coleman, Correll 2014, eq. (5), with p_0 = L_v(q_0, v_0). With
        `drive.share` = 0 forces act as in the paper, at the start of each step: first order.
    """
    rho = np.asarray(rho, dtype=float)
    tree, n, steps = mechanism.tree, len(mechanism.coordinates), len(drive.u)
    if rho.shape != (len(mechanism.parameters),):
        names = ", ".join(parameter.name for parameter in mechanism.parameters)
        raise IdentificationError(
            f"rho has shape {rho.shape}; the mechanism has {len(mechanism.parameters)} parameters: "
            f"{names or 'none'}."
        )
    _check_start(mechanism, rho, start)
    q, p = np.empty((steps + 1, n)), np.empty((steps + 1, n))
    multipliers = np.zeros((steps, len(tree.closed.kind)))
    L = kernels.lagrangian(tree, rho, start.q, start.v, True)
    at = np.ix_(tree.joint, tree.joint)
    p_rho = L.v_rho[tree.joint] + L.qv[at].T @ start.q_rho + L.vv[at] @ start.v_rho
    for f in np.flatnonzero(tree.rigid.parameter >= 0):
        p_rho[:, tree.rigid.parameter[f]] += tree.rigid.factor[f] * L.qv[f, tree.joint]
    begin = (dt, start.q, L.v[tree.joint], start.v)
    try:
        completed_steps = kernels.simulate(
            tree, rho, drive, *begin, q, p, multipliers, steering, TOLERANCE, ITERATIONS
        )
    except np.linalg.LinAlgError as error:
        reason = reason_for_singularity(mechanism, rho, start.q)
        raise SimulationError(f"A step's equations are singular. {reason}".strip()) from error
    if completed_steps < steps:
        raise SimulationError(
            f"The step from t = {completed_steps * dt:.6g} s has no solution with "
            f"{_values_text(mechanism, rho)}: "
            f"Newton's iteration did not converge. Try a time step below {dt:g} s, or check data "
            "and parameters."
        )
    return Trajectory(dt, q, p, multipliers, p_rho)


def energy(mechanism: Mechanism, rho: np.ndarray, trajectory: Trajectory) -> np.ndarray:
    """Total energy at the middle of each step [J], shape (K,)."""
    rho, q = np.asarray(rho, dtype=float), trajectory.q
    middle, v = 0.5 * (q[1:] + q[:-1]), np.diff(q, axis=0) / trajectory.dt
    pairs = zip(middle, v, strict=True)
    return np.array([sum(kernels.energies(mechanism.tree, rho, *pair)) for pair in pairs])


def _check_start(mechanism: Mechanism, rho: np.ndarray, start: Start) -> None:
    if start.q.shape != (len(mechanism.coordinates),):
        raise IdentificationError(
            f"The start has {start.q.size} coordinates; the mechanism has "
            f"{len(mechanism.coordinates)}: {', '.join(mechanism.coordinates)}."
        )
    missed = violation(mechanism, rho, start.q)
    if missed.size and np.abs(missed).max() > 1e-8:
        raise IdentificationError(
            f"The start violates the constraints by {np.abs(missed).max():.3g}. `project` returns "
            "the nearest configuration that does not."
        )


def _values_text(mechanism: Mechanism, rho: np.ndarray) -> str:
    pairs = zip(mechanism.parameters, rho, strict=True)
    return (
        ", ".join(f"{parameter.name} = {value:.6g}" for parameter, value in pairs)
        or "this mechanism"
    )
