"""Rows, limits and results of inverse control while the constraints of a scene stay the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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

    Limits are read again when a Data has changed that a constraint names in `limit_data`; its
    `previous_data` are the Data of `limits()` that every step changes. Those of constraints without
    these are read in every step.

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
        limit_data = [getattr(part, "limit_data", None) for part in variables]
        self._are_known = all(names is not None for names in limit_data)
        self._watch = DataWatch(
            part._data[name]
            for part, names in zip(variables, limit_data, strict=True)
            for name in names or ()
        )
        self._waits = [
            part.constrainAtTime for part in variables if "constrainAtTime" in part._data
        ]
        self._previous: list[tuple[np.ndarray, Data]] = []
        self._has_effort_rate = self._are_read = False
        self._weight = np.ones(len(self.effectors))

    def terms(self, problem: ConstraintSystem) -> Terms:
        """Return compliance and free motion of the step."""
        a, e, W, delta_free = self.actuators, self.effectors, problem.W, problem.delta_free
        return W[e[:, None], a], W[a[:, None], a], delta_free[e], delta_free[a], self._weight

    def read_limits(self, time: float) -> None:
        """Set the limits of the step that starts at this time."""
        limits = self.step.limits
        if self._watch.has_changed() or not self._are_read:
            self._read_all(time)
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
            for name, value in constraint.limits().items():  # type: ignore[attr-defined]
                limits[name][rows] = value
                self._has_effort_rate |= name == "effort_rate"
                if name.endswith("_previous") and self._are_known:
                    data_name = constraint.previous_data[name]  # type: ignore[attr-defined]
                    self._previous.append((limits[name][rows], constraint._data[data_name]))
        has_begun = all(wait.get() <= time for wait in self._waits)
        self._are_read = self._are_known and has_begun and not keeps_sofa_defects()


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
