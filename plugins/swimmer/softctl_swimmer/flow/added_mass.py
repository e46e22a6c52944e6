"""Kinetic energy of the fluid, xi^T A(q) xi / 2, and the exact derivative of the discrete A.

The functions take f and df as arrays, computed by `Flow` or interpolated.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.errors import MeshError
from softctl_swimmer.flow.potential import Flow

EIGENVALUE_TOLERANCE = 1e-3
"""Magnitude of a negative eigenvalue that counts as zero, for diagonal entries 1 [-]. Spheres and
bodies of revolution have zero eigenvalues for rotations that move no fluid, up to the error of
their meshes."""


def raw_added_mass(flow: Flow, angles: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Return -rho times the integral of f (df/dn)^T over the skin, before symmetrisation.

    The discrete equations make it slightly asymmetric: the asymmetry measures their error.

    Args:
        flow: The flow.
        angles: Angles of the hinges [rad], shape (n,).
        f: Potentials at these angles for unit xi [m] or [m^2], shape (P, 6 + n).

    Returns:
        [kg, kg m, kg m^2], shape (6 + n, 6 + n).
    """
    J, _ = flow.swimmer.jacobians(angles)
    flux = np.concatenate([skin.twist_fluxes @ Jb for skin, Jb in zip(flow.skins, J, strict=True)])
    return -flow.swimmer.fluid_density * f.T @ flux


def added_mass_of(flow: Flow, angles: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Return A(q), the symmetric part of `raw_added_mass`; only this part affects the energy.

    Args:
        flow: The flow.
        angles: Angles of the hinges [rad], shape (n,).
        f: Potentials at these angles for unit xi [m] or [m^2], shape (P, 6 + n).

    Returns:
        A [kg, kg m, kg m^2], shape (6 + n, 6 + n), symmetric positive definite.

    Raises:
        MeshError: It is not positive definite: a skin intersects itself, or is far too coarse.

    Source: Lamb 1932, ch. VI; the integral of eq. (3) of Jia, Pan, Manocha times -rho, as their
    normal points into the fluid and their density is 1.
    """
    A = raw_added_mass(flow, angles, f)
    A = (A + A.T) / 2
    size = np.sqrt(np.abs(np.diag(A)))
    eigenvalue_min = float(np.linalg.eigvalsh(A / np.outer(size, size))[0])
    if not eigenvalue_min > -EIGENVALUE_TOLERANCE:
        raise MeshError(
            f"The added mass at the angles {np.asarray(angles).tolist()} rad is not positive: its "
            f"least eigenvalue, of diagonal entries 1, is {eigenvalue_min:.3g}. Does a skin "
            "intersect itself? If not, take more vertices."
        )
    return A


def added_mass_derivative(
    flow: Flow, angles: np.ndarray, f: np.ndarray, df: np.ndarray
) -> np.ndarray:
    """Return dA/dq, exact for the discrete A, shape (6 + n, 6 + n, n).

    Args:
        flow: The flow.
        angles: Angles of the hinges [rad], shape (n,).
        f: Potentials at these angles for unit xi [m] or [m^2], shape (P, 6 + n).
        df: Derivatives of f by the angles, shape (P, 6 + n, n).
    """
    J, dJ = flow.swimmer.jacobians(angles)
    fluxes = [skin.twist_fluxes for skin in flow.skins]
    flux = np.concatenate([B @ Jb for B, Jb in zip(fluxes, J, strict=True)])
    dflux = np.concatenate([np.tensordot(B, Jb, 1) for B, Jb in zip(fluxes, dJ, strict=True)])
    dA = np.einsum("pcj,pd->cdj", df, flux, optimize=True)
    dA += np.einsum("pc,pdj->cdj", f, dflux, optimize=True)
    return -flow.swimmer.fluid_density / 2 * (dA + dA.transpose(1, 0, 2))
