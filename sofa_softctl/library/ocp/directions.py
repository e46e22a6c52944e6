"""Directions in which a motion may change: states follow the dynamics, active limits stay.

The equations of the dynamics are block-bidiagonal in the states: one sparse solve eliminates these,
and all dense matrices have the few columns of inputs and constants.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr
from scipy.sparse.linalg import spsolve

from sofa_softctl.library.model import Model
from sofa_softctl.library.ocp.shooting import Derivatives

INDEPENDENT = 1e-9
"""Least singular value of the active constraints for which they are independent, see
`free_directions` [-]."""


def response(model: Model, at: Derivatives) -> np.ndarray:
    """V: change of all unknowns with the inputs and constants w = (u, z), states following.

    Shape (n_v, N n_u + n_z). The rows of inputs and constants are the identity.
    """
    x, w = model.x_at.ravel(), np.concatenate((model.u_at.ravel(), model.z_at))
    dynamics = at.g_v.tocsc()[: len(x)]
    V = np.zeros((model.size, len(w)))
    V[w] = np.eye(len(w))
    V[x] = -spsolve(dynamics[:, x], dynamics[:, w].toarray()).reshape(len(x), -1)
    return V


def directions(V: np.ndarray) -> np.ndarray:
    """Orthonormal directions that keep the dynamics: of the columns of V, of its shape."""
    return np.asarray(qr(V, mode="economic")[0])


def final_rows(at: Derivatives, Q: np.ndarray) -> np.ndarray:
    """Final conditions along the directions Q, shape (n_t, n_w)."""
    return np.asarray(at.g_v.tocsr()[Q.shape[0] - Q.shape[1] :] @ Q)


def active_rows(at: Derivatives, active: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Active inequalities along the directions Q, shape (n_a, n_w)."""
    return np.asarray(at.h_v.tocsr()[active] @ Q)


def free_directions(at: Derivatives, active: np.ndarray, Q: np.ndarray) -> tuple[np.ndarray, float]:
    """Orthonormal directions that keep all active constraints, and how independent these are.

    Args:
        at: Derivatives.
        active: Indices of the active inequalities in h.
        Q: Directions that keep the dynamics.

    Returns:
        Directions, shape (n_v, n), and the least singular value of final conditions and active
        inequalities along Q, over the largest gradient of one [-]; 0 where there are more of them
        than directions, 1 without any.
    """
    rows = np.concatenate((final_rows(at, Q), active_rows(at, active, Q)))
    if not len(rows):
        return Q, 1.0
    whole = (at.g_v.tocsr()[Q.shape[0] - Q.shape[1] :], at.h_v.tocsr()[active])
    largest = max(float(np.sqrt(each.power(2).sum(axis=1)).max(initial=0.0)) for each in whole)
    _, values, basis = np.linalg.svd(rows)
    independence = float(values[-1]) / largest if len(rows) <= Q.shape[1] and largest else 0.0
    return Q @ basis[np.count_nonzero(values > INDEPENDENT * largest) :].T, independence
