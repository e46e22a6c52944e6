"""Entry of a library: an optimal motion with its sensitivity and tangent QP."""

from __future__ import annotations

import io
from dataclasses import dataclass, fields

import numpy as np

from sofa_softctl._internal.blas_threads import one_blas_thread
from sofa_softctl.library.ocp.sensitivity import Regularity, active_set, regularity, sensitivity
from sofa_softctl.library.ocp.shooting import Optimum, Program
from sofa_softctl.library.ocp.tangent_qp import TangentQP, condense


@dataclass(frozen=True, eq=False)
class Entry:
    """An optimum, its sensitivity (5) and its tangent QP."""

    p: np.ndarray
    """Parameters, shape (n_p,)."""
    v: np.ndarray
    """Unknowns, shape (n_v,)."""
    cost: float
    """f."""
    v_p: np.ndarray
    """d_p v*, shape (n_v, n_p)."""
    mu: np.ndarray
    """Multipliers of the active inequalities, shape (n_a,)."""
    mu_p: np.ndarray
    """d_p mu* of these, shape (n_a, n_p)."""
    path: np.ndarray
    """Inequalities `path` at the optimum, shape (n_path,)."""
    path_p: np.ndarray
    """Their derivative along (5), shape (n_path, n_p)."""
    qp: TangentQP
    """QP for changes of the parameters that change the active inequalities."""

    def to_bytes(self) -> bytes:
        """All arrays as an .npz file; the basis Z, most of it, in single precision."""
        arrays = {name: getattr(self, name) for name in _OWN}
        arrays |= {f"qp.{name}": getattr(self.qp, name) for name in _QP}
        arrays["qp.Z"] = arrays["qp.Z"].astype("<f4")
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **arrays)
        return buffer.getvalue()

    @staticmethod
    def from_bytes(data: bytes) -> Entry:
        """The entry from `to_bytes`."""
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            own = {name: arrays[name] for name in _OWN}
            qp = {name: arrays[f"qp.{name}"] for name in _QP}
        qp["Z"] = qp["Z"].astype(float)
        return Entry(**own | {"cost": float(own["cost"])}, qp=TangentQP(**qp))


_OWN = tuple(each.name for each in fields(Entry) if each.name != "qp")
_QP = tuple(each.name for each in fields(TangentQP))


def entry_of(program: Program, optimum: Optimum) -> tuple[Entry | None, Regularity]:
    """Entry of an optimum; None where it is degenerate, without a sensitivity."""
    with one_blas_thread():
        at = program.derivatives(optimum)
        active = active_set(optimum, at)
        regular = regularity(optimum, at, active)
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
            qp=condense(optimum, at, active, (program.lower, program.upper)),
        )
    return entry, regular
