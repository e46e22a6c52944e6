"""The quasi-static map x = f(u): equilibrium under line tensions, and its gradient."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sofa_softctl.errors import MapError
from sofa_softctl.runtime.equilibrium.curvature import curvature
from sofa_softctl.runtime.equilibrium.statics import Equilibrium, Statics, largest_force
from sofa_softctl.runtime.kernels.cholesky.blas import one_blas_thread

ITERATIONS = 60
"""Most Newton steps from one tension to the next."""
HALVINGS = 12
"""Most halvings of a Newton step."""
SMALLEST = 2.0**-8
"""Smallest step of the continuation, as a share of the way."""
DESCENT = 300
"""Most steps from an unstable balance, or from where a branch ends, down to a stable one."""


class KnownEquilibrium(NamedTuple):
    """A known equilibrium from which another one is sought."""

    u: np.ndarray
    """Controls [-], shape (d,)."""
    x: np.ndarray
    """Positions of the independent nodes [length], shape (n, 3)."""
    x_u: np.ndarray
    """dx/du [length], shape (n, 3, d)."""


class EquilibriumMap(Statics):
    """x = f(u): quasi-static equilibrium 0 = p(x) + c(x, u) of a scene's robot.

    The lines are the scene's cables, with the tensions scale * u; negative ones push. Newton's
    method with the exact tangent, of the elastic forces as of the lines, which turn with the
    robot; a line search on the size of the residual; and continuation in u where it fails. An
    unstable balance is left for the stable one below it, and so is the end of a branch, where a
    robot snaps to another shape. dx/du by implicit differentiation with the last tangent.

    Changes the scene: it gets force fields for the lines, and positions are those of the last
    equilibrium. Use a copy of one that is to run.

    Args:
        root: Root of an initialised scene of the embedded runtime.
        cables: Its lines; by default all cables.
        scale: Tension of u = 1 [force].
        points: States whose positions are watched, such as the tip's.
        tolerance: Largest force left, relative to the largest on a node by u = 1 [-].

    Raises:
        SceneError: no cables, or of several bodies.

    Source: Jia, Pan, Manocha 2019, eq. (7).
    """

    def __call__(
        self, u: np.ndarray, near: Equilibrium | KnownEquilibrium | None = None
    ) -> Equilibrium:
        """The equilibrium for controls u, sought from one nearby.

        Raises:
            MapError: none was found, or the mesh is turned inside out there.
        """
        with one_blas_thread():
            return self._solved(np.asarray(u, dtype=float), near)

    def _solved(self, u: np.ndarray, near: Equilibrium | KnownEquilibrium | None) -> Equilibrium:
        if near is None:
            start, x = np.zeros(self.dimension), self.rest
            steps = self._newton(u, x)
            if steps is None:
                x = self._hanging
        else:
            start, x = near.u, near.x
            steps = self._newton(u, near.x + near.x_u @ (u - near.u))
            if steps is None:
                steps = self._newton(u, near.x)
        if steps is None:
            steps = self._continue(start, u, x)
        if not self._is_stable():
            steps += self._leave(u, x)
        self.count += 1
        return self._present(u, steps)

    @cached_property
    def _hanging(self) -> np.ndarray:
        """Balance without tension, from where tensions are continued; that of the mesh if none."""
        u = np.zeros(self.dimension)
        self.pull(u)
        found = self._newton(u, self.rest) is not None or self._descend(u, self.rest) is not None
        return self.positions() if found else self.rest

    def _is_stable(self) -> bool:
        """Whether it rests here; the tangent is then that of this position."""
        self.residual()
        self.tangent.factorise()
        return self.tangent.skew or self.tangent.positive_definite

    def _leave(self, u: np.ndarray, x: np.ndarray) -> int:
        """From an unstable balance down to a stable one: towards x, or where line 0 pulls.

        It is left along the direction in which it gives way most: one step of inverse iteration
        from a random one. Where no stable one is found it stays. The number of steps.
        """
        here = self.positions()
        self.tangent.factorise_definite(0.0)
        random = np.random.default_rng(0).normal(size=here.shape) * self.masses()
        self.system.project(random)
        way = self.tangent.solve(random)
        way /= np.abs(way).max()
        back = float(np.vdot(way, x - here))
        if abs(back) < 1e-6 * self.size:
            back = float(np.vdot(way, self.line_force(self.lines[0])))
        steps = self._descend(u, here + np.copysign(1e-3 * self.size, back) * way)
        if steps is None or not self._is_stable():
            self.place(here)
            self._is_stable()
            return 0
        return steps

    def _descend(self, u: np.ndarray, x: np.ndarray) -> int | None:
        """Downhill from x to an equilibrium: the number of steps, or None.

        Newton steps with K + shift M, positive definite, at most a twentieth of the robot long, and
        shorter where they would pass a minimum along the way: no energy is needed for that.
        """
        self.place(x)
        residual, shift = self.residual(), 0.0
        for iteration in range(DESCENT):
            shift = self.tangent.factorise_definite(0.25 * shift)
            step = self.tangent.solve(residual)
            step *= min(1.0, 0.05 * self.size / max(float(np.abs(step).max()), 1e-300))
            if not np.isfinite(step).all():
                return None
            x, downhill = self.positions(), float(np.vdot(residual, step))
            for halving in range(HALVINGS):
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
        """Second derivative by u of the sum of all outputs, each times its weight.

        Args:
            at: An equilibrium of this map.
            by_x: Weights of the positions, shape (n, 3).
            by_lengths: Weights of the lengths of the lines, shape (d,).
            by_points: Weights of the watched points, shape (p, 3).

        Returns:
            Shape (d, d), symmetric.
        """
        with one_blas_thread():
            return curvature(self, at, by_x, by_lengths, by_points)

    def stress_stiffness(self, at: Equilibrium) -> np.ndarray:
        """Stiffness that a time step leaves out, along the equilibria, x_u^T (K - K_step) x_u.

        With corotational elements a step knows how forces change as elements deform, not as they
        turn: what stress does. It is proportional to the tensions, roughly, and negative for lines
        that compress the robot.

        Args:
            at: An equilibrium of this map.

        Returns:
            [force length], shape (d, d); 0 where steps have the exact stiffness.
        """
        whole = -self.scale * at.lengths_u  # K x_u is what the lines' forces change by
        if not self.tangent.approximate_in_steps:
            return np.zeros_like(whole)
        with one_blas_thread():
            self.pull(at.u)
            self.place(at.x)
            self.residual()
            columns = [np.ascontiguousarray(at.x_u[:, :, j]) for j in range(self.dimension)]
            forces = np.array([self.tangent.step_product(column) for column in columns])
        return whole - np.einsum("nci,jnc->ij", at.x_u, forces)

    def _continue(self, start: np.ndarray, u: np.ndarray, x: np.ndarray) -> int:
        """From start to u in steps that Newton's method can take; where they end, downhill at u.

        Args:
            start: Controls at x [-], shape (d,).
            u: Controls that are wanted [-], shape (d,).
            x: Equilibrium at start [length], shape (n, 3).

        Returns:
            Number of Newton steps.

        Raises:
            MapError: there is no way to u.
        """
        done, step, total = 0.0, 0.5, 0
        while done < 1.0 and step >= SMALLEST:
            share = min(done + step, 1.0)
            steps = self._newton(start + share * (u - start), x)
            if steps is None:
                step *= 0.5
            else:
                done, x, total, step = share, self.positions(), total + steps, 2.0 * step
        if done == 1.0:
            return total
        self.pull(u)
        steps = self._descend(u, x)
        if steps is None:
            raise MapError(
                f"The robot has no equilibrium at u = {np.round(u, 6).tolist()} that could "
                f"be reached from u = {np.round(start, 6).tolist()}: Newton's method ends "
                f"at {done:.1%} of the way. It may buckle there, or fold."
            )
        return total + steps

    def _newton(self, u: np.ndarray, x: np.ndarray) -> int | None:
        """Solve at u from x on: the number of steps, or None."""
        self.pull(u)
        self.place(x)
        residual = self.residual()
        size, bound = largest_force(residual), self.tolerance * self.unit_force
        for iteration in range(ITERATIONS):
            if size <= bound:
                return iteration
            self.tangent.factorise()
            x, step = self.positions(), self.tangent.solve(residual)
            if not np.isfinite(step).all():
                return None
            share, before = 1.0, np.linalg.norm(residual)
            for _ in range(HALVINGS):
                self.place(x + share * step)
                residual = self.residual()
                if np.linalg.norm(residual) < before:
                    break
                share *= 0.5
            else:
                return iteration if size <= 1e4 * bound else None  # rounding ends it
            size = largest_force(residual)
        return None

    def _present(self, u: np.ndarray, steps: int) -> Equilibrium:
        """The equilibrium at the present position, with its derivatives."""
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
        points_u = [self._moved(state, x_u) for state in self.watched]
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

    def _moved(self, state: Any, x_u: np.ndarray) -> np.ndarray:
        """Derivative of a mapped state from that of the independent ones, (p, 3, d)."""
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
            flips = field.inverted_elements()
            if flips:
                raise MapError(
                    f"At u = {np.round(u, 6).tolist()} {flips} elements of "
                    f"{field.describe()} are turned inside out: the mesh is too coarse for so "
                    "large a motion, or the lines pull too hard. Give narrower limits."
                )
