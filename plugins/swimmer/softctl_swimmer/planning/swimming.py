"""Free swimming for a planner: from rest in fluid at rest, with torques at the instants.

Coordinates are a = (x, c, q): position of link 0 [m], its orientation R = cay(c) [-], and the
angles of the hinges [rad]. Between two instants the velocity xi = (V, (q+ - q) / dt) is constant, V
the twist whose Cayley map moves one pose to the next. From the discrete Lagrangian
dt xi^T (M(q) + M(q+)) xi / 4, with zero momentum of body and fluid, a step is

    (N xi)_base = 0                                        N = (M(q) + M(q+)) / 2
    (N xi)_j - dt xi^T M_j xi / 4 = (N' xi')_j + dt xi'^T M_j xi' / 4 + dt (u_j - b dq_j)

with M_j = dM/dq_j at the instant, dashes for the step before, and b the damping. The integrator is
variational: its energy does not drift, it is of the second order, and it needs M and dM/dq only at
the instants, whereas `dynamics.midpoint_step` needs them between. Torques act as impulses dt u at
the instants; for the second order from the first step on they begin at zero.

Source: Marsden, West 2001, Acta Numerica 10; for the equations see `dynamics`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from typing_extensions import override

from sofa_softctl.surrogate import Jet, LinearisedDynamics, Steps
from softctl_swimmer.planning.motion_map import BASE, HINGES, MotionMap
from softctl_swimmer.planning.poses import velocity, velocity_slopes


@dataclass(frozen=True)
class SwimmingDynamics:
    """`sofa_softctl.surrogate.Dynamics` of a swimmer.

    A residual has six rows of displacements of link 0, [m] and [rad], and n of torques over
    `torque`.
    """

    embedding: MotionMap
    """Coordinates, mass matrix and places at coordinates a."""
    dt: float
    """Time step [s]."""
    torque: float
    """Torque of an input of 1 [N m]."""
    damping: float = 0.0
    """Damping of each hinge [N m s / rad]."""

    unit = 1.0
    """Residuals are of the order of coordinates and inputs already."""

    @property
    def inputs(self) -> int:
        """Number n of inputs, a torque for each hinge."""
        return self.embedding.hinges

    @override
    def residual(self, steps: Steps) -> np.ndarray:
        after = self._interval(steps.now, steps.ahead)
        before = self._interval(steps.before, steps.now)
        change = after.momentum - before.momentum
        bend = _quadratic(after.dM_first, after.xi) + _quadratic(before.dM_last, before.xi)
        base = self.dt * change[:, BASE] @ self._mobility
        force = change[:, HINGES] / self.dt - 0.25 * bend + self.damping * after.xi[:, HINGES]
        return np.hstack((base, force / self.torque - steps.u))

    @override
    def linearise(self, steps: Steps) -> LinearisedDynamics:
        after = self._interval(steps.now, steps.ahead)
        before = self._interval(steps.before, steps.now)
        by_first, by_last = after.slopes()
        before_first, before_last = before.slopes()
        dM, b = after.dM_first, self.damping
        outer_products = _outer(after.xi) + _outer(before.xi)
        bend = self.embedding.mass_curvature(steps.a_now, outer_products)  # (m, n, n)
        by_velocity_now = _by_velocity(dM, after.xi, after.by_first) + _by_velocity(
            dM, before.xi, before.by_last
        )
        by_velocity_now[:, :, HINGES] += bend
        return LinearisedDynamics(
            residual=self.residual(steps),
            by_next=self._rows(
                by_last, _by_velocity(dM, after.xi, after.by_last), b * after.by_last[:, HINGES]
            ),
            by_now=self._rows(
                by_first - before_last, by_velocity_now, b * after.by_first[:, HINGES]
            ),
            by_before=self._rows(-before_first, _by_velocity(dM, before.xi, before.by_first)),
            by_input=np.tile(np.eye(6 + self.inputs)[:, HINGES] * -1.0, (len(steps.u), 1, 1)),
            mass=self.embedding.mass(steps.ahead),
        )

    @override
    def rounding(self, ahead: Jet, now: Jet, before: Jet) -> np.ndarray:
        after, before_ = self._interval(now, ahead), self._interval(before, now)
        size = np.abs(after.N) @ np.abs(after.xi)[:, :, None]
        size += np.abs(before_.N) @ np.abs(before_.xi)[:, :, None]
        places = np.abs(ahead.value[:, : self.embedding.dimension]).max(axis=1) / self.dt
        momentum = np.linalg.norm(size[:, HINGES, 0], axis=1)
        momentum += places * np.abs(after.N).max(axis=(1, 2))
        return np.finfo(float).eps * (1.0 + momentum / (self.dt * self.torque))

    def holding(self, a: np.ndarray) -> np.ndarray:
        """Return zero torques: at rest in fluid at rest nothing moves."""
        del a
        return np.zeros(self.inputs)

    def at_rest(self, a: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return the same coordinates a."""
        return np.tile(a, (len(u), 1))

    def on(self, embedding: MotionMap) -> SwimmingDynamics:
        """Return the dynamics on another map."""
        return replace(self, embedding=embedding)

    @cached_property
    def _mobility(self) -> np.ndarray:
        """Inverse of the base's mass matrix in the middle of the map, shape (6, 6)."""
        middle = np.zeros((1, self.embedding.dimension))
        return np.linalg.inv(self.embedding.mass(self.embedding.at(middle))[0, BASE, BASE])

    def _interval(self, first: Jet, last: Jet) -> _Interval:
        return _Interval(self.embedding, self.dt, first, last)

    def _rows(
        self, momentum: np.ndarray, bend: np.ndarray, damping: np.ndarray | float = 0.0
    ) -> np.ndarray:
        """Return slopes of residuals from slopes of momenta (m, 6 + n, .), bends and damping."""
        base = self.dt * self._mobility @ momentum[:, BASE]
        force = momentum[:, HINGES] / self.dt - 0.25 * bend + damping
        return np.concatenate((base, force / self.torque), axis=1)


class _Interval:
    """Constants of m intervals between instants, with their slopes."""

    def __init__(self, at: MotionMap, dt: float, first: Jet, last: Jet) -> None:
        d = at.dimension
        self.a_first, self.a_last, self.dt = first.value[:, :d], last.value[:, :d], dt
        self.N = 0.5 * (at.mass(first) + at.mass(last))
        self.dM_first, self.dM_last = at.mass_slope(first), at.mass_slope(last)
        self.xi = velocity(self.a_first, self.a_last, dt)

    @property
    def momentum(self) -> np.ndarray:
        """Momentum N xi, shape (m, 6 + n)."""
        product: np.ndarray = (self.N @ self.xi[:, :, None])[:, :, 0]
        return product

    @cached_property
    def by_first(self) -> np.ndarray:
        """Slope of xi by the first coordinates, shape (m, 6 + n, 6 + n)."""
        return velocity_slopes(self.a_first, self.a_last, self.dt)[0]

    @cached_property
    def by_last(self) -> np.ndarray:
        """Slope of xi by the last coordinates."""
        return velocity_slopes(self.a_first, self.a_last, self.dt)[1]

    def slopes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return slopes of the momentum by first and last coordinates, (m, 6 + n, 6 + n) each."""
        first, last = self.N @ self.by_first, self.N @ self.by_last
        first[:, :, HINGES] += 0.5 * np.einsum("mcdj,md->mcj", self.dM_first, self.xi)
        last[:, :, HINGES] += 0.5 * np.einsum("mcdj,md->mcj", self.dM_last, self.xi)
        return first, last


def _outer(xi: np.ndarray) -> np.ndarray:
    return xi[:, :, None] * xi[:, None, :]


def _quadratic(dM: np.ndarray, xi: np.ndarray) -> np.ndarray:
    """Return xi^T dM/dq_j xi, shape (m, n)."""
    return np.einsum("mc,mcdj,md->mj", xi, dM, xi, optimize=True)


def _by_velocity(dM: np.ndarray, xi: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Return the slope of `_quadratic` by coordinates that xi depends on, (m, n, 6 + n)."""
    return 2.0 * np.einsum("mc,mcdj,mdk->mjk", xi, dM, slope, optimize=True)
