"""Settings of the optimiser, its iterations and its result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from sofa_softctl.surrogate.program.search import Search
from sofa_softctl.surrogate.program.transcription import PlanningProblem, TrajectoryIterate


@dataclass(frozen=True)
class Settings:
    """Settings of the optimiser. The defaults are meant for a and u of the order of 1."""

    iterations: int = 200
    """Maximum number of QPs in one round."""
    defect: float = 1e-9
    """Largest defect of an executable plan [-]."""
    stationarity: float = 1e-6
    """Largest violation of the first-order conditions, over the largest curvature [-]."""
    search: Callable[[PlanningProblem, TrajectoryIterate, Settings], Search] | None = None
    """Creates the search that improves a first trajectory, or None for `Collocation`."""
    radius: float = 0.2
    """Initial trust region: largest change of each a and u [-]."""
    radius_max: float = 2.0
    """Largest trust region [-]."""
    radius_min: float = 1e-9
    """Trust region at which the optimiser ends [-]."""
    penalty: float = 10.0
    """Initial penalty on defects, over the largest curvature [-]."""
    penalty_max: float = 1e6
    """Penalty above which limits and steps count as contradictory [-]."""
    solvers: tuple[str, ...] = ("piqp", "osqp")
    """Sparse QP solvers, in the order of their calls."""


class TrustRegionIteration(NamedTuple):
    """Iteration of the optimiser, see `planner.Iteration`."""

    merit: float
    cost: float
    defect: float
    radius: float
    accepted: bool


@dataclass(frozen=True, eq=False)
class OptimiserResult:
    """Result of the optimiser."""

    trial: TrajectoryIterate
    """Best trajectory."""
    balanced: bool
    """Whether all equations hold to `Settings.defect`."""
    converged: bool
    """Whether the first-order conditions hold."""
    stuck: bool
    """Whether trust region or penalty reached their limits, or there was no more gain, so that
    further iterations would not help."""
    stationarity: float
    """Largest violation of the first-order conditions [-]."""
    notes: tuple[str, ...]
    """Notes of the QP solvers."""
    fallback: str
    """Note on QPs solved by another solver than the first one, or ""."""
    timed_out: bool = False
    """True if the time limit ended the search before it converged or got stuck."""
