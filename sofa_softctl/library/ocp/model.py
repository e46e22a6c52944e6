"""Model of a problem's motions: formulas, limits and tolerances, as a library's file keeps them.

It needs no CasADi.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from sofa_softctl.acceptance import AcceptanceReport, Criterion
from sofa_softctl.errors import LibraryError
from sofa_softctl.library.ocp.kernels.formulas import Code
from sofa_softctl.library.ocp.kernels.motions import mean, simulate
from sofa_softctl.library.ocp.problem import Motion, Parameter, Variable
from sofa_softctl.library.ocp.tape import Tape

ACCURACY = 1e-6
"""Allowed error of each step of a simulation, relative to the largest value of a state [-]."""
SLACK = 1e-5
"""Excess of a limit that is the simulation's own error, relative to the state [-]."""
SIMULATOR = "adaptive Runge-Kutta 5(4), limits also between instants"
FORMULAS = ("dynamics", "initial", "cost", "terminal", "final_cost", "path", "error")
"""Names of the tapes."""


class Signs(NamedTuple):
    """Mirror symmetry of a problem, as signs."""

    p: np.ndarray
    """Signs of the parameters, shape (n_p,)."""
    v: np.ndarray
    """Signs of the unknowns, shape (n_v,)."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """A motion as its model moves under its inputs."""

    motion: Motion
    """Inputs, simulated states, constants."""
    scale: np.ndarray
    """Largest absolute value of each state, planned or simulated, shape (n_x,)."""
    extremes: np.ndarray
    """Least and largest of each state, also between instants, shape (2, n_x)."""
    path: np.ndarray
    """Least of each inequality `path`, shape (n_path,)."""
    terminal: np.ndarray
    """Residual of the final conditions, shape (n_t,)."""
    error: float
    """Error of the task."""
    cost: float
    """Cost f of the problem."""
    failure: str = ""
    """Why it did not reach its end; empty: it did."""


@dataclass(frozen=True, eq=False)
class Model:
    """What libraries know of an `OptimalControlProblem`; see there."""

    name: str
    """Name of the problem."""
    states: tuple[Variable, ...]
    """States x."""
    inputs: tuple[Variable, ...]
    """Inputs u."""
    design: tuple[Variable, ...]
    """Constants z."""
    parameters: tuple[Parameter, ...]
    """Parameters p."""
    horizon: float
    """Horizon T [time]."""
    intervals: int
    """Number of intervals N."""
    steps: int
    """Steps of integration an interval, in plans."""
    tolerance: float
    """Tolerance of the error."""
    terminal_tolerances: tuple[float, ...]
    """Tolerance of each final condition."""
    cost_tolerance: float
    """Share by which the cost may exceed that expected of the optimum [-]."""
    margin: float
    """Share of their range by which plans stay away from limits of states [-]."""
    path_scale: tuple[float, ...]
    """Range of each inequality `path`, for its margin."""
    mirror: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]] | None
    """Signs of parameters, states and inputs."""
    plant: Mapping[str, float]
    """Numbers that say which robot it is."""
    tapes: Mapping[str, Tape]
    """The formulas, by FORMULAS."""
    error_unit: str = ""
    """Unit of the error."""
    cost_unit: str = ""
    """Unit of the cost."""

    @property
    def size(self) -> int:
        """Number of unknowns n_v."""
        n, m = len(self.states), len(self.inputs)
        return len(self.design) + self.intervals * (n + m) + n

    @cached_property
    def _starts(self) -> np.ndarray:
        width = len(self.states) + len(self.inputs)
        return len(self.design) + width * np.arange(self.intervals + 1)

    @cached_property
    def x_at(self) -> np.ndarray:
        """Indices of the states in v, shape (N + 1, n_x)."""
        return np.asarray(self._starts[:, None] + np.arange(len(self.states)))

    @cached_property
    def u_at(self) -> np.ndarray:
        """Indices of the inputs in v, shape (N, n_u)."""
        n = len(self.states)
        return np.asarray(self._starts[:-1, None] + n + np.arange(len(self.inputs)))

    @cached_property
    def z_at(self) -> np.ndarray:
        """Indices of the constants in v, shape (n_z,)."""
        return np.arange(len(self.design))

    @cached_property
    def state_limits(self) -> np.ndarray:
        """Least and largest of each state, shape (2, n_x)."""
        return _limits_of(self.states)

    @cached_property
    def input_limits(self) -> np.ndarray:
        """Least and largest of each input, shape (2, n_u)."""
        return _limits_of(self.inputs)

    @cached_property
    def design_limits(self) -> np.ndarray:
        """Least and largest of each constant, shape (2, n_z)."""
        return _limits_of(self.design)

    @cached_property
    def margins(self) -> np.ndarray:
        """Margin of each state, shape (n_x,)."""
        return np.array([self.margin * _range(each) for each in self.states])

    @cached_property
    def path_margins(self) -> np.ndarray:
        """Margin of each inequality `path`, shape (n_path,)."""
        return self.margin * np.array(self.path_scale, float)

    @cached_property
    def lower(self) -> np.ndarray:
        """Least unknowns of plans, shape (n_v,)."""
        return self._limits(0, 1.0)

    @cached_property
    def upper(self) -> np.ndarray:
        """Largest unknowns of plans, shape (n_v,)."""
        return self._limits(1, -1.0)

    def _limits(self, which: int, inwards: float) -> np.ndarray:
        found = np.empty(self.size)
        found[self.z_at] = self.design_limits[which]
        found[self.u_at] = self.input_limits[which]
        found[self.x_at] = self.state_limits[which]
        found[self.x_at[1:-1]] += inwards * self.margins  # goals may lie at the limits themselves
        n_z = len(self.design)
        given = ~self.tapes["initial"].depends(0, n_z)  # p determines them: no limits
        found[self.x_at[0, given]] = -inwards * np.inf
        return found

    @cached_property
    def signs(self) -> Signs | None:
        """Its mirror symmetry, if it has one."""
        if self.mirror is None:
            return None
        v = np.ones(self.size)
        v[self.x_at], v[self.u_at] = self.mirror[1], self.mirror[2]
        return Signs(np.array(self.mirror[0], float), v)

    def motion(self, v: np.ndarray) -> Motion:
        """Motion of the unknowns v."""
        return Motion(v[self.u_at], v[self.x_at], v[self.z_at])

    def unknowns(self, motion: Motion) -> np.ndarray:
        """The unknowns v of a motion, shape (n_v,)."""
        v = np.empty(self.size)
        v[self.z_at], v[self.x_at], v[self.u_at] = motion.z, motion.x, motion.u
        return v

    def simulate(
        self, motion: Motion, p: np.ndarray, start: np.ndarray | None = None
    ) -> Simulation:
        """Simulate the inputs of a motion by a method and steps that are not the plan's.

        Args:
            motion: Its inputs, perhaps of the last intervals alone; its states give the accuracy.
            p: Parameters.
            start: State to begin from; None: the problem's.
        """
        u, z = np.ascontiguousarray(motion.u, float), np.ascontiguousarray(motion.z, float)
        p, tapes = np.ascontiguousarray(p, float), self.tapes
        x0 = tapes["initial"](z, p) if start is None else np.array(start, float)
        scale = np.maximum(np.abs(motion.x).max(axis=0), np.abs(x0))
        x, extremes = np.empty((len(u) + 1, len(x0))), np.empty((2, len(x0)))
        least = np.empty(tapes["path"].code.outputs)
        steps = simulate(
            self.fast("dynamics"),
            self.fast("path"),
            x0,
            u,
            z,
            p,
            self.horizon / self.intervals,
            ACCURACY * scale + 1e-12,
            SLACK * np.array(self.path_scale, float),
            x,
            extremes,
            least,
        )
        failure = "" if steps else "its states grow without bound, or change too fast."
        if failure:
            none = np.full(tapes["terminal"].code.outputs, np.nan)
            return Simulation(motion, scale, extremes, least, none, np.nan, np.nan, failure)
        found = Motion(u, x, z)
        return Simulation(
            motion=found,
            scale=np.maximum(scale, np.abs(x).max(axis=0)),
            extremes=extremes,
            path=least,
            terminal=tapes["terminal"](x[-1], z, p),
            error=self._error(x[-1], z, p),
            cost=self.cost(found, p),
        )

    def fast(self, name: str) -> Code:
        """Code for kernels of a formula of (x, u, z, p), see `Tape.fast`."""
        return self.tapes[name].fast(len(self.states), len(self.inputs), len(self.design))

    def _error(self, end: np.ndarray, z: np.ndarray, p: np.ndarray) -> float:
        """Magnitude of the error at a final state; NaN: the problem has none."""
        tape = self.tapes["error"]
        return abs(float(tape(end, z, p)[0])) if tape.code.outputs else np.nan

    def cost(self, motion: Motion, p: np.ndarray) -> float:
        """The cost f of a motion."""
        final, z = self.tapes["final_cost"], motion.z
        ends = float(final(motion.x[-1], z, p)[0]) if final.code.outputs else 0.0
        given = (np.ascontiguousarray(each, float) for each in (motion.x, motion.u, z, p))
        return float(mean(self.fast("cost"), *given)) + ends

    def report(
        self, found: Simulation, accuracy: float = 1.0, cost: float = np.inf
    ) -> AcceptanceReport:
        """Acceptance test of a simulated motion.

        Args:
            found: Its simulation.
            cost: Expected cost of the optimum; infinite: the cost is not tested.
            accuracy: Allowed share of the tolerances of error and final conditions [-].
        """
        unit = f" [{self.error_unit}]" if self.error_unit else ""
        criteria = [Criterion(f"error{unit}", found.error, accuracy * self.tolerance, "")]
        if cost != np.inf:
            most = cost + self.cost_tolerance * abs(cost)
            criteria.append(Criterion("cost", found.cost, most, ""))
        rows = zip(found.terminal, self.terminal_tolerances, strict=True)
        for number, (residual, allowed) in enumerate(rows, 1):
            criteria.append(
                Criterion(f"final condition {number}", abs(residual), accuracy * allowed, "")
            )
        for each, low, high, scale in zip(self.states, *found.extremes, found.scale, strict=True):
            if np.isfinite(each.lower) or np.isfinite(each.upper):
                excess = max(each.lower - low, high - each.upper, 0.0)
                slack = SLACK * max(scale, _range(each))
                criteria.append(
                    Criterion(f"excess of the limits of '{each.name}'", excess, slack, "")
                )
        for number, (least, scale) in enumerate(zip(found.path, self.path_scale, strict=True), 1):
            criteria.append(
                Criterion(f"violation of path {number}", max(-least, 0.0), SLACK * scale, "")
            )
        return AcceptanceReport(SIMULATOR, tuple(criteria), found.failure)

    def undefined(self, v: np.ndarray, p: np.ndarray) -> list[str]:
        """Names of the formulas that are not finite along the unknowns v at parameters p."""
        motion, end = self.motion(v), {"terminal", "final_cost", "error"}
        found = []
        for name in FORMULAS:
            at: list[tuple[np.ndarray, ...]]
            if name == "initial":
                at = [(motion.z, p)]
            elif name in end:
                at = [(motion.x[-1], motion.z, p)]
            else:
                pairs = zip(motion.x[:-1], motion.u, strict=True)
                at = [(x, u, motion.z, p) for x, u in pairs]
            if not all(np.isfinite(self.tapes[name](*each)).all() for each in at):
                found.append(f"'{name}'")
        return found

    @cached_property
    def digest(self) -> str:
        """Digest of what optima depend on: formulas, limits, sizes and times."""
        parts = [f"{name} {self.tapes[name].digest}" for name in FORMULAS if name != "error"]
        for name in ("states", "inputs", "design"):
            limits = [(float(v.lower).hex(), float(v.upper).hex()) for v in getattr(self, name)]
            parts.append(f"{name} {limits}")
        numbers = (self.horizon, self.margin, *self.path_scale)
        parts.append(" ".join(float(each).hex() for each in numbers))
        parts.append(f"{len(self.parameters)} {self.intervals} {self.steps} RK4")
        return sha256("\n".join(parts).encode()).hexdigest()


def _limits_of(variables: Sequence[Variable]) -> np.ndarray:
    """Least and largest of each, shape (2, n)."""
    return np.array([[each.lower for each in variables], [each.upper for each in variables]])


def _range(each: Variable) -> float:
    """Distance of its limits; where there is one, that from 0."""
    low, high = each.lower, each.upper
    if np.isfinite(low) and np.isfinite(high):
        return float(high - low)
    return float(max((abs(limit) for limit in (low, high) if np.isfinite(limit)), default=0.0))


def check_plant(model: Model, plant: Mapping[str, float], where: str) -> None:
    """Raise LibraryError unless a library is of this robot.

    Args:
        model: Model of the library.
        plant: Numbers that say which robot it is, as in `OptimalControlProblem.plant`.
        where: For the message.
    """
    names = [*dict.fromkeys((*model.plant, *plant))]
    unlike = [
        f"{name}: {_text(model.plant.get(name))} in the library, {_text(plant.get(name))} here"
        for name in names
        if not _same(model.plant.get(name), plant.get(name))
    ]
    if unlike:
        raise LibraryError(
            f"{where}: the library '{model.name}' is of another robot. {'; '.join(unlike)}. Build "
            "one of this robot: softctl library build."
        )


def _same(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and abs(one - other) <= 1e-9 * abs(one)


def _text(value: float | None) -> str:
    return "nothing" if value is None else f"{value:.6g}"
