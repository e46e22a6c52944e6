"""Radii of several spheres or areas, of which a scene may give one for all."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.runtime.helper.message import complain


def radii_for(component: Any, count: int, what: str) -> np.ndarray:
    """The component's `radii`, one for each of `count` things; its Data shows them.

    Args:
        component: It has the Data `radii`; without any in it each is 1, as in SoftRobots.
        count: Number of things.
        what: Their name, for the message: "centers".

    Returns:
        Radii [length], shape (count,).
    """
    given: np.ndarray = component.radii.get()
    if len(given) not in (1, count):
        problem = f"has {len(given)} 'radii' for {count} {what}: all get the first, or 1."
        complain(component, component.fault(problem))
    radii = given if len(given) == count else np.full(count, given[0] if len(given) else 1.0)
    component.radii.set(radii)
    return radii
