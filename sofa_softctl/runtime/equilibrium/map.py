"""Quasi-static map x = f(u): equilibrium under line tensions, and its gradient."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sofa_softctl.errors import MapError
from sofa_softctl.runtime.equilibrium.curvature import curvature
from sofa_softctl.runtime.equilibrium.statics import Equilibrium, Statics, largest_force
from sofa_softctl.runtime.kernels.cholesky.blas import one_blas_thread

NEWTON_STEPS_MAX = 60
"""Number of Newton steps from one tension to the next."""
HALVINGS_MAX = 12
"""Number of halvings of a Newton step."""
CONTINUATION_STEP_MIN = 2.0**-8
"""Smallest step of the continuation, as a fraction of the path [-]."""
DESCENT_STEPS_MAX = 300
"""Number of steps from an unstable equilibrium, or the end of a branch, to a stable one."""


class KnownEquilibrium(NamedTuple):
    """Known equilibrium as the start of a search for another one."""

    u: np.ndarray
    """Controls [-], shape (d,)."""
    x: np.ndarray
    """Positions of the independent nodes [length], shape (n, 3)."""
    x_u: np.ndarray
    """dx/du [length], shape (n, 3, d)."""


class EquilibriumMap(Statics):
    """x = f(u): quasi-static equilibrium 0 = p(x) + c(x, u) of a scene's robot.

    The lines are the scene's cables, with the tensions scale * u; negative ones push. The solver is
    Newton's method with the exact tangent of elastic forces and lines, whose directions change with
    the robot; a line search on the size of the residual; and continuation in u if it fails. From an
    unstable equilibrium it descends to a stable one, also at the end of a branch, where a robot
    snaps to another shape. dx/du follows by implicit differentiation with the last tangent.

    It changes the scene: adds force fields for the lines, and leaves the positions of the last
    equilibrium. Use a copy of a scene that is to run.

    Args:
        root: Root of an initialised scene of the embedded runtime.
        cables: Lines of the robot; by default all cables.
        scale: Tension of u = 1 [force].
        points: States whose positions are outputs, such as the tip's.
        tolerance: Largest residual force relative to the largest force on a node by u = 1 [-].

    Raises:
        SceneError: Cables are missing, or act on several bodies.

    Source: Jia, Pan, Manocha 2019, eq. (7).
    """

    def __call__(
        self, u: np.ndarray, initial: Equilibrium | KnownEquilibrium | None = None
    ) -> Equilibrium:
        """Return the equilibrium for controls u, searched from an initial one.

        Raises:
            MapError: None was found, or it has inverted elements.
        """
        with one_blas_thread():
            return self._solve(np.asarray(u, dtype=float), initial)

    def _solve(self, u: np.ndarray, initial: Equilibrium | KnownEquilibrium | None) -> Equilibrium:
        if initial is None:
            start, x = np.zeros(self.dimension), self.rest
            steps = self._newton(u, x)
            if steps is None:
                x = self._unloaded_equilibrium
        else:
            start, x = initial.u, initial.x
            steps = self._newton(u, initial.x + initial.x_u @ (u - initial.u))
            if steps is None:
                steps = self._newton(u, initial.x)
        if steps is None:
            steps = self._continue(start, u, x)
        if not self._is_stable():
            steps += self._leave_saddle(u, x)
        self.count += 1
        return self._result(u, steps)

    @cached_property
    def _unloaded_equilibrium(self) -> np.ndarray:
        """Equilibrium without tension, to start the continuation, or the mesh if there is none."""
        u = np.zeros(self.dimension)
        self.pull(u)
        failed = self._newton(u, self.rest) is None and self._descend(u, self.rest) is None
        return self.rest if failed else self.positions()

    def _is_stable(self) -> bool:
        """Factorise the tangent at this position; return True if the equilibrium is stable."""
        self.residual()
        self.tangent.factorise()
        return self.tangent.skew or self.tangent.positive_definite

    def _leave_saddle(self, u: np.ndarray, x: np.ndarray) -> int:
        """Descend from an unstable equilibrium to a stable one, towards x or the pull of line 0.

        The direction is the softest one, by a step of inverse iteration from a random vector. The
        position stays if no stable equilibrium is found. Return the number of steps.
        """
        saddle = self.positions()
        self.tangent.factorise_definite(0.0)
        random = np.random.default_rng(0).normal(size=saddle.shape) * self.masses()
        self.system.project(random)
        direction = self.tangent.solve(random)
        direction /= np.abs(direction).max()
        slope = float(np.vdot(direction, x - saddle))
        if abs(slope) < 1e-6 * self.size:
            slope = float(np.vdot(direction, self.line_force(self.lines[0])))
        steps = self._descend(u, saddle + np.copysign(1e-3 * self.size, slope) * direction)
        if steps is None or not self._is_stable():
            self.place(saddle)
            self._is_stable()
            return 0
        return steps

    def _descend(self, u: np.ndarray, x: np.ndarray) -> int | None:
        """Descend from x to an equilibrium; return the number of steps, or None.

        Newton steps with K + shift M, positive definite, at most a twentieth of the robot long, and
        shorter if they would pass a minimum along the step: this does not need the energy.
        """
        self.place(x)
        residual, shift = self.residual(), 0.0
        for iteration in range(DESCENT_STEPS_MAX):
            shift = self.tangent.factorise_definite(0.25 * shift)
            step = self.tangent.solve(residual)
            step *= min(1.0, 0.05 * self.size / max(float(np.abs(step).max()), 1e-300))
            if not np.isfinite(step).all():
                return None
            x, downhill = self.positions(), float(np.vdot(residual, step))
            for halving in range(HALVINGS_MAX):
                self.place(x + 0.5**halving * step)
                residual = self.residual()
                if np.vdot(residual, step) >= -downhill:
                    break
            if shift == 0.0 and np.abs(step).max() < 1e-3 * self.size:
                steps = self._newton(u, self.positions())
                return None if steps is None else iteration + steps
        return None

    def curvature(
        self, at: Equilibrium, by_x: np.ndarray, by_lengths: np.ndarray, by_points: np.ndarray
    ) -> np.ndarray:
        """Return the second derivative by u of the weighted sum of all outputs.

        Args:
            at: Equilibrium of this map.
            by_x: Weights of the positions, shape (n, 3).
            by_lengths: Weights of the lengths of the lines, shape (d,).
            by_points: Weights of the watched points, shape (p, 3).

        Returns:
            Symmetric matrix, shape (d, d).
        """
        with one_blas_thread():
            return curvature(self, at, by_x, by_lengths, by_points)

    def stress_stiffness(self, at: Equilibrium) -> np.ndarray:
        """Return the stiffness x_u^T (K - K_step) x_u that a time step omits, along equilibria.

        With corotational elements a step includes changes of forces by deformation of elements, not
        by rotation, the effect of stress. It is roughly proportional to the tensions, and negative
        for lines that compress the robot.

        Args:
            at: Equilibrium of this map.

        Returns:
            Stiffness [force length], shape (d, d); 0 if steps have the exact stiffness.
        """
        exact = -self.scale * at.lengths_u  # K x_u is the change of the lines' forces
        if not self.tangent.approximate_in_steps:
            return np.zeros_like(exact)
        with one_blas_thread():
            self.pull(at.u)
            self.place(at.x)
            self.residual()
            columns = [np.ascontiguousarray(at.x_u[:, :, j]) for j in range(self.dimension)]
            forces = np.array([self.tangent.step_product(column) for column in columns])
        return exact - np.einsum("nci,jnc->ij", at.x_u, forces)

    def _continue(self, start: np.ndarray, u: np.ndarray, x: np.ndarray) -> int:
        """Continue from start to u in steps of Newton's method, and descend at u if they end.

        Args:
            start: Controls at x [-], shape (d,).
            u: Target controls [-], shape (d,).
            x: Equilibrium at start [length], shape (n, 3).

        Returns:
            Number of Newton steps.

        Raises:
            MapError: u cannot be reached.
        """
        fraction, step, total = 0.0, 0.5, 0
        while fraction < 1.0 and step >= CONTINUATION_STEP_MIN:
            target = min(fraction + step, 1.0)
            steps = self._newton(start + target * (u - start), x)
            if steps is None:
                step *= 0.5
            else:
                fraction, x, total, step = target, self.positions(), total + steps, 2.0 * step
        if fraction == 1.0:
            return total
        self.pull(u)
        steps = self._descend(u, x)
        if steps is None:
            raise MapError(
                f"The robot has no equilibrium at u = {np.round(u, 6).tolist()} that could "
                f"be reached from u = {np.round(start, 6).tolist()}: Newton's method ends "
                f"at {fraction:.1%} of the way. It may buckle there, or fold."
            )
        return total + steps

    def _newton(self, u: np.ndarray, x: np.ndarray) -> int | None:
        """Solve at u from x on; return the number of steps, or None."""
        self.pull(u)
        self.place(x)
        residual = self.residual()
        size, bound = largest_force(residual), self.tolerance * self.unit_force
        for iteration in range(NEWTON_STEPS_MAX):
            if size <= bound:
                return iteration
            self.tangent.factorise()
            x, step = self.positions(), self.tangent.solve(residual)
            if not np.isfinite(step).all():
                return None
            scale, last_norm = 1.0, np.linalg.norm(residual)
            for _ in range(HALVINGS_MAX):
                self.place(x + scale * step)
                residual = self.residual()
                if np.linalg.norm(residual) < last_norm:
                    break
                scale *= 0.5
            else:
                return iteration if size <= 1e4 * bound else None  # rounding ends it
            size = largest_force(residual)
        return None

    def _result(self, u: np.ndarray, steps: int) -> Equilibrium:
        """Return the equilibrium at the present position, with its derivatives."""
        residual = largest_force(self.residual()) / self.unit_force
        unit = [self.line_force(line) for line in self.lines]
        x_u = np.empty((*self.rest.shape, self.dimension))
        for j, force in enumerate(unit):
            x_u[:, :, j] = self.tangent.solve(self.scale * force)
        if not np.isfinite(x_u).all():
            raise MapError(
                f"The stiffness is singular at u = {np.round(u, 6).tolist()}: the robot may buckle "
                "or snap there. Give narrower limits."
            )
        self._check_inside_out(u)
        lengths = np.array([line.measure() for line in self.lines])
        lengths_u = -np.einsum("knc,ncj->kj", np.array(unit), x_u)
        points = [state.position.get().copy() for state in self.watched]
        points_u = [self._push_forward(state, x_u) for state in self.watched]
        return Equilibrium(
            u=u.copy(),
            x=self.positions(),
            x_u=x_u,
            lengths=lengths,
            lengths_u=lengths_u,
            points=np.concatenate([np.empty((0, 3)), *points]),
            points_u=np.concatenate([np.empty((0, 3, self.dimension)), *points_u]),
            residual=residual,
            iterations=steps,
            stable=self.tangent.skew or self.tangent.positive_definite,
        )

    def _push_forward(self, state: Any, x_u: np.ndarray) -> np.ndarray:
        """Return the derivative of a mapped state from independent states, (p, 3, d)."""
        out = np.empty((state.count, 3, self.dimension))
        for j in range(self.dimension):
            self.system.v[:] = x_u[:, :, j]
            self.system.propagate()
            out[:, :, j] = state.velocity.get()
        self.system.v[:] = 0.0
        self.system.propagate()
        return out

    def _check_inside_out(self, u: np.ndarray) -> None:
        for field in self.system.force_fields:
            inverted_count = field.inverted_elements()
            if inverted_count:
                raise MapError(
                    f"At u = {np.round(u, 6).tolist()} {inverted_count} elements of "
                    f"{field.describe()} are turned inside out: the mesh is too coarse for so "
                    "large a motion, or the lines pull too hard. Give narrower limits."
                )
