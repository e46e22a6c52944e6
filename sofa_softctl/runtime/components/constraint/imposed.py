"""Imposed displacement or force of a forward constraint, and limits that may be unset."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.behavior.constraint import LagrangianConstraint
from sofa_softctl.runtime.helper.message import complain, keeps_sofa_defects


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
