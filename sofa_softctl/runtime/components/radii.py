"""Radii of several spheres or areas, or one for all."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.runtime.helper.message import complain


def radii_for(component: Any, count: int, items: str) -> np.ndarray:
    """Return the component's `radii`, one for each of `count` items, and store them in its Data.

    Args:
        component: Component with the Data `radii`; by default each is 1, as in SoftRobots.
        count: Number of items.
        items: Name of the items for the message, such as "centers".

    Returns:
        Radii [length], shape (count,).
    """
    values: np.ndarray = component.radii.get()
    if len(values) not in (1, count):
        problem = f"has {len(values)} 'radii' for {count} {items}: all get the first, or 1."
        complain(component, component.fault(problem))
    radii = values if len(values) == count else np.full(count, values[0] if len(values) else 1.0)
    component.radii.set(radii)
    return radii
