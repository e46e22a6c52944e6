"""Closed-form added mass of a single ellipsoid in unbounded fluid.

Source: Lamb, Hydrodynamics, 6th ed. 1932, art. 114 and 115, his integrals alpha, beta, gamma by
Carlson's R_D.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import elliprd

from sofa_softctl.errors import UsageError


def ellipsoid_added_mass(semi_axes: Sequence[float], fluid_density: float = 1.0) -> np.ndarray:
    """Return the added mass for twists (linear, angular) in the ellipsoid's frame.

    Args:
        semi_axes: Semi-axes along x, y and z [m], shape (3,).
        fluid_density: Density of the fluid [kg/m^3].

    Returns:
        The diagonal: three masses [kg] and three moments of inertia [kg m^2], shape (6,).

    Raises:
        UsageError: They are not three positive numbers, or the density is negative.
    """
    axes = np.asarray(semi_axes, dtype=float)
    if axes.shape != (3,) or not (np.isfinite(axes) & (axes > 0.0)).all() or fluid_density < 0.0:
        raise UsageError(
            f"Semi-axes are {axes.tolist()}, the density {fluid_density}; expected three positive "
            "numbers [m], and one from 0 on [kg/m^3]."
        )
    a2, product = axes**2, axes.prod()
    mass = fluid_density * 4 / 3 * math.pi * product
    y, z = np.roll(a2, -1), np.roll(a2, -2)
    alpha = 2 / 3 * product * elliprd(y, z, a2)
    linear = mass * alpha / (2 - alpha)
    difference = y - z
    slope = np.roll(alpha, -2) - np.roll(alpha, -1)  # alpha_z - alpha_y
    below = 2 * difference - (y + z) * slope
    round_ = np.abs(difference) < 1e-9 * a2.max()  # circular sections do not stir the fluid
    angular = np.where(round_, 0.0, mass / 5 * difference**2 * slope / np.where(round_, 1.0, below))
    return np.concatenate([linear, angular])
