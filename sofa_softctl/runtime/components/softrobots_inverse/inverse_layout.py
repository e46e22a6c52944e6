"""Rows, limits and results of inverse control while the constraints of a scene stay the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sofa_softctl.qpcc.solve.tracking_step import Terms, TrackingStep
from sofa_softctl.runtime.behavior.constraint import (
    ConstraintSystem,
    InverseRole,
    LagrangianConstraint,
)
from sofa_softctl.runtime.components.constraint.contact import UnilateralLagrangianConstraint
from sofa_softctl.runtime.components.softrobots_inverse import sofa_defects
from sofa_softctl.runtime.core.data.data import Data, DataWatch
from sofa_softctl.runtime.helper.message import keeps_sofa_defects

_VARIABLE_ROLES = (InverseRole.ACTUATOR, InverseRole.EQUALITY)
"""Roles with multipliers as variables; effectors and sensors have zero multipliers."""


class InverseLayout:
    """Variables, effectors and contacts of a constraint system.

    A constraint names the Data of its limits in `limit_data`, by the names of InverseProblem, with
    a minus for their negatives: they are read when they have changed, previous values in every
    step. Or it has a method `limits()`, which is called in every step. Before the time
    `constrainAtTime` there are none.

    Args:
        problem: The constraint system of the step.
        paths: Path of each constraint of the scene, by its id.
        actuators_only: Let the energy term cover the actuators without the equalities.
    """

    def __init__(
        self, problem: ConstraintSystem, paths: Mapping[int, str], *, actuators_only: bool
    ) -> None:
        self.active = problem.active
        """Constraints of the step, the list itself."""
        variables = [part for part in _in_roles(problem, *_VARIABLE_ROLES) if part.row_count]
        counts = [part.row_count for part in variables]
        self.actuators = rows_of(variables)
        """Rows of actuators and equalities, shape (n_a,)."""
        self.effectors = rows_of(_in_roles(problem, InverseRole.EFFECTOR))
        """Rows of effectors, shape (n_e,)."""
        self.touching = [
            part for part in problem.active if isinstance(part, UnilateralLagrangianConstraint)
        ]
        """Contacts of the step."""
        changes = [getattr(type(part), "effort_is_a_change", False) for part in variables]
        self.is_change = np.repeat(np.array(changes, dtype=bool), counts)
        """True for efforts that are changes, as of Young's modulus, shape (n_a,)."""
        energy_rows = None
        if actuators_only:
            roles = [part.inverse_role is InverseRole.ACTUATOR for part in variables]
            energy_rows = np.repeat(np.array(roles, dtype=bool), counts)
        names = [paths[id(part)] for part in variables for _ in range(part.row_count)]
        self.step = TrackingStep(names, energy_rows)
        self.stores = [_store_of(part) for part in problem.active if part not in self.touching]
        """Method that stores a constraint's multipliers and delta, its rows, and its Data
        `applyForce` or None."""
        ends = np.cumsum([0, *counts])
        self._variables = list(zip(variables, map(slice, ends, ends[1:]), strict=False))
        self._are_known = all(hasattr(part, "limit_data") for part in variables)
        waits = [part._data.get("constrainAtTime") for part in variables]
        self._waits = [wait for wait in waits if wait is not None]
        limit_data = [
            data
            for part in variables
            for name, _, data in _limit_data(part)
            if not name.endswith("_previous")
        ]
        self._watch = DataWatch([*self._waits, *limit_data])
        self._previous: list[tuple[np.ndarray, Data]] = []
        self._has_effort_rate = self._are_read = False
        self._time = 0.0
        self._weight = np.ones(len(self.effectors))

    def terms(self, problem: ConstraintSystem) -> Terms:
        """Return compliance and free motion of the step."""
        a, e, W, delta_free = self.actuators, self.effectors, problem.W, problem.delta_free
        return W[e[:, None], a], W[a[:, None], a], delta_free[e], delta_free[a], self._weight

    def read_limits(self, time: float) -> None:
        """Set the limits of the step that starts at this time."""
        limits = self.step.limits
        if self._watch.has_changed() or not self._are_read or time < self._time:
            self._read_all(time)
        self._time = time
        for previous, data in self._previous:
            previous[:] = data.get()
        if keeps_sofa_defects():
            sofa_defects.drop_far_limits(limits)
        elif self._has_effort_rate:  # lambda returns into its limits immediately
            low, high = limits["effort_min"], limits["effort_max"]
            np.clip(limits["effort_previous"], low, high, out=limits["effort_previous"])

    def _read_all(self, time: float) -> None:
        limits = self.step.limits
        self.step.remove_limits()
        self._previous, self._has_effort_rate = [], False
        for constraint, rows in self._variables:
            wait = constraint._data.get("constrainAtTime")
            if wait is not None and time < wait.get():
                continue
            if not hasattr(constraint, "limit_data"):
                for name, value in constraint.limits().items():  # type: ignore[attr-defined]
                    limits[name][rows] = value
                    self._has_effort_rate |= name == "effort_rate"
            for name, sign, data in _limit_data(constraint):
                if name.endswith("_previous"):
                    self._previous.append((limits[name][rows], data))
                elif data.isSet():
                    limits[name][rows] = sign * data.get()
                    self._has_effort_rate |= name == "effort_rate"
        has_begun = all(wait.get() <= time for wait in self._waits)
        self._are_read = self._are_known and has_begun and not keeps_sofa_defects()


def _limit_data(constraint: LagrangianConstraint) -> Iterator[tuple[str, float, Data]]:
    """Yield name, sign and Data of each limit that a constraint declares."""
    for name, data_name in getattr(constraint, "limit_data", {}).items():
        if data_name not in sofa_defects.UNREAD or not keeps_sofa_defects():
            sign = -1.0 if data_name.startswith("-") else 1.0
            yield name, sign, constraint._data[data_name.lstrip("-")]


def _store_of(
    constraint: LagrangianConstraint,
) -> tuple[Callable[..., None], slice, Any]:
    start = constraint.constraintIndex.get()
    is_forward = constraint.inverse_role is None  # with a multiplier of zero
    store = getattr(constraint, "store" if is_forward else "store_inverse")
    rows = slice(start, start + constraint.row_count)
    return store, rows, constraint._data.get("applyForce")


def _in_roles(problem: ConstraintSystem, *roles: InverseRole) -> list[LagrangianConstraint]:
    return [constraint for constraint in problem.active if constraint.inverse_role in roles]


def rows_of(constraints: Sequence[LagrangianConstraint]) -> np.ndarray:
    """Return the numbers of all rows of constraints, shape (n_r,)."""
    parts = [np.arange(c.row_count) + c.constraintIndex.get() for c in constraints]
    return np.concatenate(parts) if parts else np.empty(0, dtype=int)
