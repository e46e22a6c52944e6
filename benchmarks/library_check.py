"""Check of a motion that shares nothing with the library that gave it.

SciPy integrates the formulas that the problem declares, as CasADi functions, by DOP853 at a
relative tolerance of 1e-10, and looks between instants.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from sofa_softctl.library import OptimalControlProblem, Variable
from sofa_softctl.library.ocp.formulas import formulas
from sofa_softctl.library.ocp.model import LIMIT_SLACK
from sofa_softctl.library.ocp.problem import Motion

ACCURACY = 1e-10
"""Relative tolerance of an integration; absolute: a hundredth of it."""
FINE = 40
"""Least number of steps of an interval: forces that last less could be jumped over."""
SAMPLES = 41
"""Instants of an interval at which limits are looked at, its ends included."""
NEAR = 0.02
"""Where a motion is nearer to a limit than this share of its range, as many instants lie between
two of these."""


class Check(NamedTuple):
    """What a motion does."""

    error: float
    """Error of the task over its tolerance [-]."""
    terminal: float
    """Largest residual of a final condition over its tolerance [-]."""
    excess: float
    """Largest excess of a limit of a state, or violation of `path`, over what is allowed [-]."""
    inputs: float
    """Largest excess of a limit of an input or a constant, in its unit."""

    @property
    def broken(self) -> str:
        """What it breaks; empty: nothing."""
        most = {"error": 1.0, "terminal": 1.0, "excess": 1.0, "inputs": 0.0}
        found = {name: getattr(self, name) for name in most}
        return ", ".join(f"{k} {v:.6g}" for k, v in found.items() if not v <= most[k])


class Checker:
    """Checks motions of a problem.

    Args:
        problem: The problem.
        path_scale: Range of each inequality `path`, as in `Model.path_scale`.
    """

    def __init__(self, problem: OptimalControlProblem, path_scale: tuple[float, ...] = ()) -> None:
        self.problem, self.functions = problem, formulas(problem)
        low, high = limits(problem.states)
        self.below, self.above = np.flatnonzero(low > -np.inf), np.flatnonzero(high < np.inf)
        self.low, self.high = low[self.below], high[self.above]
        ends = np.array([np.where(np.isfinite(limit), limit, 0.0) for limit in (low, high)])
        self.range = np.abs(ends).max(axis=0)
        both = np.intersect1d(self.below, self.above)
        self.range[both] = high[both] - low[both]
        self.path_scale = np.array(path_scale, float)
        self.widths = np.concatenate((self._of_limits(self.range), self.path_scale))

    def __call__(self, motion: Motion, p: np.ndarray) -> Check:
        """Check inputs and constants of a motion at parameters p; its states are not looked at."""
        problem, u, z = self.problem, motion.u, motion.z
        x = self._value("initial", z, p)[:, 0]
        largest, least = np.abs(x), np.full(len(self.widths), np.inf)
        times = np.linspace(0.0, problem.horizon / problem.intervals, SAMPLES)
        for given in u:
            found = self._integrated(x, given, z, p, times[-1])
            states = found(times)
            margins = self.margins(states, given, z, p)
            closely = np.flatnonzero(margins.min(axis=1) < NEAR * self.widths)
            for row, at in zip(closely, margins.argmin(axis=1)[closely], strict=True):
                between = np.linspace(
                    times[max(at - 1, 0)], times[min(at + 1, SAMPLES - 1)], SAMPLES
                )
                closer = self.margins(found(between), given, z, p)[row].min()
                least[row] = min(least[row], closer)
            least = np.minimum(least, margins.min(axis=1))
            largest = np.maximum(largest, np.abs(states).max(axis=1))
            x = states[:, -1]
        allowed = np.concatenate(
            (self._of_limits(np.maximum(largest, self.range)), self.path_scale)
        )
        missed = np.abs(self._value("terminal", x, z, p)[:, 0])
        return Check(
            error=float(self._value("error", x, z, p)[0, 0]) / problem.tolerance,
            terminal=float(np.max(missed / problem.terminal_tolerances, initial=0.0)),
            excess=float(np.max(-least / (LIMIT_SLACK * allowed), initial=0.0)),
            inputs=max(beyond(u, problem.inputs), beyond(z, problem.design)),
        )

    def _value(self, name: str, *given: np.ndarray) -> np.ndarray:
        """A formula, shape (rows, columns of its arguments)."""
        return np.array(self.functions[name](*given))

    def _of_limits(self, values: np.ndarray) -> np.ndarray:
        """Values of the states, for each lower and each upper limit."""
        return np.concatenate((values[self.below], values[self.above]))

    def margins(self, x: np.ndarray, u: np.ndarray, z: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Distance of states, shape (n_x, k), from each limit and to each `path`."""
        rows = [x[self.below] - self.low[:, None], self.high[:, None] - x[self.above]]
        if len(self.path_scale):
            rows.append(self._value("path", x, u, z, p))
        return np.concatenate(rows)

    def _integrated(
        self, x: np.ndarray, u: np.ndarray, z: np.ndarray, p: np.ndarray, interval: float
    ) -> Any:
        """The states over an interval, as a function of times."""
        state, rates = np.empty(len(x)), np.empty(len(x))
        arguments = [state, *(np.array(each, float) for each in (u, z, p))]
        call, run = self.functions["dynamics"].buffer()  # at once, but it keeps no reference
        for number, given in enumerate(arguments):
            call.set_arg(number, memoryview(given))
        call.set_res(0, memoryview(rates))

        def rate(_: float, y: np.ndarray) -> np.ndarray:
            state[:] = y
            run()
            return rates.copy()

        found = solve_ivp(
            rate,
            (0.0, interval),
            x,
            method="DOP853",
            rtol=ACCURACY,
            atol=0.01 * ACCURACY,
            dense_output=True,
            max_step=interval / FINE,
        )
        if not found.success:
            raise RuntimeError(f"'{self.problem.name}' at {p}: {found.message}")
        return found.sol


def limits(variables: Sequence[Variable]) -> np.ndarray:
    """Least and largest of each, shape (2, n)."""
    return np.array([[each.lower for each in variables], [each.upper for each in variables]])


def beyond(values: np.ndarray, variables: Sequence[Variable]) -> float:
    """How far values, shape (..., n), are beyond their limits."""
    low, high = limits(variables)
    return float(np.max(np.maximum(low - values, values - high), initial=0.0))
