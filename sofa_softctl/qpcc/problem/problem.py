"""Inverse problem of one time step: efforts that bring the effectors to their goals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import numpy as np

from sofa_softctl.errors import ProblemError
from sofa_softctl.qpcc.problem.contacts import Contacts
from sofa_softctl.qpcc.problem.kernels import energy_matrix, has_fault


def _every(value: float) -> Any:
    """Default of a field: this number on every row; of type Any, since the field is an array."""
    return value


@dataclass(frozen=True, kw_only=True, eq=False)
class InverseProblem:
    """Compliance, free motion and limits of one time step, with contacts or without.

    With the efforts lam of the actuators, the mechanics of the step is

        delta_e = W_ea lam + delta_e_free        (effectors: position minus goal)
        delta_a = W_aa lam + delta_a_free        (actuators: displacement)

    and the solution minimises 1/2 ||effector_weight * delta_e||^2 + 1/2 energy s lam^T W_E lam
    subject to the limits. W_E is W_aa on the rows of `energy_rows`, zero elsewhere, and
    s = ||Q|| / ||W_E|| (largest absolute row sums, Q the Hessian of the tracking term, s = 0 if
    ||W_E|| <= 1e-14), which makes `energy` dimensionless: at 1 both terms weigh the same.
    `Contacts` adds the contact terms; with them, Q is the larger one of those with the actuators
    acting freely and with all contacts held.

    The first four fields are enough. A number stands for that number on every row. Arrays are
    copied and read-only.

    Source: Coevoet, Escande, Duriez 2019, eqs. (4), (6) and section III-E. The scaling s is the
        one of SoftRobots.Inverse, so that its `epsilon` can be used as `energy`.
    """

    W_ea: np.ndarray
    """Motion of effector rows per effort [displacement / effort], shape (n_e, n_a)."""
    W_aa: np.ndarray
    """Motion of actuators per effort [displacement / effort], shape (n_a, n_a), symmetric."""
    delta_e_free: np.ndarray
    """Position minus goal along each effector row in the free motion [displacement], (n_e,)."""
    delta_a_free: np.ndarray
    """Displacement of each actuator in the free motion [displacement], shape (n_a,).
    Of a cable: positive = shortened."""
    effector_weight: np.ndarray = _every(1.0)
    """Weight of each residual (its square weighs the cost) [-], shape (n_e,)."""
    effort_min: np.ndarray = _every(-math.inf)
    """Smallest effort [effort], shape (n_a,). Never exceeded."""
    effort_max: np.ndarray = _every(math.inf)
    """Largest effort [effort], shape (n_a,). Never exceeded."""
    effort_previous: np.ndarray = _every(0.0)
    """Effort of the step before, from which `effort_rate` counts [effort], shape (n_a,)."""
    effort_rate: np.ndarray = _every(math.inf)
    """Largest change of the effort in this step [effort], shape (n_a,)."""
    effort_fixed: np.ndarray = _every(math.nan)
    """Imposed effort [effort], shape (n_a,). NaN = free."""
    displacement_min: np.ndarray = _every(-math.inf)
    """Smallest displacement [displacement], shape (n_a,)."""
    displacement_max: np.ndarray = _every(math.inf)
    """Largest displacement [displacement], shape (n_a,)."""
    displacement_previous: np.ndarray = _every(0.0)
    """Displacement of the step before [displacement], shape (n_a,)."""
    displacement_rate: np.ndarray = _every(math.inf)
    """Largest change of the displacement in this step [displacement], shape (n_a,)."""
    displacement_fixed: np.ndarray = _every(math.nan)
    """Imposed displacement [displacement], shape (n_a,). NaN = free."""
    energy: float = 0.0
    """Weight of the actuation energy against tracking [-]. With more actuators than effector rows
    the efforts are unique only if it is positive."""
    energy_rows: np.ndarray | None = None
    """Actuators in the energy term, shape (n_a,) of bool. None = all."""
    names: Sequence[str] = ()
    """Names of the actuators in messages. Default: "actuator 0", "actuator 1", ..."""
    contacts: Contacts | None = None
    """The contacts of the step."""

    def __post_init__(self) -> None:
        n_e, n_a = _shape_of_W_ea(self.W_ea)
        values = vars(self)  # the dataclass is frozen, its __dict__ is not: 3 us less a step
        defaults = _default_arrays(n_e, n_a)
        for name, shape in _shapes(n_e, n_a):
            value, default = values[name], _DEFAULTS[name]
            if value is default or (type(value) is float and value == default):
                values[name] = defaults[name]
            else:
                values[name] = _read_only(name, value, shape)
        values["names"] = _names(self.names, n_a)
        if self.energy_rows is not None:
            values["energy_rows"] = _read_only("energy_rows", self.energy_rows, (n_a,), dtype=bool)
        if has_fault(*(values[name] for name, _ in _shapes(n_e, n_a))):
            _check_numbers(self)
            _check_compliance(self)
            _check_limits(self)
        if not (math.isfinite(self.energy) and self.energy >= 0.0):
            raise ProblemError(f"energy must be a number >= 0, got {self.energy}.")
        if self.contacts is not None:
            _check_contacts(self, self.contacts)

    def has(self, limit: str) -> bool:
        """Return True if a limit was set, such as "effort_rate"."""
        shape = self.W_ea.shape
        return getattr(self, limit) is not _default_arrays(*shape)[limit]

    def energy_hessian(self, Q: np.ndarray) -> np.ndarray | None:
        """Return the Hessian of the energy term, energy ||Q|| / ||W_E|| W_E, or None without one.

        Args:
            Q: Hessian of the tracking term, shape (n_a, n_a).
        """
        if self.energy == 0.0:
            return None
        counts = self.energy_rows
        if counts is None:
            counts = _constant(1.0, (self.n_a,), bool)
        E, norm = energy_matrix(self.W_aa, counts, Q, self.energy)
        return None if norm <= 1e-14 else E

    @property
    def n_a(self) -> int:
        """Number of actuators."""
        return len(self.delta_a_free)

    @property
    def n_e(self) -> int:
        """Number of effector rows."""
        return len(self.delta_e_free)


_DEFAULTS: dict[str, Any] = {field.name: field.default for field in fields(InverseProblem)}
_PER_EFFECTOR = ("delta_e_free", "effector_weight")
_NOT_ARRAYS = ("energy", "energy_rows", "names", "contacts")


@lru_cache(maxsize=32)
def _shapes(n_e: int, n_a: int) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Name and expected shape of every field that holds numbers."""
    shapes: dict[str, tuple[int, ...]] = {
        field.name: (n_e,) if field.name in _PER_EFFECTOR else (n_a,)
        for field in fields(InverseProblem)
        if field.name not in _NOT_ARRAYS
    }
    shapes |= {"W_ea": (n_e, n_a), "W_aa": (n_a, n_a)}
    return tuple(shapes.items())


def _shape_of_W_ea(W_ea: Any) -> tuple[int, int]:
    shape = np.shape(W_ea)
    if len(shape) != 2 or shape[1] == 0:
        raise ProblemError(
            f"W_ea must have the shape (n_e, n_a): a row for each effector direction, a column for "
            f"each actuator, at least one actuator. Got the shape {shape}."
        )
    return int(shape[0]), int(shape[1])


@lru_cache(maxsize=32)
def _default_arrays(n_e: int, n_a: int) -> dict[str, np.ndarray]:
    """Return the array of each field that has a default: `has` knows limits by these objects."""
    return {
        name: _constant(_DEFAULTS[name], shape, float)
        for name, shape in _shapes(n_e, n_a)
        if isinstance(_DEFAULTS[name], float)
    }


def _constant(value: float, shape: tuple[int, ...], dtype: type) -> np.ndarray:
    array: np.ndarray = np.full(shape, value, dtype=dtype)
    array.setflags(write=False)
    return array


def _read_only(name: str, value: Any, shape: tuple[int, ...], dtype: type = float) -> np.ndarray:
    if isinstance(value, (int, float, np.number)):
        return _constant(float(value), shape, dtype)
    array: np.ndarray = np.array(value, dtype=dtype)
    if array.shape != shape:
        raise ProblemError(
            f"{name} must have the shape {shape}, as W_ea has a row for each effector direction "
            f"and a column for each actuator. Got the shape {array.shape}."
        )
    array.setflags(write=False)
    return array


@lru_cache(maxsize=32)
def _default_names(n_a: int) -> tuple[str, ...]:
    return tuple(f"actuator {i}" for i in range(n_a))


def _names(names: Sequence[str], n_a: int) -> tuple[str, ...]:
    if not names:
        return _default_names(n_a)
    if isinstance(names, str) or len(names) != n_a:
        raise ProblemError(
            f"names must give one name for each of the {n_a} actuators, got {names!r}."
        )
    return tuple(names)


_FINITE = (
    "W_ea",
    "W_aa",
    "delta_e_free",
    "delta_a_free",
    "effector_weight",
    "effort_previous",
    "displacement_previous",
)


def _check_numbers(problem: InverseProblem) -> None:
    for name in _FINITE:
        array = getattr(problem, name)
        if math.isfinite(np.vdot(array, array)):  # four times cheaper than isfinite().all()
            continue
        invalid = np.argwhere(~np.isfinite(array))
        if len(invalid):
            index = tuple(map(int, invalid[0]))
            raise ProblemError(
                f"{name}{list(index)} is {array[index]}, not a finite number. The simulation has "
                f"probably diverged: look at the step before, try a smaller dt."
            )


def _check_compliance(problem: InverseProblem) -> None:
    W = problem.W_aa
    skew = W - W.T
    scale = np.vdot(W, W)
    if np.vdot(skew, skew) > 1e-16 * scale:  # 1e-8 in the Frobenius norm
        i, j = np.unravel_index(np.abs(skew).argmax(), W.shape)
        raise ProblemError(
            f"W_aa must be symmetric to 1e-8: W_aa[{i}, {j}] is {W[i, j]}, W_aa[{j}, {i}] is "
            f"{W[j, i]}. Are its rows and columns in the same order, and solved accurately enough?"
        )
    i = int(W.diagonal().argmin())
    if W[i, i] < -1e-8 * math.sqrt(scale):
        raise ProblemError(
            f"W_aa[{i}, {i}] is {W[i, i]}: {problem.names[i]} would move against its own effort. "
            f"Check the sign of its rows in W."
        )


def _check_limits(problem: InverseProblem) -> None:
    for low, high in (("effort_min", "effort_max"), ("displacement_min", "displacement_max")):
        if not (problem.has(low) or problem.has(high)):
            continue
        lower, upper = getattr(problem, low), getattr(problem, high)
        is_consistent = (lower <= upper) & (lower < math.inf) & (upper > -math.inf)
        if not is_consistent.all():
            i = int(is_consistent.argmin())
            raise ProblemError(
                f"{problem.names[i]}: {low} is {lower[i]} and {high} is {upper[i]}. Give numbers "
                f"with {low} <= {high}, and -inf or inf where there is no limit."
            )
    for name in ("effort_rate", "displacement_rate"):
        rate = getattr(problem, name)
        if problem.has(name) and not (rate >= 0.0).all():
            i = int((rate >= 0.0).argmin())
            raise ProblemError(
                f"{problem.names[i]}: {name} is {rate[i]}. Give the largest change in one step as "
                f"a number >= 0, and inf where there is no limit."
            )
    for name in ("effort_fixed", "displacement_fixed"):
        fixed = getattr(problem, name)
        if problem.has(name) and np.isinf(fixed).any():
            i = int(np.isinf(fixed).argmax())
            raise ProblemError(
                f"{problem.names[i]}: {name} is {fixed[i]}. Give the imposed value, and NaN where "
                f"there is none."
            )


def _check_contacts(problem: InverseProblem, contacts: Contacts) -> None:
    for name, rows in (("W_ec", problem.n_e), ("W_ac", problem.n_a)):
        if len(getattr(contacts, name)) != rows:
            raise ProblemError(
                f"contacts.{name} must have {rows} rows, as many as W_{name[2]}a. Got the shape "
                f"{getattr(contacts, name).shape}."
            )
