"""Imposed displacement or force of a forward constraint."""

from __future__ import annotations

from sofa_softctl.runtime.behavior.constraint import LagrangianConstraint


def imposed_value(constraint: LagrangianConstraint) -> float:
    """value[valueIndex]; 0 when the scene gave no value.

    Raises:
        SceneError: there is no value of that number.
    """
    values = constraint._data["value"].get()
    index = constraint._data["valueIndex"].get()
    if not len(values):
        return 0.0
    if not 0 <= index < len(values):
        raise constraint.fault(f"has valueIndex {index}, but {len(values)} values.")
    return float(values[index])
