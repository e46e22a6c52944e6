"""Implicit Euler of a robot pulled by cables, projected onto its equilibria, and its cables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from sofa_softctl.scene.control.line_stiffness import add_line_stiffness
from sofa_softctl.scene.control.system import effort_factor
from sofa_softctl.surrogate.costs.dynamics import LinearisedDynamics, Steps
from sofa_softctl.surrogate.grid.embedding import Embedding, Jet, Layout


@dataclass(frozen=True, eq=False)
class LineDynamics:
    """Galerkin-projected implicit Euler step on the manifold of equilibria, x = x(a).

    The step balances, with x+ = x(a+) and x_a = dx/da at a+,

        x_a^T M (x+ - 2 x + x-) / dt^2 + mass_damping x_a^T M (x+ - x) / dt
            = x_a^T [p(x+) + c(x+, u)],

    p: elastic forces and weight, c: forces of the cables under tensions s u. Elastic forces need
    not be evaluated: x(a) is the equilibrium under tensions s a, so p(x(a)) = -c(x(a), a). A cable
    under tension s u_j does the work -s u_j dL_j as its length changes, so that x_a^T c(x, u) = -s
    L_a^T u, and the right-hand side is exactly -s L_a(a+)^T (u - a+). The residual is the left-hand
    side minus the right-hand side:

        r(a+, a, a-, u) = x_a^T M (…) + s L_a(a+)^T (u - a+).

    Damping by stiffness_damping K v needs no stiffness either: along the equilibria K x_a is the
    change of the cables' forces, so x_a^T K x_a = -s L_a, and the missing tensions are u - a+ -
    stiffness_damping (a+ - a) / dt. If time steps omit the stress stiffness S(a) in K, as with
    corotational elements, stiffness_damping S(a+) (a+ - a) / dt is subtracted again.

    Both are as exact as the map. With an interpolated map, this is the step of a slightly different
    robot, whose cables have the interpolated lengths.

    Source: Jia, Pan, Manocha, "Fast motion planning for high-DOF robot systems using hierarchical
        system identification", eq. (8), alpha there is a here; mass_damping and stiffness_damping
        are SOFA's rayleighMass and rayleighStiffness.
    """

    embedding: Embedding
    """Map a -> [x, L, …]; a and u have the same unit, tension over `force`."""
    layout: Layout
    """Layout of the outputs, with one cable per component of a."""
    mass: np.ndarray | scipy.sparse.csr_array | scipy.sparse.csc_array
    """Mass of each coordinate, shape (3 N,), or the mass matrix, sparse, shape (3 N, 3 N)."""
    dt: float
    """Time step [time]."""
    force: float = 1.0
    """Tension s of a cable at u = 1 [force]."""
    mass_damping: float = 0.0
    """Damping force over mass and velocity [1 / time], at least 0."""
    stiffness_damping: float = 0.0
    """Damping force over stiffness and velocity [time], at least 0."""
    stress_stiffness: Callable[[], np.ndarray] | None = None
    """Returns S at rest, then its derivative by each coordinate [force length], shape (1 + d, d,
    d); called only with stiffness_damping. By default 0. See `EquilibriumMap.stress_stiffness`."""

    def __post_init__(self) -> None:
        d, n, rows = self.embedding.dimension, self.embedding.size, 3 * self.layout.nodes
        if self.layout.lines != d:
            raise ValueError(
                f"layout must have a line for each of {d} coordinates of the map. "
                f"Got: {self.layout.lines}"
            )
        if self.layout.size != n:
            raise ValueError(f"layout must have {n} rows, as the map. Got: {self.layout.size}")
        if self.mass.shape not in ((rows,), (rows, rows)):
            raise ValueError(
                f"mass must have shape ({rows},) or ({rows}, {rows}). Got: {self.mass.shape}"
            )
        damping = (self.mass_damping, self.stiffness_damping)
        if not (self.dt > 0.0 and self.force > 0.0 and min(damping) >= 0.0):
            raise ValueError(
                "dt and force must be positive, damping not negative. Got: "
                f"{self.dt}, {self.force}, {damping}"
            )

    @property
    def inputs(self) -> int:
        """Number of inputs: one per cable."""
        return self.layout.lines

    @cached_property
    def unit(self) -> float:
        """Change s |L_a(0)| of the residual at rest per unit of u [force length]."""
        L_a = self.embedding.at(np.zeros((1, self.layout.lines))).gradient[0, self.layout.length]
        return self.force * float(np.linalg.norm(L_a, 2))

    def residual(self, steps: Steps) -> np.ndarray:
        """Return the residuals of m steps [force length], shape (m, d)."""
        r: np.ndarray = np.matmul(self._weights(steps)[:, None, :], steps.ahead.gradient)[:, 0]
        return r - self._stress_damping(steps)[0]

    def linearise(self, steps: Steps) -> LinearisedDynamics:
        """Return the residuals of m steps with their derivatives."""
        s, dt, x, L = self.force, self.dt, self.layout.position, self.layout.length
        weights, ahead = self._weights(steps), steps.ahead
        curvature = self.embedding.curvature(steps.a_next, weights)  # x_aa and L_aa contracted
        along = self._times_mass(ahead.gradient[:, x]).transpose(0, 2, 1)  # (m, d, 3N)
        C = along @ ahead.gradient[:, x]
        L_a_T = ahead.gradient[:, L].transpose(0, 2, 1)
        jacobian_now, jacobian_before = steps.now.gradient, steps.before.gradient
        inertia, damping = 1.0 / dt**2, self.mass_damping / dt
        stiffness_rate = self.stiffness_damping / dt
        stress_damping, by_next, by_now = self._stress_damping(steps)
        return LinearisedDynamics(
            residual=np.matmul(weights[:, None, :], ahead.gradient)[:, 0] - stress_damping,
            by_next=(inertia + damping) * C
            + curvature
            - (1.0 + stiffness_rate) * s * L_a_T
            - by_next,
            by_now=-(2.0 * inertia + damping) * (along @ jacobian_now[:, x])
            + stiffness_rate * s * L_a_T
            - by_now,
            by_before=inertia * (along @ jacobian_before[:, x]),
            by_input=s * L_a_T,
            mass=C,
        )

    def rounding(self, ahead: Jet, now: Jet, before: Jet) -> np.ndarray:
        """Estimate the rounding error of residuals [force length], shape (m,)."""
        x = self.layout.position
        size = (
            np.abs(ahead.value[:, x]) + 2.0 * np.abs(now.value[:, x]) + np.abs(before.value[:, x])
        )
        force = self._times_mass(size[:, :, None])[:, :, 0] / self.dt**2
        r = np.matmul(np.abs(force)[:, None, :], np.abs(ahead.gradient[:, x]))[:, 0]
        return np.finfo(float).eps * np.linalg.norm(r, axis=1)

    def holding(self, a: np.ndarray) -> np.ndarray:
        """Return the tensions whose equilibrium is a, which are a."""
        return a

    def at_rest(self, a: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return the equilibria under tensions u (m, d), which are u for any a."""
        del a
        return u

    def on(self, embedding: Embedding) -> LineDynamics:
        """Return the same dynamics on another map, such as a refined one."""
        return replace(self, embedding=embedding)

    def recover(self, a: np.ndarray) -> np.ndarray:
        """Return the positions of all nodes at points a (m, d) [length], shape (m, N, 3)."""
        x = self.embedding.at(a).value[:, self.layout.position]
        return x.reshape(len(a), self.layout.nodes, 3)

    def _weights(self, steps: Steps) -> np.ndarray:
        """Return the forces conjugate to the outputs, shape (m, n): r = sum_i weights_i dy_i/da."""
        x, dt = self.layout.position, self.dt
        ahead, now, before = steps.ahead, steps.now, steps.before
        step = ahead.value[:, x] - now.value[:, x]
        last_step = now.value[:, x] - before.value[:, x]
        accelerate = (step - last_step) / dt**2 + self.mass_damping * step / dt
        weights = np.zeros_like(ahead.value)
        weights[:, x] = self._times_mass(accelerate[:, :, None])[:, :, 0]
        weights[:, self.layout.length] = self.force * (
            steps.u - steps.a_next - self.stiffness_damping * (steps.a_next - steps.a_now) / dt
        )
        return weights

    def _stress_damping(self, steps: Steps) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the damping by the stress stiffness, which steps omit, and its derivatives.

        Returns:
            stiffness_damping S(a+) (a+ - a) / dt [force length], (m, d); derivatives by a+ and by
            a, (m, d, d).
        """
        S = self._stress * self.stiffness_damping / self.dt
        step = steps.a_next - steps.a_now
        stiffness = S[0] + np.einsum("mk,kij->mij", steps.a_next, S[1:])
        stiffness_change = np.einsum("kij,mj->mik", S[1:], step)
        return np.einsum("mij,mj->mi", stiffness, step), stiffness + stiffness_change, -stiffness

    @cached_property
    def _stress(self) -> np.ndarray:
        """Stress stiffness and its derivatives, shape (1 + d, d, d)."""
        d = self.layout.lines
        if self.stress_stiffness is None or self.stiffness_damping == 0.0:
            return np.zeros((1 + d, d, d))
        return self.stress_stiffness()

    def _times_mass(self, columns: np.ndarray) -> np.ndarray:
        """Multiply columns (m, 3N, c) by the mass."""
        if isinstance(self.mass, np.ndarray):
            return self.mass[:, None] * columns
        m, rows, c = columns.shape
        flat = self.mass @ columns.transpose(1, 0, 2).reshape(rows, m * c)
        return np.asarray(flat).reshape(rows, m, c).transpose(1, 0, 2)


class LinePull:
    """Setter of the tensions of a scene's cables.

    Args:
        root: Root of the scene, before it is initialised.
        lines: CableConstraints with valueType="force".
        stiffness: Add force fields for the stiffness of cables under tension.
    """

    def __init__(self, root: Any, lines: Sequence[Any], *, stiffness: bool) -> None:
        self.root, self.lines = root, list(lines)
        if stiffness:
            for line in self.lines:
                add_line_stiffness(root, line)
        self._factor: list[float] = []

    def pull(self, tension: np.ndarray) -> None:
        """Set the tensions from the next step on [force], shape (d,)."""
        if not self._factor:
            self._factor = [effort_factor(self.root, line) for line in self.lines]
        for line, force, factor in zip(self.lines, tension, self._factor, strict=False):
            line.value.value = [float(force * factor)]
