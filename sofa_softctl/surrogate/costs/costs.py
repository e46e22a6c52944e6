"""Costs of outputs and inputs with derivatives (reward = -cost), and points of a robot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import scipy.sparse


@runtime_checkable
class OutputCost(Protocol):
    """Smooth cost of some outputs, a sum over instants."""

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of the m outputs."""
        ...

    def value(self, y: np.ndarray) -> float:
        """Return the cost of outputs (K, m) at all instants; NaN if it is undefined."""
        ...

    def gradient(self, y: np.ndarray) -> np.ndarray:
        """Return the gradient of the cost, shape (K, m)."""
        ...

    def hessian(self, y: np.ndarray) -> np.ndarray:
        """Return a positive semi-definite approximation of the Hessian, shape (K, m, m)."""
        ...


@runtime_checkable
class InputCost(Protocol):
    """Convex quadratic cost of the inputs."""

    def value(self, u: np.ndarray) -> float:
        """Return the cost of inputs u, shape (K - 1, m)."""
        ...

    def gradient(self, u: np.ndarray) -> np.ndarray:
        """Return the gradient of the cost, shape (K - 1, m)."""
        ...

    def hessian(self, count: int) -> scipy.sparse.csr_array:
        """Return the Hessian between instants, equal for all inputs, shape (count, count)."""
        ...


@dataclass(frozen=True, eq=False)
class Following:
    """Cost 1/2 sum_k weight_k |A (p_k - goal_k)|^2: a point, or a laser's spot, follows a path.

    A^2 = diag(axes): by default all axes count equally.
    """

    probe: Probe
    """Following probe: `Point` or `Laser`."""
    goal: np.ndarray
    """Goal at each instant [length], shape (K, 3). The first one has no effect."""
    weight: np.ndarray | float = 1.0
    """Weight of each instant [cost / length^2], shape (K,), or one for all."""
    tolerance: float = np.inf
    """Distance above which the plan reports that `main` goals were not reached [length]."""
    axes: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Factor of the weight along x, y and z [-]. Along an axis of 0 the point is free: distances
    are along the others."""

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
        axes = np.asarray(self.axes, float)
        if axes.shape != (3,) or not (np.isfinite(axes) & (axes >= 0.0)).all() or not axes.any():
            raise ValueError(
                "axes must be three factors of the weight along x, y and z, none negative and not "
                f"all 0. Got: {self.axes!r}"
            )

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of the outputs."""
        return self.probe.rows

    @property
    def main(self) -> np.ndarray:
        """Mask of goals that must be reached: weights of at least half the largest, shape (K,).

        Goals of a smaller weight only lead to these, and the first goal has no effect.
        """
        weight = np.array(np.broadcast_to(self.weight, len(self.goal)))
        weight[0] = 0.0
        return (weight > 0.0) & (weight >= 0.5 * weight.max())

    @property
    def free(self) -> np.ndarray:
        """Mask of the axes along which the point is free, shape (3,)."""
        return np.asarray(self.axes, float) == 0.0

    def goals_of(self, p: np.ndarray) -> np.ndarray:
        """Return the goals, along free axes at the points themselves, shape (K, 3).

        Args:
            p: Points at all instants [length], shape (K, 3).
        """
        return np.where(self.free, p, self.goal)

    def distance(self, y: np.ndarray) -> float:
        """Return the largest distance to `main` goals [length]."""
        return float(self.distances(y).max())

    def distances(self, y: np.ndarray) -> np.ndarray:
        """Return the distance from each goal [length], shape (K,); 0 if it is not `main`."""
        error, _ = self._error(y)
        return np.where(self.main, np.linalg.norm(error[:, ~self.free], axis=1), 0.0)

    def value(self, y: np.ndarray) -> float:
        """Return the cost of outputs (K, m) at all instants; NaN if it is undefined."""
        error, _ = self._error(y)
        return 0.5 * float(np.sum(self.weight * (error**2 @ np.asarray(self.axes, float))))

    def gradient(self, y: np.ndarray) -> np.ndarray:
        """Return the gradient of the cost, shape (K, m)."""
        error, p_y = self._error(y)
        return np.einsum("ki,ki,kim->km", self._weights(len(y)), error, p_y)

    def hessian(self, y: np.ndarray) -> np.ndarray:
        """Return the Gauss-Newton approximation p_y^T p_y of the Hessian, shape (K, m, m)."""
        _, p_y = self._error(y)
        return np.einsum("ki,kim,kin->kmn", self._weights(len(y)), p_y, p_y)

    def _weights(self, count: int) -> np.ndarray:
        """Return the weight of each instant and axis, shape (count, 3)."""
        return np.outer(np.broadcast_to(self.weight, count), self.axes)

    def _error(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p, p_y = self.probe.locate(y)
        if self.goal.shape != p.shape:
            raise ValueError(f"goal must have shape {p.shape}. Got: {self.goal.shape}")
        return p - self.goal, p_y


@dataclass(frozen=True)
class Effort:
    """Cost weight / 2 sum_k |u_k|^2."""

    weight: float
    """Weight [cost]; u of a cable is its tension over the dynamics' force."""

    def __post_init__(self) -> None:
        _check_weight(self.weight)

    def value(self, u: np.ndarray) -> float:
        """Return the cost of inputs u, shape (K - 1, m)."""
        return 0.5 * self.weight * float(np.sum(u**2))

    def gradient(self, u: np.ndarray) -> np.ndarray:
        """Return the gradient of the cost, shape (K - 1, m)."""
        return self.weight * u

    def hessian(self, count: int) -> scipy.sparse.csr_array:
        """Return the Hessian between instants, equal for all inputs, shape (count, count)."""
        return scipy.sparse.csr_array(self.weight * scipy.sparse.eye_array(count))


@dataclass(frozen=True)
class Smoothness:
    """Cost weight / 2 sum_k |u_k+1 - u_k|^2."""

    weight: float
    """Weight [cost]; u of a cable is its tension over the dynamics' force."""

    def __post_init__(self) -> None:
        _check_weight(self.weight)

    def value(self, u: np.ndarray) -> float:
        """Return the cost of inputs u, shape (K - 1, m)."""
        return 0.5 * self.weight * float(np.sum(np.diff(u, axis=0) ** 2))

    def gradient(self, u: np.ndarray) -> np.ndarray:
        """Return the gradient of the cost, shape (K - 1, m)."""
        return self.hessian(len(u)) @ u

    def hessian(self, count: int) -> scipy.sparse.csr_array:
        """Return the Hessian between instants, equal for all inputs, shape (count, count)."""
        D = scipy.sparse.diags_array((-1.0, 1.0), offsets=(0, 1), shape=(count - 1, count))
        return scipy.sparse.csr_array(self.weight * (D.T @ D))


def _check_weight(weight: float) -> None:
    if not 0.0 <= weight < np.inf:
        raise ValueError(f"weight must be finite and not negative. Got: {weight!r}")


class Probe(Protocol):
    """Point that depends on some rows of the outputs, with its derivative."""

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of the m outputs."""
        ...

    def locate(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the point and its derivative.

        Args:
            y: Outputs `rows` at K instants [length], shape (K, m).

        Returns:
            Points [length], shape (K, 3), NaN if undefined; derivatives, (K, 3, m).
        """
        ...


@dataclass(frozen=True)
class Point:
    """Point of three outputs: a node, or a further point such as the tip."""

    rows: tuple[int, int, int]
    """Rows of x, y and z, see `Layout.node` and `Layout.point`."""

    def locate(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the point and its derivative."""
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
    """Offset n . x of the plane."""

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of base, then tip."""
        return (*self.base, *self.tip)

    def locate(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the point and its derivative; NaN if the ray points away from the plane.

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
