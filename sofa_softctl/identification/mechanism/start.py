"""Initial states of simulations: projected onto the constraints, or in equilibrium."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.mechanism import kernels
from sofa_softctl.identification.mechanism.mechanism import Mechanism

ITERATIONS_MAX = 100
"""Limit of Newton iterations."""
STEP_MAX = 0.2
"""Longest step of a coordinate in an iteration [rad] or [m]."""


@dataclass(frozen=True, eq=False)
class Start:
    """Initial state of a simulation, and its derivatives by the parameters."""

    q: np.ndarray
    """Configuration, shape (n,)."""
    v: np.ndarray
    """Velocity, shape (n,)."""
    q_rho: np.ndarray
    """dq/drho, shape (n, n_rho)."""
    v_rho: np.ndarray
    """dv/drho, shape (n, n_rho)."""


@dataclass(frozen=True, eq=False)
class Rest:
    """A mechanism in equilibrium while some of its joints are held."""

    start: Start
    """The equilibrium."""
    multipliers: np.ndarray
    """Constraint forces [N] or [N m], shape (n_h,)."""
    q_held: np.ndarray
    """dq by the held coordinates, shape (n, n_held)."""


def rest(mechanism: Mechanism, q: np.ndarray | None = None) -> Start:
    """A start at rest, independent of the parameters; at zero by default."""
    n, n_rho = len(mechanism.coordinates), len(mechanism.parameters)
    at = np.zeros(n) if q is None else np.asarray(q, dtype=float)
    return Start(at, np.zeros(n), np.zeros((n, n_rho)), np.zeros((n, n_rho)))


def violation(mechanism: Mechanism, rho: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Constraint violation h(q, rho) [m] or [-], shape (n_h,)."""
    return _constraints(mechanism, rho, q)[0]


def project(
    mechanism: Mechanism, rho: np.ndarray, q: np.ndarray, held: Sequence[str] = ()
) -> tuple[np.ndarray, float]:
    """The configuration nearest to q on the constraints, and its distance.

    Args:
        mechanism: Mechanism with constraints.
        rho: Parameters, shape (n_rho,).
        q: Configuration to project, shape (n,).
        held: Joints with fixed coordinates.

    Raises:
        SimulationError: There is none near q.
    """
    at, loose = _find_closed(mechanism, rho, q, held), _loose(mechanism, held)
    for _ in range(ITERATIONS_MAX):  # repeated projection onto the linearised constraints
        h, Dh = _constraints(mechanism, rho, at)
        away = (at - q)[loose]
        step = away + np.linalg.lstsq(Dh[:, loose], h - Dh[:, loose] @ away, rcond=None)[0]
        at[loose] -= _limit_step(step)
        if np.abs(step).max(initial=0.0) < 1e-12:
            break
    at = _find_closed(mechanism, rho, at, held)
    return at, float(np.linalg.norm(at - q))


def _find_closed(
    mechanism: Mechanism, rho: np.ndarray, q: np.ndarray, held: Sequence[str]
) -> np.ndarray:
    """Find a configuration near q on the constraints, see `project`."""
    at, loose = np.array(q, dtype=float), _loose(mechanism, held)
    for _ in range(ITERATIONS_MAX):
        h, Dh = _constraints(mechanism, rho, at)
        if not h.size or np.abs(h).max() < 1e-12:
            return at
        at[loose] -= _limit_step(np.linalg.lstsq(Dh[:, loose], h, rcond=None)[0])
    if np.abs(h).max() < 1e-10:
        return at
    raise SimulationError(
        "No configuration near the start satisfies the constraints: the violation is "
        f"{np.abs(h).max():.3g} after {ITERATIONS_MAX} iterations. Start closer to a closed loop."
    )


def project_start(mechanism: Mechanism, rho: np.ndarray, start: Start) -> tuple[Start, float]:
    """Project a start onto the constraints, and return it with its derivatives, and the distance.

    Velocities do not change: the first step's multipliers remove their violation of constraints.

    Raises:
        SimulationError: No configuration near the start satisfies the constraints.
    """
    rho = np.asarray(rho, dtype=float)
    if not len(mechanism.tree.closed.kind):
        return start, 0.0
    q, distance = project(mechanism, rho, start.q)
    tree, n = mechanism.tree, len(start.q)
    n_h = len(tree.closed.kind)
    _, Dh = _constraints(mechanism, rho, q)
    # The nearest point: q - q_0 + Dh^T nu = 0, h(q, rho) = 0; its derivatives by q_0 and rho.
    nu = np.linalg.lstsq(Dh.T, start.q - q, rcond=None)[0]
    curved, h_rho, twisted = _constraint_curvature(mechanism, rho, q, nu)
    kkt = np.block([[np.eye(n) + curved, Dh.T], [Dh, np.zeros((n_h, n_h))]])
    by_rho = np.linalg.lstsq(kkt, np.vstack([start.q_rho - twisted, -h_rho]), rcond=None)[0][:n]
    return Start(q, start.v, by_rho, start.v_rho), distance


def _constraint_curvature(
    mechanism: Mechanism, rho: np.ndarray, q: np.ndarray, nu: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Second derivatives of nu . h by q, h by rho, and the gradient of nu . h by rho.

    Returns:
        Shapes (n, n), (n_h, n_rho), (n, n_rho).
    """
    tree = mechanism.tree
    at, count, n_h = kernels.frames(tree, rho, q), len(tree.parent), len(tree.closed.kind)
    curved, h, Dh = np.zeros((count, count)), np.empty(n_h), np.empty((n_h, count))
    kernels.add_curvature(tree, at, nu, curved)
    kernels.measure(tree, tree.closed, rho, at, h, Dh)
    h_rho, twisted = np.zeros((n_h, len(rho))), np.zeros((count, len(rho)))
    for f in np.flatnonzero(tree.rigid.parameter >= 0):
        k, factor = tree.rigid.parameter[f], tree.rigid.factor[f]
        h_rho[:, k] += factor * Dh[:, f]
        twisted[:, k] += factor * curved[:, f]
    for r in np.flatnonzero(tree.closed.target.parameter >= 0):
        h_rho[r, tree.closed.target.parameter[r]] -= tree.closed.target.factor[r]
    joint = tree.joint
    return curved[np.ix_(joint, joint)], h_rho, twisted[joint]


def settle(
    mechanism: Mechanism,
    rho: np.ndarray,
    guess: np.ndarray,
    held: Sequence[str] = (),
    multipliers: np.ndarray | None = None,
) -> Rest:
    """The equilibrium near a guess, under gravity, springs and constraints, V_q = D1 h^T mu.

    Args:
        mechanism: The mechanism.
        rho: Parameters, shape (n_rho,).
        guess: Initial guess, with the coordinates of held joints, shape (n,).
        held: Joints with fixed coordinates.
        multipliers: Initial guess of mu, shape (n_h,).

    Raises:
        SimulationError: Newton's iteration does not converge.
    """
    rho, tree = np.asarray(rho, dtype=float), mechanism.tree
    loose, n_h = _loose(mechanism, held), len(tree.closed.kind)
    q = _find_closed(mechanism, rho, guess, held)
    mu = np.zeros(n_h) if multipliers is None else multipliers.copy()
    for _ in range(ITERATIONS_MAX):
        kkt, rest_ = _balance(mechanism, rho, q, mu, loose)[:2]
        try:
            change = np.linalg.solve(kkt, rest_)
        except np.linalg.LinAlgError:
            break
        step = _limit_step(change[: len(loose)])
        q[loose] -= step
        mu -= change[len(loose) :]
        if np.abs(step).max(initial=0.0) < 1e-11:
            return _rest_with_derivatives(mechanism, rho, q, mu, held)
    raise SimulationError(
        f"No equilibrium near the start with rho = {rho.tolist()}: Newton's iteration did not "
        "converge. Do springs or gravity balance every joint that is not held?"
    )


def _rest_with_derivatives(
    mechanism: Mechanism,
    rho: np.ndarray,
    q: np.ndarray,
    mu: np.ndarray,
    held: Sequence[str],
) -> Rest:
    """Return the equilibrium with its derivatives, from the last Newton system."""
    n, loose = len(q), _loose(mechanism, held)
    kkt, _, by_rho, by_q = _balance(mechanism, rho, q, mu, loose)
    fixed = [mechanism.coordinate(name) for name in held]
    solved = -np.linalg.solve(kkt, np.hstack([by_rho, by_q[:, fixed]]))[: len(loose)]
    q_rho, q_held = np.zeros((n, len(rho))), np.zeros((n, len(fixed)))
    q_rho[loose], q_held[loose] = np.hsplit(solved, [len(rho)])
    q_held[fixed, range(len(fixed))] = 1.0
    return Rest(Start(q, np.zeros(n), q_rho, np.zeros_like(q_rho)), mu, q_held)


def _balance(
    mechanism: Mechanism, rho: np.ndarray, q: np.ndarray, mu: np.ndarray, loose: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """V_q - D1 h^T mu of the loose joints, and h; by (q_loose, mu), by rho and by all of q."""
    tree, joint = mechanism.tree, mechanism.tree.joint
    L = kernels.lagrangian(tree, rho, q, np.zeros(len(q)), True)
    h, Dh = _constraints(mechanism, rho, q)
    curved, h_rho, twisted = _constraint_curvature(mechanism, rho, q, mu)
    V_qq, V_rho = -L.qq[np.ix_(joint, joint)], -L.q_rho[joint]
    for f in np.flatnonzero(tree.rigid.parameter >= 0):
        V_rho[:, tree.rigid.parameter[f]] -= tree.rigid.factor[f] * L.qq[joint, f]
    by_q = np.vstack([(V_qq - curved)[loose], Dh])
    pull = Dh[:, loose].T
    kkt = np.hstack([by_q[:, loose], np.vstack([-pull, np.zeros((len(h), len(h)))])])
    rest_ = np.concatenate([-L.q[joint][loose] - pull @ mu, h])
    return kkt, rest_, np.vstack([(V_rho - twisted)[loose], h_rho]), by_q


def _constraints(
    mechanism: Mechanism, rho: np.ndarray, q: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """h and its derivatives by q."""
    tree, rho = mechanism.tree, np.asarray(rho, dtype=float)
    h, Dh = np.empty(len(tree.closed.kind)), np.empty((len(tree.closed.kind), len(tree.parent)))
    kernels.measure(tree, tree.closed, rho, kernels.frames(tree, rho, q), h, Dh)
    return h, Dh[:, tree.joint]


def _loose(mechanism: Mechanism, held: Sequence[str]) -> np.ndarray:
    fixed = {mechanism.coordinate(name) for name in held}
    return np.array([k for k in range(len(mechanism.coordinates)) if k not in fixed], dtype=int)


def _limit_step(step: np.ndarray) -> np.ndarray:
    """Scale a step so that no coordinate moves further than STEP_MAX."""
    longest = float(np.abs(step).max(initial=0.0))
    return step * min(1.0, STEP_MAX / longest) if longest > 0.0 else step
