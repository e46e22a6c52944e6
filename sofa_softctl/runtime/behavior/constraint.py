"""Roles of constraints and constraint solvers: rows in, multipliers out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, NamedTuple

import numpy as np

from sofa_softctl.runtime.behavior.mechanics import SingleStateComponent
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.core.data.data import Data, DataWatch
from sofa_softctl.runtime.core.data.types import Int, Real, UInt
from sofa_softctl.runtime.helper.message import complain, keeps_sofa_defects
from sofa_softctl.runtime.kernels.constraint.rows import add_rows_transposed

StateRows = tuple[MechanicalState, np.ndarray, np.ndarray, np.ndarray]
"""Directions on a state, as triplets: the state, row (k,), node (k,), direction (k, 3)."""


class InverseRole(Enum):
    """Role of a constraint in inverse control: unknown multiplier, and delta that must vanish.

    Without inverse control such a constraint has no effect.
    """

    ACTUATOR = "sought, within limits"
    EFFECTOR = "zero, its delta shall vanish"
    SENSOR = "zero, its delta is only looked at"
    EQUALITY = "sought, its delta or itself is given"


class LagrangianConstraint(SingleStateComponent):
    """Rows of the constraint system, solved for their multipliers in every step."""

    category: ClassVar[str] = "constraint"

    inverse_role: ClassVar[InverseRole | None] = None
    """Role of its rows in inverse control, or None if they are solved forward."""

    by_velocity: ClassVar[bool] = False
    """Whether violation / dt is the velocity that is missing to reach the next target."""

    constraintIndex = UInt(0, "First row of the constraint in this step.", read_only=True)
    group = Int(0, "Unused: all constraints are solved together.")
    endTime = Real(-1.0, "Time from which on it no longer acts; negative: never.", unit="time")

    @property
    def states(self) -> list[MechanicalState]:
        """States on which it acts; at least one of them must move."""
        return [self.state]

    block_type: ClassVar[type[RowBlock] | None] = None
    """Class that computes the rows of several such constraints together, if there is one."""

    drive_names: ClassVar[tuple[str, ...]] = ("value", "valueIndex")
    """Data that change the parameters of its rows, but neither their number nor their entries."""

    def inputs(self) -> list[Data]:
        """Return its Data that are not results of a step."""
        return [data for data in self._data.values() if not data.type.read_only]

    def build(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the directions at the start-of-step position, as triplets.

        Returns:
            row (k,) from 0 on, node (k,) of the state (see the top), direction (k, 3).
        """
        raise NotImplementedError

    def parts(self) -> list[StateRows]:
        """Return the directions by state, from `build` for one state; contacts have two states."""
        return [(self.state, *self.build())]

    @property
    def row_count(self) -> int:
        """Number of rows in this step; known after `parts`."""
        raise NotImplementedError

    def violation(self) -> np.ndarray:
        """Return delta_free of each row: J (x_free - x) + g(x), shape (row_count,)."""
        raise NotImplementedError

    def motion_violation(self) -> np.ndarray:
        """Return dt times the violation in velocities, if it is `by_velocity`; (row_count,)."""
        return self.violation()

    def resolution(self) -> np.ndarray:
        """Return Gauss-Seidel's parameters of each row, shape (row_count, 6); see its kernel."""
        raise NotImplementedError

    solved_at_once: bool = False
    """Whether a forward solver starts from the solution of its rows without others."""

    starts_from: np.ndarray | None = None
    """Multipliers from which a forward solver starts, shape (row_count,), or None for zero."""

    def store(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Store the solved multipliers and the resulting delta."""

    def check_differentiable(self) -> None:
        """Check that the derivative of a time step is known with it.

        Raises:
            SceneError: It acts without inverse control, and is neither a `Cable` nor a `Cavity`.
        """
        if self.inverse_role is None:
            raise self.fault(
                "is a constraint that is neither a cable nor a cavity, and its derivative is not "
                "known: leave it out. Cables and pressures may act; constraints of inverse "
                "control, and those with an imposed force of 0, may stay."
            )


class RowBlock(ABC):
    """Rows of constraints of one class on points of a system, which a kernel computes together.

    Args:
        members: The constraints.
        first: First row of each of their states in the arrays of `motion`, by the state's id.
    """

    entries: list[tuple[np.ndarray, np.ndarray, np.ndarray]]
    """Directions of each member on its state, as `LagrangianConstraint.build` returns them, views
    that `compute` writes into."""
    violation: np.ndarray
    """delta_free of the rows of all members, shape (row_count,)."""
    has_constant_parameters: bool
    """Whether the parameters of the rows depend on Data only."""

    def __init__(self, members: list[LagrangianConstraint], first: dict[int, int]) -> None:
        self.members, self.first = members, first
        inputs = [data for member in members for data in member.inputs()]
        drives = {id(m._data[n]) for m in members for n in m.drive_names if n in m._data}
        self._watch = DataWatch(data for data in inputs if id(data) not in drives)
        self._drive_watch = DataWatch(data for data in inputs if id(data) in drives)
        self._parameters: np.ndarray | None = None

    def read_changes(self) -> bool:
        """Read the Data of the members if one has changed, except drives; return True then."""
        if self._drive_watch.has_changed():
            self._parameters = None
        if not self._watch.has_changed():
            return False
        self._parameters = None
        self.read()
        self._watch.has_changed()  # members replace values that do not fit
        return True

    @abstractmethod
    def read(self) -> None:
        """Read the Data of the members."""

    @abstractmethod
    def compute(self, x: np.ndarray, x_free: np.ndarray) -> None:
        """Compute the directions at x, and the violation at x_free, shapes (n, 3)."""

    def has_violation(self, member: LagrangianConstraint) -> bool:
        """Return True if `violation` holds for a member; else it has a `violation` of its own."""
        del member
        return True

    def parameters(self) -> np.ndarray:
        """Return Gauss-Seidel's parameters of all rows, shape (row_count, 6)."""
        if self._parameters is None or not self.has_constant_parameters:
            self._parameters = np.concatenate([member.resolution() for member in self.members])
        return self._parameters


class ActiveRows(NamedTuple):
    """Rows of a block that act in a step."""

    block: RowBlock
    source: np.ndarray
    """These rows among the rows of the block, shape (k,)."""
    target: np.ndarray
    """Rows of the problem, shape (k,)."""
    members: list[tuple[LagrangianConstraint, slice]]
    """Constraints that act, and the part of the k rows that each of them owns."""


@dataclass(frozen=True)
class ConstraintRows:
    """Constraint directions on the independent nodes of a system, as triplets."""

    count: int
    """Number of rows of all systems."""
    row: np.ndarray
    """Row of each entry, shape (k,)."""
    node: np.ndarray
    """Node of the system of each entry, shape (k,)."""
    direction: np.ndarray
    """Direction of each entry, shape (k, 3); entries with the same row and node add up."""

    def apply_transposed(self, lam: np.ndarray, size: int) -> np.ndarray:
        """Return H^T lam, shape (size, 3)."""
        out = np.zeros((size, 3))
        add_rows_transposed(self.row, self.node, self.direction, lam, out)
        return out


class ConstraintSystem:
    """Rows of all constraints of a scene in this step, for their solver."""

    constraints: list[LagrangianConstraint]
    """Constraints of the graph."""
    active: list[LagrangianConstraint]
    """Constraints of this step, contacts included, in the order of their rows."""
    W: np.ndarray
    """Compliance, shape (count, count)."""
    delta_free: np.ndarray
    """Violation after the free motion, shape (count,)."""
    lam: np.ndarray
    """Multipliers, shape (count,)."""
    blocks: list[ActiveRows]
    """Rows of this step that are computed in blocks."""
    single: list[LagrangianConstraint]
    """The other constraints of this step, in the order of their rows."""

    @property
    def count(self) -> int:
        """Number of rows in this step."""
        return len(self.delta_free)


def only_watches(constraint: LagrangianConstraint) -> bool:
    """Return True if it imposes a force of 0, and so only gives inverse control its rows."""
    return constraint.valueType.get() == "force" and not np.any(constraint.value.get())


def read_limit(constraint: LagrangianConstraint, name: str, unset: float) -> float:
    """Return a limit, or `unset` if the scene does not set it."""
    data = constraint._data[name]
    return data.get() if data.isSet() else unset


def imposed_value(constraint: LagrangianConstraint) -> float:
    """Return value[valueIndex], or 0 if the scene gives no value.

    Raises:
        SceneError: there is no value of that index.
    """
    values = constraint.value.get()
    index = constraint.valueIndex.get()
    if not len(values):
        constraint.value.set(np.zeros(1))
        return 0.0
    if not 0 <= index <= len(values):
        problem = constraint.fault(f"has valueIndex {index}, but {len(values)} values.")
        complain(constraint, problem, " The first one counts.")
        constraint.valueIndex.set(index := 0)
    if index == len(values):
        problem = constraint.fault(f"has valueIndex {index}, but {len(values)} values.")
        if not keeps_sofa_defects():
            raise problem
        complain(constraint, problem, " It is 0, which mostly lies behind SOFA's list.")
        return 0.0
    return float(values[index])
