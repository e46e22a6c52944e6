"""Inverse problem of one time step: efforts that bring the effectors to their goals; its QP."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any

import numpy as np

from sofa_softctl.errors import ProblemError
from sofa_softctl.qp.problem import QP
from sofa_softctl.qpcc.problem.contacts import Contacts
from sofa_softctl.qpcc.problem.kernels import (
    FINITE,
    LIMITS,
    NEGATIVE_COMPLIANCE,
    NO_FAULT,
    OF_LIMITS,
    SKEW,
    find_fault,
    limit_ranges,
    scaled_qp,
)

Array = np.ndarray
Arrays = tuple[Array, Array, Array, Array, Array, Array]
"""Arrays that kernels take, see `InverseProblem.arrays`."""


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
    arrays: Arrays = field(init=False, repr=False)
    """W_ea, W_aa, delta_e_free, delta_a_free, effector_weight and the limits, (10, n_a) as
    `kernels.LIMITS`: the numbers themselves, for kernels."""

    def __post_init__(self) -> None:
        n_e, n_a = _shape_of_W_ea(self.W_ea)
        values = vars(self)  # the dataclass is frozen, its __dict__ is not
        limits = np.repeat(UNLIMITED, n_a, axis=1)
        for row, name in enumerate(LIMITS):
            if values[name] is not _DEFAULTS[name]:
                limits[row] = _array(name, values[name], (n_a,))
            values[name] = _read_only(limits[row])
        shapes = {"W_ea": (n_e, n_a), "W_aa": (n_a, n_a), "delta_e_free": (n_e,),
                  "delta_a_free": (n_a,), "effector_weight": (n_e,)}  # fmt: skip
        arrays = [_array(name, values[name], shape) for name, shape in shapes.items()]
        values.update(zip(shapes, map(_read_only, arrays), strict=True))
        values["arrays"] = (*arrays, limits)
        values["names"] = _names(self.names, n_a)
        if self.energy_rows is not None:
            values["energy_rows"] = _read_only(
                _array("energy_rows", self.energy_rows, (n_a,), bool)
            )
        fault, *place = find_fault(*self.arrays)
        if fault != NO_FAULT:
            raise ProblemError(_fault_text(self, fault, *place))
        if not (math.isfinite(self.energy) and self.energy >= 0.0):
            raise ProblemError(f"energy must be a number >= 0, got {self.energy}.")
        if self.contacts is not None:
            _check_contacts(self, self.contacts)

    def has(self, limit: str) -> bool:
        """Return True if a limit was set, such as "effort_rate"."""
        return bool(np.isfinite(getattr(self, limit)).any())

    @property
    def in_energy(self) -> np.ndarray:
        """True for actuators in the energy term, shape (n_a,)."""
        rows = self.energy_rows
        return np.ones(self.n_a, dtype=bool) if rows is None else rows.copy()

    @property
    def n_a(self) -> int:
        """Number of actuators."""
        return len(self.delta_a_free)

    @property
    def n_e(self) -> int:
        """Number of effector rows."""
        return len(self.delta_e_free)


_DEFAULTS: dict[str, Any] = {field.name: field.default for field in fields(InverseProblem)}
UNLIMITED = np.array([[_DEFAULTS[name]] for name in LIMITS])
"""Limits of an actuator without any, shape (10, 1)."""


def _shape_of_W_ea(W_ea: Any) -> tuple[int, int]:
    shape = np.shape(W_ea)
    if len(shape) != 2 or shape[1] == 0:
        raise ProblemError(
            f"W_ea must have the shape (n_e, n_a): a row for each effector direction, a column for "
            f"each actuator, at least one actuator. Got the shape {shape}."
        )
    return int(shape[0]), int(shape[1])


def _array(name: str, value: Any, shape: tuple[int, ...], dtype: type = float) -> np.ndarray:
    """Return a copy of an array, or a number on every row."""
    if isinstance(value, (int, float, np.number)):
        return np.full(shape, value, dtype=dtype)
    array: np.ndarray = np.array(value, dtype=dtype, order="C")
    if array.shape != shape:
        raise ProblemError(
            f"{name} must have the shape {shape}, as W_ea has a row for each effector direction "
            f"and a column for each actuator. Got the shape {array.shape}."
        )
    return array


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.setflags(write=False)
    return view


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


def _fault_text(problem: InverseProblem, fault: int, i: int, j: int) -> str:
    """Return the sentence on a fault of `kernels.find_fault`."""
    if fault < SKEW:
        name = FINITE[fault - 1]
        array = getattr(problem, name)
        index = (i, j)[: array.ndim]
        return (
            f"{name}{list(index)} is {array[index]}, not a finite number. The simulation has "
            "probably diverged: look at the step before, try a smaller dt."
        )
    W = problem.W_aa
    if fault == SKEW:
        return (
            f"W_aa must be symmetric to 1e-8: W_aa[{i}, {j}] is {W[i, j]}, W_aa[{j}, {i}] is "
            f"{W[j, i]}. Are its rows and columns in the same order, and solved accurately enough?"
        )
    owner = problem.names[i]
    if fault == NEGATIVE_COMPLIANCE:
        return (
            f"W_aa[{i}, {i}] is {W[i, i]}: {owner} would move against its own effort. Check the "
            "sign of its rows in W."
        )
    name = LIMITS[fault - OF_LIMITS]
    text = f"{owner}: {name} is {getattr(problem, name)[i]}"
    if name.endswith("_min"):
        high = name.replace("_min", "_max")
        return (
            f"{text} and {high} is {getattr(problem, high)[i]}. Give numbers with {name} <= "
            f"{high}, and -inf or inf where there is no limit."
        )
    if name.endswith("_rate"):
        return (
            f"{text}. Give the largest change in one step as a number >= 0, and inf where there is "
            "no limit."
        )
    return f"{text}. Give the imposed value, and NaN where there is none."


def _check_contacts(problem: InverseProblem, contacts: Contacts) -> None:
    for name, rows in (("W_ec", problem.n_e), ("W_ac", problem.n_a)):
        if len(getattr(contacts, name)) != rows:
            raise ProblemError(
                f"contacts.{name} must have {rows} rows, as many as W_{name[2]}a. Got the shape "
                f"{getattr(contacts, name).shape}."
            )


@dataclass(frozen=True, eq=False)
class InverseQP:
    """QP of an inverse problem, and the scales of its variables and rows."""

    qp: QP
    """Dimensionless: its variables are lam / effort_scale, its rows the limited displacements."""
    effort_scale: np.ndarray
    """Effort of each variable's unit [effort], shape (n_a,)."""
    rows: np.ndarray
    """Actuators whose displacement is limited, one a row of the QP, shape (m,) of int."""
    displacement_scale: np.ndarray
    """Displacement of a row's unit, for each actuator [displacement], shape (n_a,)."""
    energy_matrix: np.ndarray
    """Hessian of the energy term [displacement^2 / effort^2], shape (n_a, n_a)."""


def build_qp(problem: InverseProblem, ranges: np.ndarray | None = None) -> InverseQP:
    """Dimensionless and well scaled QP of an inverse problem.

    Each variable is scaled such that the Hessian's diagonal is one; each row such that its norm is
    one; then all lengths are divided by one length, the larger of the weighted effector error and
    of the excess of limits in the free motion. So the units of actuators and scene and the size of
    the step do not matter to solvers, and residuals are relative to the free motion.

    Args:
        problem: The inverse problem.
        ranges: Ranges of effort and displacement, instead of the problem's own limits, as
            `kernels.limit_ranges`, shape (4, n_a).

    Returns:
        The QP with its scales.
    """
    W_ea, W_aa, delta_e, delta_a, weight, limits = problem.arrays
    ranges = limit_ranges(limits) if ranges is None else ranges
    qp, energy_matrix = scaled_qp(
        W_ea, W_aa, delta_e, delta_a, weight, ranges, float(problem.energy), problem.in_energy
    )
    *qp, effort_scale, displacement_scale, rows = qp
    return InverseQP(QP(*qp), effort_scale, rows, displacement_scale, energy_matrix)
