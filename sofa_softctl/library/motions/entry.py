"""Entry of a library: an optimal trajectory with its sensitivity and tangent QP."""

from __future__ import annotations

import io
from dataclasses import dataclass, fields, replace

import numpy as np

from sofa_softctl.base.versions import one_blas_thread
from sofa_softctl.library.ocp.sensitivity import (
    Regularity,
    active_rows,
    active_set,
    directions,
    final_rows,
    regularity,
    response,
    sensitivity,
)
from sofa_softctl.library.ocp.shooting import Derivatives, Optimum, Program
from sofa_softctl.library.ocp.tangent_qp import TangentQP, condense


@dataclass(frozen=True, eq=False)
class Entry:
    """An optimum, its sensitivity (5) and its tangent QP.

    Derivatives are with respect to n parameters: the n_p of the problem, then the residuals r of
    the final conditions, `terminal` = r instead of 0.
    """

    p: np.ndarray
    """Parameters, shape (n_p,)."""
    v: np.ndarray
    """Unknowns, shape (n_v,)."""
    cost: float
    """Cost f of the optimum."""
    v_p: np.ndarray
    """d_p v*, shape (n_v, n)."""
    mu: np.ndarray
    """Multipliers of the active inequalities, shape (n_a,)."""
    mu_p: np.ndarray
    """d_p mu* of the active inequalities, shape (n_a, n)."""
    path: np.ndarray
    """Inequalities `path` at the optimum, shape (n_path,)."""
    path_p: np.ndarray
    """Derivative of `path` along (5), shape (n_path, n)."""
    cost_p: np.ndarray
    """Derivative of the optimal cost by the problem's parameters, shape (n_p,)."""
    cost_pp: np.ndarray
    """Second derivative of the optimal cost at constant active inequalities, shape (n_p, n_p)."""
    hessian: np.ndarray
    """Hessian of the Lagrangian by inputs and constants (u, z), with the states as their functions,
    made positive definite, shape (N n_u + n_z, N n_u + n_z)."""
    qp: TangentQP
    """QP for changes of the parameters that change the active inequalities."""

    def expected_cost(self, dp: np.ndarray) -> float:
        """Return the optimal cost at a change of the parameters, to second order."""
        return float(self.cost + self.cost_p @ dp + 0.5 * dp @ self.cost_pp @ dp)

    def to_bytes(self) -> bytes:
        """Return all arrays as an .npz file, the basis Z and the Hessian in single precision."""
        arrays = {name: getattr(self, name) for name in _ENTRY_FIELDS}
        arrays |= {f"qp.{name}": getattr(self.qp, name) for name in _QP_FIELDS}
        for name in ("qp.Z", "hessian"):
            arrays[name] = arrays[name].astype("<f4")
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **arrays)
        return buffer.getvalue()

    @staticmethod
    def from_bytes(data: bytes) -> Entry:
        """Read an entry from `to_bytes`."""
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            entry_fields = {name: arrays[name] for name in _ENTRY_FIELDS}
            qp_fields = {name: arrays[f"qp.{name}"] for name in _QP_FIELDS}
        qp_fields |= {"Z": qp_fields["Z"].astype(float), "scale": float(qp_fields["scale"])}
        entry_fields |= {
            "cost": float(entry_fields["cost"]),
            "hessian": entry_fields["hessian"].astype(float),
        }
        return Entry(**entry_fields, qp=TangentQP(**qp_fields))


_ENTRY_FIELDS = tuple(field.name for field in fields(Entry) if field.name != "qp")
_QP_FIELDS = tuple(field.name for field in fields(TangentQP))


def entry_from_optimum(program: Program, optimum: Optimum) -> tuple[Entry | None, Regularity]:
    """Return the entry of an optimum, or None if it is degenerate, and its regularity."""
    with one_blas_thread():
        at = _with_residuals(program, optimum, program.derivatives(optimum))
        active, n_p = active_set(optimum, at), len(optimum.p)
        V = response(program.model, at)
        Q = directions(V)
        conditions = regularity(optimum, at, active, Q)
        if not conditions.ok:
            return None, conditions
        derivatives = sensitivity(at, active)
        limits = len(program.limited_below) + len(program.limited_above)
        path_v = at.h_v.tocsr()[limits:]
        entry = Entry(
            p=optimum.p,
            v=optimum.v,
            cost=optimum.cost,
            v_p=derivatives.v_p,
            mu=optimum.mu[active],
            mu_p=derivatives.mu_p,
            path=at.h[limits:],
            path_p=path_v @ derivatives.v_p + at.h_p[limits:],
            cost_p=at.l_p[:n_p],
            cost_pp=(
                at.l_pp
                + at.l_vp.T @ derivatives.v_p
                - at.g_p.T @ derivatives.lam_p
                - at.h_p[active].T @ derivatives.mu_p
            )[:n_p, :n_p],
            hessian=_hessian(at, active, V),
            qp=condense(optimum, at, active, (program.lower, program.upper), Q),
        )
    return entry, conditions


def _with_residuals(program: Program, optimum: Optimum, at: Derivatives) -> Derivatives:
    """Append the residuals r of the final conditions to the parameters of the derivatives.

    The last rows of g become terminal(x) - r = 0, so the Lagrangian gains + lam' r.
    """
    count = len(program.model.terminal_tolerances)
    n_v, n_g, n_h = len(optimum.v), at.g_v.shape[0], len(at.h)
    ends = np.zeros((n_g, count))
    ends[n_g - count :] = -np.eye(count)
    return replace(
        at,
        g_p=np.hstack((at.g_p, ends)),
        h_p=np.hstack((at.h_p, np.zeros((n_h, count)))),
        l_vp=np.hstack((at.l_vp, np.zeros((n_v, count)))),
        l_p=np.concatenate((at.l_p, optimum.lam[n_g - count :])),
        l_pp=np.pad(at.l_pp, (0, count)),
    )


def _hessian(at: Derivatives, active: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Return `Entry.hessian`, with V from `response`.

    If it is not positive definite, the squares of final conditions and active inequalities are
    added, which does not move solutions while the inequalities stay active.
    """
    B = V.T @ (at.l_vv @ V)
    B = 0.5 * (B + B.T)
    constraint_rows = np.concatenate((final_rows(at, V), active_rows(at, active, V)))
    size = float(np.abs(np.diag(B)).mean())
    eigenvalue_min = 1e-4 * size
    squares = constraint_rows.T @ constraint_rows
    squares *= size / max(float(np.trace(squares)) / len(B), 1e-300)
    for weight in (0.0, 1.0, 1e2, 1e4):
        values, vectors = np.linalg.eigh(B + weight * squares)
        if values[0] > eigenvalue_min:
            break
    return np.asarray((vectors * np.maximum(values, eigenvalue_min)) @ vectors.T)
