"""Costs of outputs and of inputs, with derivatives. Reward = -cost.

Points in space as functions of a robot's outputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse


class OutputCost(Protocol):
    """A smooth cost of some outputs, a sum over instants."""

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of its m outputs."""
        ...

    def value(self, y: np.ndarray) -> float:
        """Cost of outputs `rows` at all instants, shape (K, m); NaN where it is undefined."""
        ...

    def gradient(self, y: np.ndarray) -> np.ndarray:
        """Its gradient, shape (K, m)."""
        ...

    def hessian(self, y: np.ndarray) -> np.ndarray:
        """A positive semi-definite approximation of its Hessian at each instant, (K, m, m)."""
        ...


class InputCost(Protocol):
    """A convex quadratic cost of the inputs."""

    def value(self, u: np.ndarray) -> float:
        """The cost of inputs u, shape (K - 1, m)."""
        ...

    def gradient(self, u: np.ndarray) -> np.ndarray:
        """Its gradient, shape (K - 1, m)."""
        ...

    def hessian(self, count: int) -> scipy.sparse.csr_array:
        """Its Hessian between instants, the same for each input, shape (count, count)."""
        ...


@dataclass(frozen=True, eq=False)
class Following:
    """1/2 sum_k weight_k |p_k - goal_k|^2: a point, or a laser's spot, follows a path."""

    probe: Probe
    """Following probe: `Point` or `Laser`."""
    goal: np.ndarray
    """Goal at each instant [length], shape (K, 3). The first one has no effect."""
    weight: np.ndarray | float = 1.0
    """Weight of each instant [cost / length^2], shape (K,), or one for all."""
    tolerance: float = np.inf
    """Distance [length] from which on the plan reports that `main` goals were not reached."""

    def __post_init__(self) -> None:
        for name in ("goal", "weight"):
            if not np.isfinite(getattr(self, name)).all():
                raise ValueError(f"{name} must be finite. Got NaN or infinity")
        if np.ndim(self.weight) and np.shape(self.weight) != np.shape(self.goal)[:1]:
            raise ValueError(
                f"weight must be a number, or one for each of {len(self.goal)} instants. "
                f"Got shape: {np.shape(self.weight)}"
            )
        if np.min(self.weight) < 0.0:
            raise ValueError(f"weight must not be negative. Got: {np.min(self.weight):g}")
        if not self.tolerance > 0.0:
            raise ValueError(f"tolerance must be positive. Got: {self.tolerance!r}")

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of its outputs."""
        return self.probe.rows

    @property
    def main(self) -> np.ndarray:
        """Which goals are to be reached, shape (K,): those of at least half the largest weight.

        Goals of a smaller weight only lead the way to them, and the first one has no effect.
        """
        weight = np.array(np.broadcast_to(self.weight, len(self.goal)))
        weight[0] = 0.0
        return (weight > 0.0) & (weight >= 0.5 * weight.max())

    def distance(self, y: np.ndarray) -> float:
        """Largest distance to `main` goals [length]."""
        return float(self.distances(y).max())

    def distances(self, y: np.ndarray) -> np.ndarray:
        """Distance of each instant [length], shape (K,); 0 where the goal is not `main`."""
        error, _ = self._error(y)
        return np.where(self.main, np.linalg.norm(error, axis=1), 0.0)

    def value(self, y: np.ndarray) -> float:
        """Cost of outputs `rows` at all instants, shape (K, m); NaN where it is undefined."""
        error, _ = self._error(y)
        return 0.5 * float(np.sum(self.weight * np.sum(error**2, axis=1)))

    def gradient(self, y: np.ndarray) -> np.ndarray:
        """Its gradient, shape (K, m)."""
        error, p_y = self._error(y)
        return np.einsum("k,ki,kim->km", np.broadcast_to(self.weight, len(y)), error, p_y)

    def hessian(self, y: np.ndarray) -> np.ndarray:
        """See `OutputCost`; Gauss-Newton: p_y^T p_y."""
        _, p_y = self._error(y)
        return np.einsum("k,kim,kin->kmn", np.broadcast_to(self.weight, len(y)), p_y, p_y)

    def _error(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p, p_y = self.probe.locate(y)
        if self.goal.shape != p.shape:
            raise ValueError(f"goal must have shape {p.shape}. Got: {self.goal.shape}")
        return p - self.goal, p_y


@dataclass(frozen=True)
class Effort:
    """weight / 2 sum_k |u_k|^2."""

    weight: float
    """[cost]; u of a line is its tension over the dynamics' force."""

    def __post_init__(self) -> None:
        _check_weight(self.weight)

    def value(self, u: np.ndarray) -> float:
        """The cost of inputs u, shape (K - 1, m)."""
        return 0.5 * self.weight * float(np.sum(u**2))

    def gradient(self, u: np.ndarray) -> np.ndarray:
        """Its gradient, shape (K - 1, m)."""
        return self.weight * u

    def hessian(self, count: int) -> scipy.sparse.csr_array:
        """Its Hessian between instants, the same for each input, shape (count, count)."""
        return scipy.sparse.csr_array(self.weight * scipy.sparse.eye_array(count))


@dataclass(frozen=True)
class Smoothness:
    """weight / 2 sum_k |u_k+1 - u_k|^2."""

    weight: float
    """[cost]; u of a line is its tension over the dynamics' force."""

    def __post_init__(self) -> None:
        _check_weight(self.weight)

    def value(self, u: np.ndarray) -> float:
        """The cost of inputs u, shape (K - 1, m)."""
        return 0.5 * self.weight * float(np.sum(np.diff(u, axis=0) ** 2))

    def gradient(self, u: np.ndarray) -> np.ndarray:
        """Its gradient, shape (K - 1, m)."""
        return self.hessian(len(u)) @ u

    def hessian(self, count: int) -> scipy.sparse.csr_array:
        """Its Hessian between instants, the same for each input, shape (count, count)."""
        D = scipy.sparse.diags_array((-1.0, 1.0), offsets=(0, 1), shape=(count - 1, count))
        return scipy.sparse.csr_array(self.weight * (D.T @ D))


def _check_weight(weight: float) -> None:
    if not 0.0 <= weight < np.inf:
        raise ValueError(f"weight must be finite and not negative. Got: {weight!r}")


class Probe(Protocol):
    """A point that depends on some rows of the outputs, with its derivative."""

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of its m outputs."""
        ...

    def locate(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The point and its derivative.

        Args:
            y: The outputs `rows` at K instants [length], shape (K, m).

        Returns:
            Points [length], shape (K, 3), NaN where there is none; derivatives, (K, 3, m).
        """
        ...


@dataclass(frozen=True)
class Point:
    """A point of three outputs: a node, or a further point such as the tip."""

    rows: tuple[int, int, int]
    """Rows of x, y and z, see `Layout.node` and `Layout.point`."""

    def locate(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The point and its derivative."""
        return y, np.broadcast_to(np.eye(3), (len(y), 3, 3))


@dataclass(frozen=True)
class Laser:
    """Intersection of the ray from a base point through the tip with a plane."""

    base: tuple[int, int, int]
    """Rows of the base point."""
    tip: tuple[int, int, int]
    """Rows of the tip, where the ray starts."""
    normal: tuple[float, float, float]
    """Normal n of the plane n . x = offset, of any length but 0."""
    offset: float
    """n . x on the plane."""

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of base, then tip."""
        return (*self.base, *self.tip)

    def locate(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `Probe`. NaN where the ray points away from the plane or along it.

        With e = tip - base and t = (offset - n . tip) / (n . e), the point is tip + t e. It
        moves in the plane, by (1 + t) Q dtip - t Q dbase with Q = I - e n^T / (n . e).
        """
        n = np.asarray(self.normal, float)
        base, tip = y[:, :3], y[:, 3:]
        e = tip - base
        slope = e @ n  # (K,)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = (self.offset - tip @ n) / slope
            t = np.where((t >= 0.0) & np.isfinite(t), t, np.nan)
            Q = np.eye(3) - e[:, :, None] * n / slope[:, None, None]
        t = t[:, None]
        by_base, by_tip = -t[:, :, None] * Q, (1.0 + t[:, :, None]) * Q
        return tip + t * e, np.concatenate((by_base, by_tip), axis=2)
