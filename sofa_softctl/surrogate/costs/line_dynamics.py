"""Implicit Euler of a robot pulled by lines, projected onto its equilibria: d unknowns a step.

Pull the lines of a scene with given tensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from sofa_softctl.scene.constraints.system import effort_factor
from sofa_softctl.scene.line_stiffness import LineStiffness, add_line_stiffness
from sofa_softctl.surrogate.costs.dynamics import LinearisedDynamics, Steps
from sofa_softctl.surrogate.grid.embedding import Embedding, Jet, Layout


@dataclass(frozen=True, eq=False)
class LineDynamics:
    """The Galerkin-projected implicit Euler step on the manifold of equilibria, x = x(a).

    The step balances, with x+ = x(a+) and x_a = dx/da at a+,

        x_a^T M (x+ - 2 x + x-) / dt^2 + mass_damping x_a^T M (x+ - x) / dt
            = x_a^T [p(x+) + c(x+, u)],

    p: elastic forces and weight, c: forces of the lines under tensions s u. No elastic force is
    evaluated for that. As x(a) is the equilibrium under tensions s a, p(x(a)) = -c(x(a), a). A line
    under tension s u_j does the work -s u_j dL_j as its length changes, so that
    x_a^T c(x, u) = -s L_a^T u, and the right-hand side is exactly -s L_a(a+)^T (u - a+). The
    residual is the left-hand side minus the right-hand side:

        r(a+, a, a-, u) = x_a^T M (…) + s L_a(a+)^T (u - a+).

    Damping by stiffness_damping K v needs no stiffness either: along the equilibria K x_a is the
    change of the lines' forces, so that x_a^T K x_a = -s L_a, and the tensions that are missing are
    u - a+ - stiffness_damping (a+ - a) / dt. Where time steps leave the stress stiffness S(a) out
    of K, as with corotational elements, stiffness_damping S(a+) (a+ - a) / dt is taken away again.

    Both are as exact as the map. For a map that is interpolated, this is the step of another,
    nearby robot, whose lines have the interpolated lengths.

    Source: Jia, Pan, Manocha, "Fast motion planning for high-DOF robot systems using hierarchical
        system identification", eq. (8), alpha there is a here; mass_damping and stiffness_damping
        are SOFA's rayleighMass and rayleighStiffness.
    """

    embedding: Embedding
    """The map a -> [x, L, …]; a and u in the same unit, tension over `force`."""
    layout: Layout
    """Layout of the outputs; as many lines as a has components."""
    mass: np.ndarray | scipy.sparse.csr_array | scipy.sparse.csc_array
    """Mass of each coordinate, shape (3 N,), or the mass matrix, sparse, shape (3 N, 3 N)."""
    dt: float
    """Time step [time]."""
    force: float = 1.0
    """s: tension of a line at u = 1 [force]."""
    mass_damping: float = 0.0
    """Damping force over mass and velocity [1 / time], at least 0."""
    stiffness_damping: float = 0.0
    """Damping force over stiffness and velocity [time], at least 0."""
    stress_stiffness: Callable[[], np.ndarray] | None = None
    """Gives S at rest, then its derivative by each coordinate [force length], shape (1 + d, d, d);
    asked for where stiffness damps. None: 0. See `EquilibriumMap.stress_stiffness`."""

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
        """As many as lines."""
        return self.layout.lines

    @cached_property
    def unit(self) -> float:
        """s |L_a(0)|: change of the residual at rest by a change of u by 1 [force length]."""
        L_a = self.embedding.at(np.zeros((1, self.layout.lines))).gradient[0, self.layout.length]
        return self.force * float(np.linalg.norm(L_a, 2))

    def residual(self, steps: Steps) -> np.ndarray:
        """Residual of m steps, r [force length], shape (m, d)."""
        r: np.ndarray = np.matmul(self._weights(steps)[:, None, :], steps.ahead.gradient)[:, 0]
        return r - self._undamped(steps)[0]

    def linearise(self, steps: Steps) -> LinearisedDynamics:
        """Residuals of m steps with their derivatives."""
        s, dt, x, L = self.force, self.dt, self.layout.position, self.layout.length
        weights, ahead = self._weights(steps), steps.ahead
        curvature = self.embedding.curvature(steps.a_next, weights)  # x_aa and L_aa contracted
        along = self._times_mass(ahead.gradient[:, x]).transpose(0, 2, 1)  # (m, d, 3N)
        C = along @ ahead.gradient[:, x]
        L_a_T = ahead.gradient[:, L].transpose(0, 2, 1)
        jacobian_now, jacobian_before = steps.now.gradient, steps.before.gradient
        inertia, damping = 1.0 / dt**2, self.mass_damping / dt
        stiffness_rate = self.stiffness_damping / dt
        stress_damping, by_next, by_now = self._undamped(steps)
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
        """Rounding error of residuals [force length], shape (m,)."""
        x = self.layout.position
        size = (
            np.abs(ahead.value[:, x]) + 2.0 * np.abs(now.value[:, x]) + np.abs(before.value[:, x])
        )
        force = self._times_mass(size[:, :, None])[:, :, 0] / self.dt**2
        r = np.matmul(np.abs(force)[:, None, :], np.abs(ahead.gradient[:, x]))[:, 0]
        return np.finfo(float).eps * np.linalg.norm(r, axis=1)

    def holding(self, a: np.ndarray) -> np.ndarray:
        """Tensions whose equilibrium is a: a itself."""
        return a

    def at_rest(self, a: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Equilibria under tensions u, (m, d): u themselves, from wherever the robot comes."""
        del a
        return u

    def on(self, embedding: Embedding) -> LineDynamics:
        """The same with another map, such as a refined one."""
        return replace(self, embedding=embedding)

    def recover(self, a: np.ndarray) -> np.ndarray:
        """Positions of all nodes at the points a, shape (m, d) -> (m, N, 3) [length]."""
        x = self.embedding.at(a).value[:, self.layout.position]
        return x.reshape(len(a), self.layout.nodes, 3)

    def _weights(self, steps: Steps) -> np.ndarray:
        """Forces conjugate to the outputs, shape (m, n): r = sum_i weights_i dy_i/da."""
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

    def _undamped(self, steps: Steps) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Damping by the stress stiffness, stiffness_damping S(a+) (a+ - a) / dt: steps lack it.

        Returns:
            It [force length], (m, d); its derivatives by a+ and by a, (m, d, d).
        """
        S = self._stress * self.stiffness_damping / self.dt
        step = steps.a_next - steps.a_now
        stiffness = S[0] + np.einsum("mk,kij->mij", steps.a_next, S[1:])
        stiffness_change = np.einsum("kij,mj->mik", S[1:], step)
        return np.einsum("mij,mj->mi", stiffness, step), stiffness + stiffness_change, -stiffness

    @cached_property
    def _stress(self) -> np.ndarray:
        """Shape (1 + d, d, d)."""
        d = self.layout.lines
        if self.stress_stiffness is None or self.stiffness_damping == 0.0:
            return np.zeros((1 + d, d, d))
        return self.stress_stiffness()

    def _times_mass(self, columns: np.ndarray) -> np.ndarray:
        """M times each column, shape (m, 3N, c)."""
        if isinstance(self.mass, np.ndarray):
            return self.mass[:, None] * columns
        m, rows, c = columns.shape
        flat = self.mass @ columns.transpose(1, 0, 2).reshape(rows, m * c)
        return np.asarray(flat).reshape(rows, m, c).transpose(1, 0, 2)


class LinePull:
    """Sets the tensions of a scene's lines step by step.

    Args:
        root: Root of the scene.
        lines: CableConstraints with valueType="force".
        stiffness: Whether steps have the stiffness that tensions give to the lines; the force
            fields for that are added here, so before the scene is initialised.
    """

    def __init__(self, root: Any, lines: Sequence[Any], *, stiffness: bool) -> None:
        self.root, self.lines = root, list(lines)
        self._fields: list[LineStiffness] = []
        if stiffness:
            self._fields = [add_line_stiffness(root, line) for line in self.lines]
        self._factor: list[float] = []

    def pull(self, tension: np.ndarray) -> None:
        """Tensions of the coming step [force], shape (d,); they stay until the next call."""
        if not self._factor:
            self._factor = [effort_factor(self.root, line) for line in self.lines]
        for line, force, factor in zip(self.lines, tension, self._factor, strict=False):
            line.value.value = [float(force * factor)]
        for field, force in zip(self._fields, tension, strict=False):
            field.tension = float(force)
