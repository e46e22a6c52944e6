"""Young's modulus and Poisson's ratio of each element."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.behavior.mechanics import ForceField


def elastic_moduli(field: ForceField, count: int) -> tuple[np.ndarray, np.ndarray]:
    """From the field's `youngModulus` and `poissonRatio`, shapes (count,).

    Raises:
        SceneError: one of them is empty, or out of its range.
    """
    young, poisson = (_per_element(field, name, count) for name in ("youngModulus", "poissonRatio"))
    if (young < 0.0).any() or not np.isfinite(young).all():
        raise field.fault(f"needs youngModulus >= 0, got {young.min():g}.")
    if (poisson < 0.0).any() or (poisson >= 0.5).any():
        bad = poisson[(poisson < 0.0) | (poisson >= 0.5)][0]
        raise field.fault(f"needs poissonRatio from 0 to below 0.5, got {bad:g}.")
    return young, poisson


def _per_element(field: ForceField, name: str, count: int) -> np.ndarray:
    """One value an element: those given, the first one for the rest."""
    given = field._data[name].get()
    if not len(given):
        raise field.fault(f"needs at least one '{name}'.")
    values = np.full(count, given[0])
    values[: len(given)] = given[:count]
    return values


def lame_parameters(poisson: np.ndarray) -> np.ndarray:
    """Lambda and mu of E = 1, shape (m, 2)."""
    lam = poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson))
    return np.stack([lam, 0.5 / (1.0 + poisson)], axis=1)
