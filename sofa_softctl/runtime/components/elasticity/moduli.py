"""Rest shape, Young's modulus and Poisson's ratio of elements."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.behavior.mechanics import ForceField
from sofa_softctl.runtime.helper.message import complain


def elastic_moduli(field: ForceField, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the field's `youngModulus` and `poissonRatio` per element, shapes (count,).

    As in SOFA, the default replaces values out of range.

    Raises:
        SceneError: an array is empty, or not finite.
    """
    young, poisson = (_per_element(field, name, count) for name in ("youngModulus", "poissonRatio"))
    if not np.isfinite(young).all():
        raise field.fault(f"needs a finite youngModulus, got {young[~np.isfinite(young)][0]:g}.")
    _replace(field, "youngModulus", ">= 0", young, young < 0.0)
    is_outside = ~((poisson >= 0.0) & (poisson < 0.5))
    _replace(field, "poissonRatio", "from 0 to below 0.5", poisson, is_outside)
    return young, poisson


def rest_shape(field: ForceField) -> np.ndarray:
    """Return the rest positions: the target of the link `initialPoints`, by default the state's.

    As in SOFA, only a link counts, not values. `initialPoints` shows the result.

    Raises:
        SceneError: the link has fewer points than there are nodes.
    """
    shown, count = field.initialPoints, field.state.count
    if not shown.hasParent():
        shown.set(field.state.rest_position.get().copy())
    points: np.ndarray = shown.get().copy()
    if len(points) < count:
        raise field.fault(f"follows {len(points)} points in 'initialPoints' for {count} nodes.")
    return points


def _replace(
    field: ForceField, name: str, expected: str, values: np.ndarray, is_invalid: np.ndarray
) -> None:
    if not is_invalid.any():
        return
    default = float(field.data_types[name].default[0])
    problem = field.fault(f"needs {name} {expected}, got {values[is_invalid][0]:g}.")
    complain(field, problem, f" As in SOFA {default:g} is taken there.")
    values[is_invalid] = default
    field._data[name].set(values[:1] if np.ptp(values) == 0.0 else values.copy())


def _per_element(field: ForceField, name: str, count: int) -> np.ndarray:
    """Return one value per element; missing ones equal the first."""
    entries = field._data[name].get()
    if not len(entries):
        raise field.fault(f"needs at least one '{name}'.")
    values = np.full(count, entries[0])
    values[: len(entries)] = entries[:count]
    return values


def lame_parameters(poisson: np.ndarray) -> np.ndarray:
    """Return lambda and mu for E = 1, shape (m, 2)."""
    lam = poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson))
    return np.stack([lam, 0.5 / (1.0 + poisson)], axis=1)
