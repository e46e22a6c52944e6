"""Parametric optimal control problems, declared with CasADi symbols."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sofa_softctl.base import problem_file
from sofa_softctl.errors import LibraryError

Symbol = Any
"""CasADi column of symbols or numbers; untyped, since CasADi is optional."""


@dataclass(frozen=True)
class Variable:
    """State, input, or optimised constant, with its limits."""

    name: str
    """Name, with the unit in brackets."""
    lower: float = -np.inf
    """Smallest value."""
    upper: float = np.inf
    """Largest value."""
    guess: float = 0.0
    """Initial guess."""


@dataclass(frozen=True)
class Parameter:
    """Parameter of tasks, known only when a query is made."""

    name: str
    """Name, with its unit in brackets."""
    lower: float
    """Smallest value in libraries."""
    upper: float
    """Largest value in libraries."""


def no_residual(x: Symbol, z: Symbol, p: Symbol) -> Symbol:
    """Return no rows: the default of a residual."""
    return []


@dataclass(frozen=True)
class OptimalControlProblem:
    """Optimal control problem: inputs u(t) and constants z of least cost from a start to an end.

    Minimise the mean of `cost` over time plus `final_cost`, subject to x' = `dynamics`, x(0) =
    `initial`, 0 = `terminal` at the end, 0 <= `path` at the start of each interval, and the
    limits of the variables. All functions take CasADi columns and return a column or a list;
    all may depend on the parameters p.

    Direct multiple shooting with `intervals` of constant input, each of `steps` steps of the
    explicit Runge-Kutta method of order four.

    Source: Marcucci et al., "Parametric trajectory libraries for online motion planning with
        application to soft robots", section 2.
    """

    name: str
    """Name."""
    states: Sequence[Variable]
    """States x."""
    inputs: Sequence[Variable]
    """Inputs u."""
    parameters: Sequence[Parameter]
    """Parameters p."""
    dynamics: Callable[[Symbol, Symbol, Symbol, Symbol], Symbol]
    """(x, u, z, p) -> x'."""
    initial: Callable[[Symbol, Symbol], Symbol]
    """(z, p) -> x at the start."""
    cost: Callable[[Symbol, Symbol, Symbol, Symbol], Symbol]
    """(x, u, z, p) -> cost rate; its mean over the starts of intervals counts."""
    horizon: float
    """Horizon T [time]."""
    terminal: Callable[[Symbol, Symbol, Symbol], Symbol] = no_residual
    """(x, z, p) -> residual that is 0 at the end."""
    final_cost: Callable[[Symbol, Symbol, Symbol], Symbol] | None = None
    """(x, z, p) -> cost of the final state."""
    path: Callable[[Symbol, Symbol, Symbol, Symbol], Symbol] | None = None
    """(x, u, z, p) -> inequalities, at least 0 at the start of each interval."""
    design: Sequence[Variable] = ()
    """Optimised constants z."""
    guess: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    """(p, fractions of the time (N + 1,)) -> initial guess of the states, as numbers, shape (N + 1,
    n)."""
    error: Callable[[Symbol, Symbol, Symbol], Symbol] | None = None
    """(simulated final x, z, p) -> error of the task. Libraries need it."""
    tolerance: float = np.inf
    """Tolerance of the error. Libraries need it."""
    terminal_tolerances: Sequence[float] | None = None
    """Tolerance of each row of `terminal`, in its unit. Libraries need them."""
    cost_tolerance: float = 0.1
    """Fraction by which the cost of answers should exceed that of optima at most [-]. Building
    adds motions where it does, and queries search on; no answer is refused for its cost."""
    margin: float = 0.01
    """Distance of plans from limits of states and `path`, as a fraction of their range [-]. Plans
    meet limits only at the ends of intervals; executed trajectories must meet them at all times."""
    plant: Mapping[str, float] = field(default_factory=dict)
    """Numbers that identify the robot, by name; controllers compare them."""
    error_unit: str = ""
    """Unit of the error and its tolerance, for plots."""
    cost_unit: str = ""
    """Unit of the cost, for plots."""
    draw: Callable[[np.random.Generator, Any, np.ndarray | None], tuple[np.ndarray, Any]] | None = (
        None
    )
    """(random generator, state of the drawing, final state of the last trajectory) -> parameters of
    a random task, and the next state of the drawing if the task gets done. The state is
    JSON-serialisable; both states are None at first. By default tasks are uniform within the limits
    of the parameters."""
    mirror: Mirror | None = None
    """Symmetry under changes of sign, if there is one."""
    intervals: int = 30
    """Number of intervals N."""
    steps: int = 5
    """Number of integration steps per interval."""

    def __post_init__(self) -> None:
        for name in ("states", "inputs", "parameters"):
            if not getattr(self, name):
                raise LibraryError(f"'{self.name}' needs {name}.")
        if not (0.0 < self.horizon < np.inf and self.intervals > 0 and self.steps > 0):
            raise LibraryError(
                f"'{self.name}': horizon, intervals and steps must be positive. Got: "
                f"{self.horizon}, {self.intervals}, {self.steps}"
            )
        for name in ("tolerance", "margin", "cost_tolerance"):
            if not getattr(self, name) >= 0.0:
                raise LibraryError(
                    f"'{self.name}': {name} must be a number from 0. Got: {getattr(self, name)}"
                )
        if not self.margin < 0.5:
            raise LibraryError(f"'{self.name}': margin must be below 0.5. Got: {self.margin}")
        limited: list[Variable | Parameter] = [*self.states, *self.inputs, *self.design]
        for variable in (*limited, *self.parameters):
            if not variable.lower < variable.upper:
                raise LibraryError(
                    f"'{self.name}': lower of '{variable.name}' must be below upper. Got: "
                    f"{variable.lower} and {variable.upper}"
                )
        for parameter in self.parameters:
            if not np.isfinite((parameter.lower, parameter.upper)).all():
                raise LibraryError(
                    f"'{self.name}': limits of parameter '{parameter.name}' must be finite, random "
                    f"tasks are drawn within them. Got: {parameter.lower} and {parameter.upper}"
                )
        if self.mirror is not None:
            self._check_mirror(self.mirror)

    def _check_mirror(self, mirror: Mirror) -> None:
        for name in ("parameters", "states", "inputs"):
            signs, count = list(getattr(mirror, name)), len(getattr(self, name))
            if len(signs) != count or not set(signs) <= {1, -1}:
                raise LibraryError(
                    f"'{self.name}': mirror needs 1 or -1 for each of the {count} {name}. "
                    f"Got: {signs}"
                )

    @property
    def lower(self) -> np.ndarray:
        """Smallest parameters, shape (n_p,)."""
        return np.array([parameter.lower for parameter in self.parameters])

    @property
    def upper(self) -> np.ndarray:
        """Largest parameters, shape (n_p,)."""
        return np.array([parameter.upper for parameter in self.parameters])


@dataclass(frozen=True)
class Mirror:
    """Symmetry: if (x, u) is optimal for p, then (`states` x, `inputs` u) is for `parameters` p."""

    parameters: Sequence[int]
    """1 or -1 for each parameter."""
    states: Sequence[int]
    """1 or -1 for each state."""
    inputs: Sequence[int]
    """1 or -1 for each input."""


@dataclass(frozen=True, eq=False)
class Motion:
    """Trajectory of a problem: inputs and states over time."""

    u: np.ndarray
    """Inputs of each interval, shape (N, n_u)."""
    x: np.ndarray
    """States at the ends of intervals, shape (N + 1, n_x)."""
    z: np.ndarray = field(default_factory=lambda: np.empty(0))
    """Optimised constants, shape (n_z,)."""


def load_problem(name: str) -> OptimalControlProblem:
    """Load the problem FILE.py:NAME of a file's PROBLEMS, or FILE.py if it has only one.

    Raises:
        LibraryError: The problem does not exist.
    """
    problem: OptimalControlProblem = problem_file.load_problem(
        name,
        error=LibraryError,
        page="docs/how-to/build-a-library.md#declare-a-problem",
        members=("name", "states", "inputs", "parameters", "dynamics"),
    )
    return problem
