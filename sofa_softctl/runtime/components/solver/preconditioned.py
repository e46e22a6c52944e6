"""PCGLinearSolver: preconditioned conjugate gradients, with SOFA's stopping rules."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.constraint import ConstraintRows
from sofa_softctl.runtime.behavior.solvers import LinearSolver, MechanicalSystem
from sofa_softctl.runtime.components.solver.conjugate_gradient import CGLinearSolver
from sofa_softctl.runtime.core.data.types import Bool, UInt
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.message import complain


class PCGLinearSolver(CGLinearSolver):
    """Matrix-free conjugate gradients with a preconditioner P.

    Starts from the last step's solution and stops after `iterations`, or when
    r^T P^-1 r <= tolerance |b|^2. P is another linear solver, `preconditioner`; it gets a new
    matrix every `update_step` steps, or with build_precond=False only in the first step. As in
    SOFA, a preconditioner that is added after this solver is not used, with a warning.
    """

    aliases = ("ShewchukPCGLinearSolver",)

    preconditioner = LinkType("Linear solver as preconditioner; none by default.")
    preconditioners = LinkType("Older name of `preconditioner`.")
    use_precond = Bool(True, "Use the preconditioner.")
    update_step = UInt(1, "Steps from one matrix of the preconditioner to the next.")
    build_precond = Bool(True, "Update the preconditioner's matrix.")

    def on_added(self) -> None:
        """Drop the link to a preconditioner that does not exist yet."""
        super().on_added()
        for link in (self._links["preconditioner"], self._links["preconditioners"]):
            if link.path and link.target is None:
                problem = self.fault(f"finds no '{link.path}' before it, its preconditioner.")
                complain(self, problem, " It goes on without, as in SOFA: add that one first.")
                link.path = ""

    def attach(self, system: MechanicalSystem) -> None:
        """Attach solver and preconditioner to a system.

        Raises:
            SceneError: The preconditioner does not exist, or it is the solver itself.
        """
        super().attach(system)
        self._inner: Any = self._preconditioner()
        self._age = 0  # steps since the preconditioner got a matrix
        if self._inner is not None:
            self._inner.attach(system)

    def _preconditioner(self) -> Any:
        for name in ("preconditioner", "preconditioners"):
            if self._links[name].path or self._links[name].target is not None:
                solver: Any = self._links[name].getLinkedBase()
                if solver is self or not isinstance(solver, LinearSolver):
                    raise self.fault(
                        f"takes another linear solver as '{name}', such as a JacobiPreconditioner "
                        f"or a SparseLDLSolver; got {solver.describe() if solver else 'nothing'}."
                    )
                return solver
        return None

    @override
    def set_matrix(self, m: float, k: float, h: float) -> None:
        super().set_matrix(m, k, h)
        if self._inner is None:
            return
        interval = self.update_step.get()
        if self._age == 0 or (self.build_precond.get() and 0 < interval <= self._age):
            self._inner.set_matrix(m, k, h)
            self._age = 0
        self._age += 1

    @override
    def solve(self, b: np.ndarray) -> np.ndarray:
        self._x = self._solve(b, self._x)
        return self._x

    def _solve(self, b: np.ndarray, start: np.ndarray) -> np.ndarray:
        self._b = b
        x, r = start.copy(), b - self._product(start)
        w = self._precondition(r).copy()
        rho = float(np.vdot(r, w))
        limit = self.tolerance.get() * float(np.vdot(b, b))
        for _ in range(self.iterations.get()):
            if not rho > limit:
                break
            q = self._product(w)
            alpha = rho / float(np.vdot(w, q))
            x += alpha * w
            r -= alpha * q
            s = self._precondition(r)
            rho, rho_old = float(np.vdot(r, s)), rho
            w = s + (rho / rho_old) * w
        self._record_solve(b, float(np.sqrt(np.vdot(r, r))))
        return x

    def _precondition(self, r: np.ndarray) -> np.ndarray:
        """Return P^-1 r."""
        if self._inner is None or not self.use_precond.get():
            return r
        return self._inner.solve(r)

    def delassus(self, rows: ConstraintRows) -> np.ndarray:
        """Return H A^-1 H^T with one solve per row."""
        x_before = self._x
        self._x = np.zeros_like(x_before)
        W = super().delassus(rows)
        self._x = x_before
        return W

    @override
    def correction(self, rows: ConstraintRows, lam: np.ndarray) -> np.ndarray:
        push = rows.apply_transposed(lam, self.system.size)
        return self._solve(push, np.zeros_like(push))

    def reset(self) -> None:
        """Forget the last solution and the preconditioner's matrix."""
        super().reset()
        self._age = 0

    def snapshot(self) -> dict[str, Any]:
        """Return the state without the preconditioner, which is computed again."""
        return super().snapshot()

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        super().restore(snapshot)
        self._age = 0
