"""Kinetic energy of the fluid, xi^T A(q) xi / 2, and the exact derivative of the discrete A."""

from __future__ import annotations

import numpy as np

from softctl_swimmer.potential import Flow, Solution


def raw_added_mass(flow: Flow, solution: Solution) -> np.ndarray:
    """-rho times the integral of f (df/dn)^T over the skin, before symmetrisation.

    Not quite symmetric, since the discrete equations are not: its asymmetry measures their error.

    Returns:
        [kg, kg m, kg m^2], shape (6 + n, 6 + n).
    """
    J, _ = flow.swimmer.jacobians(solution.angles)
    flux = np.concatenate([skin.twist_fluxes @ Jb for skin, Jb in zip(flow.skins, J, strict=True)])
    return -flow.swimmer.fluid_density * solution.f.T @ flux


def added_mass_of(flow: Flow, solution: Solution) -> np.ndarray:
    """A(q): the symmetric part of `raw_added_mass`, which is all that the energy sees.

    Args:
        flow: The flow.
        solution: Its potentials at one pose.

    Returns:
        A [kg, kg m, kg m^2], shape (6 + n, 6 + n), symmetric positive definite.

    Source: Lamb 1932, art. 137; the integral of eq. (3) of Pan and Manocha times -rho, as their
    normal points into the fluid and their density is 1.
    """
    A = raw_added_mass(flow, solution)
    return (A + A.T) / 2


def added_mass_derivative(
    flow: Flow, solution: Solution, df: np.ndarray | None = None
) -> np.ndarray:
    """dA/dq, exact for the discrete A, shape (6 + n, 6 + n, n).

    Args:
        flow: The flow.
        solution: Its potentials at one pose.
        df: Their derivative (`Flow.derivative`), if it is known already.
    """
    if df is None:
        df = flow.derivative(solution)
    J, dJ = flow.swimmer.jacobians(solution.angles)
    fluxes = [skin.twist_fluxes for skin in flow.skins]
    flux = np.concatenate([B @ Jb for B, Jb in zip(fluxes, J, strict=True)])
    dflux = np.concatenate([np.tensordot(B, Jb, 1) for B, Jb in zip(fluxes, dJ, strict=True)])
    dA = np.einsum("pcj,pd->cdj", df, flux, optimize=True)
    dA += np.einsum("pc,pdj->cdj", solution.f, dflux, optimize=True)
    return -flow.swimmer.fluid_density / 2 * (dA + dA.transpose(1, 0, 2))
