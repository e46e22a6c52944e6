"""Motion planning as a nonlinear program over all instants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sofa_softctl.surrogate.costs.costs import InputCost, OutputCost
from sofa_softctl.surrogate.costs.dynamics import Dynamics, Steps
from sofa_softctl.surrogate.costs.obstacles import Obstacle
from sofa_softctl.surrogate.grid.embedding import Jet


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of m inputs u and d coordinates a: numbers, or arrays, (m,) or (d,), or by step."""

    u_max: np.ndarray | float
    """Largest input; for a cable, its tension over the dynamics' force [-]."""
    u_min: np.ndarray | float = 0.0
    """Smallest input, 0 since cables cannot push [-]."""
    rate: np.ndarray | float = np.inf
    """Largest change of u [1 / time]."""
    a_min: np.ndarray | float = -np.inf
    """Smallest a, the lower bound of the map [-]."""
    a_max: np.ndarray | float = np.inf
    """Largest a [-]."""


@dataclass(frozen=True, eq=False)
class PlanningProblem:
    """Planning problem: u_1 … u_K-1 and a_1 … a_K of least cost.

    Minimise the sum of the terms, subject to r(a_k+1, a_k, a_k-1, u_k) = 0 and the limits.

    Source: Jia, Pan, Manocha, eq. (5) and (11), with a for alpha. Reward there is -cost here.
    """

    dynamics: Dynamics
    """The dynamics of a step, such as `LineDynamics`."""
    instants: int
    """Number K of instants, with K - 1 steps."""
    a_first: np.ndarray
    """Initial coordinates a_1 [-], shape (d,)."""
    limits: Limits
    """Limits of inputs and coordinates."""
    outputs: tuple[OutputCost, ...] = ()
    """Costs of the robot's outputs, such as `Following`."""
    inputs: tuple[InputCost, ...] = ()
    """Costs of the inputs: `Effort`, `Smoothness`."""
    obstacles: tuple[Obstacle, ...] = ()
    """Obstacles of points."""
    a_before: np.ndarray | None = None
    """Coordinates a_0 one step earlier, shape (d,); by default at rest."""
    u_before: np.ndarray | None = None
    """Previous inputs u_0, for the rate, shape (m,); by default any."""
    rest: bool = False
    """Whether a_K = a_K-1 is required; the inputs that hold a_K then keep the robot there."""
    offset: np.ndarray | None = None
    """Offset of the robot's outputs from the map at each instant [length], shape (K, n), as
    measured in a replay. Costs and obstacles use the sum. By default 0."""

    def __post_init__(self) -> None:
        for name, count in (("a_first", self.d), ("a_before", self.d), ("u_before", self.m)):
            value = getattr(self, name)
            if value is not None and np.shape(value) != (count,):
                raise ValueError(f"{name} must have shape ({count},). Got: {np.shape(value)}")
        expected = (self.instants, self.dynamics.embedding.size)
        if self.offset is not None and self.offset.shape != expected:
            raise ValueError(f"offset must have shape {expected}. Got: {self.offset.shape}")
        if self.instants < 3:
            raise ValueError(f"instants must be at least 3. Got: {self.instants}")
        if np.any(np.asarray(self.limits.u_min) > np.asarray(self.limits.u_max)):
            raise ValueError("limits: u_min is above u_max.")

    @property
    def d(self) -> int:
        """Number of coordinates."""
        return self.dynamics.embedding.dimension

    @property
    def m(self) -> int:
        """Number of inputs."""
        return self.dynamics.inputs

    @property
    def columns(self) -> tuple[np.ndarray, np.ndarray]:
        """Indices of u_1 … u_K-1, (K - 1, m), and a_2 … a_K, (K - 1, d), in the variables.

        The order is u_1, a_2, u_2, a_3, … so that the Jacobian of the steps is banded.
        """
        first = (self.m + self.d) * np.arange(self.instants - 1)[:, None]
        return first + np.arange(self.m), first + self.m + np.arange(self.d)

    @property
    def input_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Limits of u over all steps, shape (K - 1, m) each."""
        return self._spread(self.limits.u_min, self.m), self._spread(self.limits.u_max, self.m)

    @property
    def state_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Limits of a_2 … a_K, shape (K - 1, d) each."""
        return self._spread(self.limits.a_min, self.d), self._spread(self.limits.a_max, self.d)

    def within_limits(self, u: np.ndarray) -> np.ndarray:
        """Clip inputs to their limits and rates, one instant after the other."""
        lower, upper = self.input_bounds
        change = np.asarray(self.limits.rate) * self.dynamics.dt
        u = np.clip(u, lower, upper)
        previous = self.u_before
        for k in range(len(u)):
            if previous is not None:
                u[k] = np.clip(np.clip(u[k], previous - change, previous + change), lower, upper)[0]
            previous = u[k]
        return u

    def _spread(self, limit: np.ndarray | float, count: int) -> np.ndarray:
        return np.broadcast_to(limit, (self.instants - 1, count))


@dataclass(frozen=True, eq=False)
class TrajectoryIterate:
    """Trajectory within an optimisation, possibly with defects, and its cost."""

    a: np.ndarray
    """Coordinates a_1 … a_K, shape (K, d)."""
    u: np.ndarray
    """Inputs u_1 … u_K-1, shape (K - 1, m)."""
    jet: Jet
    """The map at a_0 … a_K, K + 1 points."""
    y: np.ndarray
    """Outputs at a_1 … a_K with the problem's offset [length], shape (K, n)."""
    cost: float
    """Sum of all terms, with obstacles [cost]; NaN if a term is undefined."""
    lack: np.ndarray
    """Defects: r / unit of all steps, then a_K - a_K-1 if required [-], shape (m,)."""
    defect: float
    """Largest |r| of a step over `Dynamics.unit` [-]."""
    depth: np.ndarray
    """Depth of points inside margins, negative outside, see `Obstacle.depth` [length], (h,)."""

    @property
    def violation(self) -> float:
        """Largest depth of a point inside an obstacle's margin [length]."""
        return float(self.depth.max(initial=0.0))

    def merit(self, scale: float, penalty: float) -> float:
        """Return scale cost + penalty |lack|_1; infinite if a term is undefined."""
        value = scale * self.cost + penalty * float(np.abs(self.lack).sum())
        return value if np.isfinite(value) else np.inf


def evaluate(problem: PlanningProblem, a: np.ndarray, u: np.ndarray) -> TrajectoryIterate:
    """Evaluate a trajectory a (K, d) with inputs u (K - 1, m), by one call of the map."""
    dynamics = problem.dynamics
    first = a[0] if problem.a_before is None else problem.a_before
    jet = dynamics.embedding.at(np.vstack((first, a)))
    r = dynamics.residual(Steps(a[1:], a[:-1], u, jet[2:], jet[1:-1], jet[:-2])) / dynamics.unit
    y = jet.value[1:] if problem.offset is None else jet.value[1:] + problem.offset
    cost = sum(term.value(y[:, term.rows]) for term in problem.outputs)
    cost += sum(term.value(u) for term in problem.inputs)
    obstacle_depths = [term.depth(y[:, term.rows]) for term in problem.obstacles]
    cost += sum(
        term.weight * np.maximum(depths, 0.0).sum()
        for term, depths in zip(problem.obstacles, obstacle_depths, strict=True)
    )
    lack = np.concatenate((r.ravel(), a[-1] - a[-2])) if problem.rest else r.ravel()
    return TrajectoryIterate(
        a=a,
        u=u,
        jet=jet,
        y=y,
        cost=float(cost),
        lack=lack,
        defect=float(np.linalg.norm(r, axis=1).max()),
        depth=np.concatenate([np.zeros(0), *obstacle_depths]),
    )
