"""Parametric optimal control problems, declared with CasADi symbols."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sofa_softctl.base import problem_file
from sofa_softctl.errors import LibraryError

Symbol = Any
"""A CasADi column of symbols or numbers; CasADi is optional, imported where it is used."""


@dataclass(frozen=True)
class Variable:
    """A state, an input, or an optimised constant, with its limits."""

    name: str
    """Name, with its unit in brackets."""
    lower: float = -np.inf
    """Least value."""
    upper: float = np.inf
    """Largest value."""
    guess: float = 0.0
    """Initial guess."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of motions, known only at planning time."""

    name: str
    """Name, with its unit in brackets."""
    lower: float
    """Least value in libraries."""
    upper: float
    """Largest value in libraries."""


def no_residual(x: Symbol, z: Symbol, p: Symbol) -> Symbol:
    """Default without a function."""
    return []


@dataclass(frozen=True)
class OptimalControlProblem:
    """Find inputs u(t) and constants z of least cost from a start to an end.

    minimise the mean of `cost` over the time, plus `final_cost`, subject to x' = `dynamics`,
    x(0) = `initial`, 0 = `terminal` at the end, 0 <= `path` at the start of each interval, and the
    limits of the variables. All functions take CasADi columns and give a column, or a list.
    All may depend on the parameters p.

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
    """(x, u, z, p) -> cost rate, of which the mean counts. Constant inputs: at interval starts."""
    horizon: float
    """Horizon T [time]."""
    terminal: Callable[[Symbol, Symbol, Symbol], Symbol] = no_residual
    """(x, z, p) -> residual that is 0 at the end."""
    final_cost: Callable[[Symbol, Symbol, Symbol], Symbol] | None = None
    """(x, z, p) -> cost of the end."""
    path: Callable[[Symbol, Symbol, Symbol, Symbol], Symbol] | None = None
    """(x, u, z, p) -> inequalities, at least 0 at the start of each interval."""
    design: Sequence[Variable] = ()
    """Optimised constants z."""
    guess: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    """(p, shares of the time (N + 1,)) -> initial guess of the states, shape (N + 1, n).
    Numbers."""
    error: Callable[[Symbol, Symbol, Symbol], Symbol] | None = None
    """(simulated x at the end, z, p) -> error of the task. Libraries need it."""
    tolerance: float = np.inf
    """Tolerance of the error. Libraries need it."""
    terminal_tolerances: Sequence[float] | None = None
    """Tolerance of each row of `terminal`, in its unit. Libraries need them."""
    cost_tolerance: float = 0.1
    """Share by which the cost of an answer may exceed that expected of the optimum [-]."""
    margin: float = 0.01
    """Share of their range by which plans stay away from limits of states and of `path` [-]. Plans
    see them at the ends of intervals alone; what is executed keeps them at all times."""
    plant: Mapping[str, float] = field(default_factory=dict)
    """Numbers that say which robot it is, by their names: controllers compare them."""
    error_unit: str = ""
    """Unit of the error and its tolerance, for plots."""
    cost_unit: str = ""
    """Unit of the cost, for plots."""
    draw: Callable[[np.random.Generator, Any, np.ndarray | None], tuple[np.ndarray, Any]] | None = (
        None
    )
    """(random generator, its state, final state of the last motion) -> parameters of a random task,
    and its next state if this one is done: numbers, lists, dicts; both None at first. Without it,
    tasks are uniform within the limits of the parameters."""
    mirror: Mirror | None = None
    """Symmetry by changes of sign, if there is one."""
    intervals: int = 30
    """Number of intervals N."""
    steps: int = 5
    """Steps of integration an interval."""

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
        for each in (*limited, *self.parameters):
            if not each.lower < each.upper:
                raise LibraryError(
                    f"'{self.name}': lower of '{each.name}' must be below upper. Got: "
                    f"{each.lower} and {each.upper}"
                )
        for given in self.parameters:
            if not np.isfinite((given.lower, given.upper)).all():
                raise LibraryError(
                    f"'{self.name}': limits of parameter '{given.name}' must be finite, random "
                    f"tasks are drawn within them. Got: {given.lower} and {given.upper}"
                )
        if self.mirror is not None:
            self._check_mirror(self.mirror)

    def _check_mirror(self, mirror: Mirror) -> None:
        for name in ("parameters", "states", "inputs"):
            signs, wanted = list(getattr(mirror, name)), len(getattr(self, name))
            if len(signs) != wanted or not set(signs) <= {1, -1}:
                raise LibraryError(
                    f"'{self.name}': mirror needs 1 or -1 for each of the {wanted} {name}. "
                    f"Got: {signs}"
                )

    @property
    def lower(self) -> np.ndarray:
        """Least parameters, shape (n_p,)."""
        return np.array([each.lower for each in self.parameters])

    @property
    def upper(self) -> np.ndarray:
        """Largest parameters, shape (n_p,)."""
        return np.array([each.upper for each in self.parameters])


@dataclass(frozen=True)
class Mirror:
    """A symmetry: for p times `parameters`, x times `states` and u times `inputs` are optimal."""

    parameters: Sequence[int]
    """1 or -1 for each parameter."""
    states: Sequence[int]
    """1 or -1 for each state."""
    inputs: Sequence[int]
    """1 or -1 for each input."""


@dataclass(frozen=True, eq=False)
class Motion:
    """A motion of a problem: inputs and states over time."""

    u: np.ndarray
    """Inputs of each interval, shape (N, n_u)."""
    x: np.ndarray
    """States at its ends, shape (N + 1, n_x)."""
    z: np.ndarray = field(default_factory=lambda: np.empty(0))
    """Optimised constants, shape (n_z,)."""


def load_problem(name: str) -> OptimalControlProblem:
    """The problem FILE.py:NAME of a file's PROBLEMS; FILE.py if it has one.

    Raises:
        LibraryError: There is no such problem.
    """
    problem: OptimalControlProblem = problem_file.load_problem(
        name,
        error=LibraryError,
        page="docs/how-to/build-a-library.md#declare-a-problem",
        members=("name", "states", "inputs", "parameters", "dynamics"),
    )
    return problem
