"""Entry of a library: an optimal motion with its sensitivity and tangent QP."""

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

LEAST = 1e-4
"""Least eigenvalue of the Hessian over its mean diagonal [-]."""


@dataclass(frozen=True, eq=False)
class Entry:
    """An optimum, its sensitivity (5) and its tangent QP.

    Derivatives are by the n parameters, the problem's and then the residuals of its final
    conditions: `terminal` is to be r instead of 0.
    """

    p: np.ndarray
    """Parameters, shape (n_p,)."""
    v: np.ndarray
    """Unknowns, shape (n_v,)."""
    cost: float
    """f."""
    v_p: np.ndarray
    """d_p v*, shape (n_v, n)."""
    mu: np.ndarray
    """Multipliers of the active inequalities, shape (n_a,)."""
    mu_p: np.ndarray
    """d_p mu* of these, shape (n_a, n)."""
    path: np.ndarray
    """Inequalities `path` at the optimum, shape (n_path,)."""
    path_p: np.ndarray
    """Their derivative along (5), shape (n_path, n)."""
    cost_p: np.ndarray
    """Derivative of the least cost by the problem's own, shape (n_p,)."""
    cost_pp: np.ndarray
    """Its second derivative at constant active inequalities, shape (n_p, n_p)."""
    hessian: np.ndarray
    """Hessian of the Lagrangian by inputs and constants (u, z), states following: positive
    definite, shape (N n_u + n_z, N n_u + n_z)."""
    qp: TangentQP
    """QP for changes of the parameters that change the active inequalities."""

    def expected_cost(self, dp: np.ndarray) -> float:
        """Cost of the optimum at a change of the parameters, to second order."""
        return float(self.cost + self.cost_p @ dp + 0.5 * dp @ self.cost_pp @ dp)

    def to_bytes(self) -> bytes:
        """All arrays as an .npz file; the basis Z and the Hessian in single precision."""
        arrays = {name: getattr(self, name) for name in _OWN}
        arrays |= {f"qp.{name}": getattr(self.qp, name) for name in _QP}
        for name in ("qp.Z", "hessian"):
            arrays[name] = arrays[name].astype("<f4")
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **arrays)
        return buffer.getvalue()

    @staticmethod
    def from_bytes(data: bytes) -> Entry:
        """The entry from `to_bytes`."""
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            own = {name: arrays[name] for name in _OWN}
            qp = {name: arrays[f"qp.{name}"] for name in _QP}
        qp |= {"Z": qp["Z"].astype(float), "scale": float(qp["scale"])}
        own |= {"cost": float(own["cost"]), "hessian": own["hessian"].astype(float)}
        return Entry(**own, qp=TangentQP(**qp))


_OWN = tuple(each.name for each in fields(Entry) if each.name != "qp")
_QP = tuple(each.name for each in fields(TangentQP))


def entry_of(program: Program, optimum: Optimum) -> tuple[Entry | None, Regularity]:
    """Entry of an optimum; None where it is degenerate, without a sensitivity."""
    with one_blas_thread():
        at = _with_residuals(program, optimum, program.derivatives(optimum))
        active, n_p = active_set(optimum, at), len(optimum.p)
        V = response(program.model, at)
        Q = directions(V)
        regular = regularity(optimum, at, active, Q)
        if not regular.ok:
            return None, regular
        found = sensitivity(at, active)
        limits = len(program.limited_below) + len(program.limited_above)
        path_v = at.h_v.tocsr()[limits:]
        entry = Entry(
            p=optimum.p,
            v=optimum.v,
            cost=optimum.cost,
            v_p=found.v_p,
            mu=optimum.mu[active],
            mu_p=found.mu_p,
            path=at.h[limits:],
            path_p=path_v @ found.v_p + at.h_p[limits:],
            cost_p=at.l_p[:n_p],
            cost_pp=(
                at.l_pp
                + at.l_vp.T @ found.v_p
                - at.g_p.T @ found.lam_p
                - at.h_p[active].T @ found.mu_p
            )[:n_p, :n_p],
            hessian=_hessian(at, active, V),
            qp=condense(optimum, at, active, (program.lower, program.upper), Q),
        )
    return entry, regular


def _with_residuals(program: Program, optimum: Optimum, at: Derivatives) -> Derivatives:
    """Derivatives, with the residuals r of the final conditions as further parameters.

    The equations are terminal(x) - r = 0, the last ones of g, so that the Lagrangian has + lam' r.
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
    """See `Entry.hessian`; V: `response`.

    Where it is not positive definite, the squares of the final conditions and of the active
    inequalities are added: that moves no solution while they stay active.
    """
    B = V.T @ (at.l_vv @ V)
    B = 0.5 * (B + B.T)
    held = np.concatenate((final_rows(at, V), active_rows(at, active, V)))
    size = float(np.abs(np.diag(B)).mean())
    squares = held.T @ held
    squares *= size / max(float(np.trace(squares)) / len(B), 1e-300)
    for weight in (0.0, 1.0, 1e2, 1e4):
        values, vectors = np.linalg.eigh(B + weight * squares)
        if values[0] > LEAST * size:
            break
    return np.asarray((vectors * np.maximum(values, LEAST * size)) @ vectors.T)
