"""Solution of an inverse problem, with its residuals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sofa_softctl.qp.problem import QPResult
from sofa_softctl.qp.verified import VerifiedResult
from sofa_softctl.qpcc.problem.modes import ContactWarm, Mode
from sofa_softctl.status import Status


def _none() -> np.ndarray:
    """Default of a field without contacts."""
    return np.empty(0)


@dataclass(frozen=True, kw_only=True, eq=False)
class InverseSolution:
    """Actuator efforts for one time step, with residuals and status."""

    effort: np.ndarray
    """Effort lam of each actuator [effort], shape (n_a,). Within effort_min and effort_max."""
    displacement: np.ndarray
    """Displacement of each actuator under this effort, W_aa lam + delta_a_free [displacement],
    shape (n_a,)."""
    effector_error: np.ndarray
    """Position minus goal under this effort, W_ea lam + delta_e_free [displacement], (n_e,)."""
    status: Status
    """Solved, closest feasible, fallback, or held; the worst of those that apply."""
    kkt_residual: float
    """Largest violation of the optimality conditions, relative to the free motion [-]: of the QP
    scaled by `problem.build_qp`, see `qp.kkt_residual`. For a least-violation solution, the
    larger one of its two QPs; for a held command, the last rejected solution's, or inf."""
    active: tuple[str, ...]
    """Limits that are reached, such as "cable L0: effort at its minimum"."""
    relaxed: tuple[str, ...]
    """Limits that are exceeded, with the excess, such as "cable L0: displacement 0.25 above its
    maximum" [effort or displacement]. Empty if solved."""
    objective: float
    """1/2 ||effector_weight * effector_error||^2 plus the energy term [displacement^2]."""
    iterations: int
    """Iterations of the QP solvers, all attempts together."""
    build_time: float
    """Time to build the QP [s]; 0 if one kernel does both, as for solver "active-set"."""
    solve_time: float
    """Time to solve and check it, with all attempts [s]."""
    solver: str
    """Name of the solver of the accepted answer; empty if held."""
    message: str
    """Notes for the user: rejected answers and why, who answered instead. May be empty."""
    warm: QPResult | ContactWarm | None
    """Warm start: pass it to the next `solve` as `warm`. Opaque."""

    # With contacts:
    contact_force: np.ndarray = field(default_factory=_none)
    """Force lam_c of each contact row [effort], shape (n_r,)."""
    contact_gap: np.ndarray = field(default_factory=_none)
    """delta_c of each contact row under these forces: gap along a normal, motion during the step
    along a tangent [displacement], shape (n_r,)."""
    modes: tuple[Mode, ...] = ()
    """Mode of each contact, n_c of them."""
    complementarity: float = 0.0
    """Largest |lam_n delta_n| of a contact, over the square of the largest gap in units of energy
    (see `mechanics.Mechanics`) [-]."""
    cone_violation: float = 0.0
    """Largest excess of |lam_t| over mu lam_n, in the same units [-]."""
    law_error: float = 0.0
    """Largest distance of a contact from its law, interpenetration included, in the same units,
    see `contact_law.law_error` [-]."""
    bound: float = -math.inf
    """Lower bound of the objective over all efforts and contact modes [displacement^2], or -inf if
    none was computed."""
    gap: float = math.inf
    """(objective - bound) / objective [-]. 0: the answer is proven to be the best one."""
    strategy: str = ""
    """Strategy that found the contact modes; empty without contacts."""
    pieces: int = 0
    """Pieces of the problem, that is QPs for given modes, that were tried."""
    converged: bool = True
    """True if the search was completed; else it reached one of its limits, or continues later."""
    goes_on: bool = False
    """True if the search continues in the next step, see `SearchOptions.step_nodes`. The answer is
    checked like any other, and the best one so far."""

    @property
    def within_limits(self) -> bool:
        """True if any solver found a solution within all limits."""
        return self.status is not Status.HELD and not self.relaxed


def status_of(relaxed: Sequence[str], answers: Iterable[VerifiedResult]) -> Status:
    """Return the status of a solution.

    Args:
        relaxed: Limits that the solution exceeds.
        answers: Results of the QP solvers on which it is based.
    """
    is_replaced = any(result.replaced for result in answers)
    return Status.worst(
        (
            Status.CLOSEST_FEASIBLE if relaxed else Status.SOLVED,
            Status.FALLBACK if is_replaced else Status.SOLVED,
        )
    )
