"""Von Mises stresses of linear tetrahedra: one deformation gradient F an element.

Corotational elasticity has the stress lambda tr(e) I + 2 mu e of e = sym(R^T F) - I; with Green's
strain E = (F^T F - I) / 2 in place of e it is Saint Venant and Kirchhoff's; a strain energy W has
Cauchy's stress (dW/dF) F^T / det F. For small strains all three are equal.
"""

from __future__ import annotations

import numpy as np


def deformation_gradients(x: np.ndarray, elements: np.ndarray, gradients: np.ndarray) -> np.ndarray:
    """Return F = sum of x_a g_a^T of each element, shape (m, 3, 3).

    Args:
        x: Positions, shape (n, 3).
        elements: Tetrahedra, shape (m, 4).
        gradients: g_a at rest, shape (m, 4, 3).
    """
    x_a = x[elements] - x[elements[:, :1]]  # (m, 4, 3); gradients sum up to zero
    return np.asarray(x_a.transpose(0, 2, 1) @ gradients)


def corotational_strain(F: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Return sym(R^T F) - I, shape (m, 3, 3)."""
    return _symmetric(R.transpose(0, 2, 1) @ F) - np.eye(3)


def sofa_corotational_strain(F: np.ndarray, R: np.ndarray, frames0: np.ndarray) -> np.ndarray:
    """Return the strain of SOFA v25.06 instead, sym(frames0 (R^T F - I)), shape (m, 3, 3).

    Displacements in the element's frame times gradients in the world's: correct if an element's
    frame at rest is the world's; otherwise dependent on the order of its vertices.
    """
    return _symmetric(frames0 @ (R.transpose(0, 2, 1) @ F - np.eye(3)))


def green_strain(F: np.ndarray) -> np.ndarray:
    """Return (F^T F - I) / 2, shape (m, 3, 3)."""
    return np.asarray(0.5 * (F.transpose(0, 2, 1) @ F - np.eye(3)))


def linear_stress(strain: np.ndarray, lame: np.ndarray) -> np.ndarray:
    """Return lambda tr(e) I + 2 mu e, shape (m, 3, 3).

    Args:
        strain: Strain e, shape (m, 3, 3).
        lame: lambda and mu of each element [pressure], shape (m, 2).
    """
    trace = np.trace(strain, axis1=1, axis2=2)
    shear: np.ndarray = 2.0 * lame[:, 1, None, None] * strain
    return shear + (lame[:, 0] * trace)[:, None, None] * np.eye(3)


def von_mises(stress: np.ndarray) -> np.ndarray:
    """Return sqrt(3/2) times the norm of the deviator [pressure], shape (m,)."""
    mean = np.trace(stress, axis1=1, axis2=2)[:, None, None] / 3.0
    deviator = stress - mean * np.eye(3)
    return np.asarray(np.sqrt(1.5 * np.square(deviator).sum(axis=(1, 2))))


def mean_at_nodes(values: np.ndarray, elements: np.ndarray, count: int) -> np.ndarray:
    """Return the mean over the elements around each node, 0 without elements, shape (count,)."""
    nodes = elements.ravel()
    total = np.bincount(nodes, np.repeat(values, elements.shape[1]), minlength=count)
    return total / np.maximum(np.bincount(nodes, minlength=count), 1)


def _symmetric(A: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 * (A + A.transpose(0, 2, 1)))
