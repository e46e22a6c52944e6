"""Model of a problem: formulas, limits and tolerances, as stored in a library's file.

It does not need CasADi.
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
"""Allowed error of a simulation step, relative to the largest value of a state [-]."""
LIMIT_SLACK = 1e-5
"""Excess of a limit within the error of the simulation, relative to the state [-]."""
SIMULATOR = "adaptive Runge-Kutta 5(4), limits also between instants"
FORMULAS = ("dynamics", "initial", "cost", "terminal", "final_cost", "path", "error")
"""Names of the formulas."""


class Signs(NamedTuple):
    """Signs of the mirror symmetry of a problem."""

    p: np.ndarray
    """Signs of the parameters, shape (n_p,)."""
    v: np.ndarray
    """Signs of the unknowns, shape (n_v,)."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """Simulation of the inputs of a trajectory."""

    motion: Motion
    """Inputs, simulated states, constants."""
    scale: np.ndarray
    """Largest absolute value of each state, planned or simulated, shape (n_x,)."""
    extremes: np.ndarray
    """Smallest and largest value of each state, also between instants, shape (2, n_x)."""
    path: np.ndarray
    """Smallest value of each inequality `path`, shape (n_path,)."""
    terminal: np.ndarray
    """Residual of the final conditions, shape (n_t,)."""
    error: float
    """Error of the task."""
    cost: float
    """Cost f of the problem."""
    failure: str = ""
    """Reason for a simulation that ended early; empty otherwise."""


@dataclass(frozen=True, eq=False)
class Model:
    """Content of an `OptimalControlProblem` that libraries store; fields are explained there."""

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
    """Number of integration steps per interval, in plans."""
    tolerance: float
    """Tolerance of the error."""
    terminal_tolerances: tuple[float, ...]
    """Tolerance of each final condition."""
    cost_tolerance: float
    """Fraction by which the cost of answers should exceed that of optima at most [-]."""
    margin: float
    """Distance of plans from limits of states, as a fraction of their range [-]."""
    path_scale: tuple[float, ...]
    """Range of each inequality `path`, to which the margin refers."""
    mirror: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]] | None
    """Signs of parameters, states and inputs."""
    plant: Mapping[str, float]
    """Numbers that identify the robot."""
    tapes: Mapping[str, Tape]
    """Tapes of the formulas, by the names in FORMULAS."""
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
        """Lower and upper limit of each state, shape (2, n_x)."""
        return _limits_of(self.states)

    @cached_property
    def input_limits(self) -> np.ndarray:
        """Lower and upper limit of each input, shape (2, n_u)."""
        return _limits_of(self.inputs)

    @cached_property
    def design_limits(self) -> np.ndarray:
        """Lower and upper limit of each constant, shape (2, n_z)."""
        return _limits_of(self.design)

    @cached_property
    def margins(self) -> np.ndarray:
        """Margin of each state, shape (n_x,)."""
        return np.array([self.margin * _range(state) for state in self.states])

    @cached_property
    def path_margins(self) -> np.ndarray:
        """Margin of each inequality `path`, shape (n_path,)."""
        return self.margin * np.array(self.path_scale, float)

    @cached_property
    def lower(self) -> np.ndarray:
        """Lower limits of the unknowns of plans, shape (n_v,)."""
        return self._limits(0, 1.0)

    @cached_property
    def upper(self) -> np.ndarray:
        """Upper limits of the unknowns of plans, shape (n_v,)."""
        return self._limits(1, -1.0)

    def _limits(self, side: int, inwards: float) -> np.ndarray:
        limits = np.empty(self.size)
        limits[self.z_at] = self.design_limits[side]
        limits[self.u_at] = self.input_limits[side]
        limits[self.x_at] = self.state_limits[side]
        limits[self.x_at[1:-1]] += inwards * self.margins  # goals may lie at the limits themselves
        n_z = len(self.design)
        is_given = ~self.tapes["initial"].depends(0, n_z)  # p determines them: no limits
        limits[self.x_at[0, is_given]] = -inwards * np.inf
        return limits

    @cached_property
    def signs(self) -> Signs | None:
        """Mirror symmetry, or None."""
        if self.mirror is None:
            return None
        v = np.ones(self.size)
        v[self.x_at], v[self.u_at] = self.mirror[1], self.mirror[2]
        return Signs(np.array(self.mirror[0], float), v)

    def degree(self, name: str) -> np.ndarray:
        """Return the degree of each row of a formula in states, inputs and constants, at most."""
        n, m, n_z = len(self.states), len(self.inputs), len(self.design)
        at_end = n + n_z
        counts = {"initial": n_z, "terminal": at_end, "final_cost": at_end, "error": at_end}
        return self.tapes[name].degree(0, counts.get(name, n + m + n_z))

    @cached_property
    def is_linear_quadratic(self) -> bool:
        """True if dynamics and start are linear, and costs quadratic, whatever parameters do."""
        degrees = {"dynamics": 1, "initial": 1, "cost": 2, "final_cost": 2}
        return all((self.degree(name) <= degree).all() for name, degree in degrees.items())

    def motion(self, v: np.ndarray) -> Motion:
        """Return the trajectory of the unknowns v."""
        return Motion(v[self.u_at], v[self.x_at], v[self.z_at])

    def unknowns(self, motion: Motion) -> np.ndarray:
        """Return the unknowns v of a trajectory, shape (n_v,)."""
        v = np.empty(self.size)
        v[self.z_at], v[self.x_at], v[self.u_at] = motion.z, motion.x, motion.u
        return v

    def simulate(
        self, motion: Motion, p: np.ndarray, start: np.ndarray | None = None
    ) -> Simulation:
        """Simulate the inputs of a trajectory with error control, unlike the fixed steps of plans.

        Args:
            motion: Trajectory, possibly of only the last intervals; its states scale the accuracy.
            p: Parameters.
            start: Initial state; by default the problem's.
        """
        u, z = np.ascontiguousarray(motion.u, float), np.ascontiguousarray(motion.z, float)
        p, tapes = np.ascontiguousarray(p, float), self.tapes
        x0 = tapes["initial"](z, p) if start is None else np.array(start, float)
        scale = np.maximum(np.abs(motion.x).max(axis=0), np.abs(x0))
        x, extremes = np.empty((len(u) + 1, len(x0))), np.empty((2, len(x0)))
        path_min = np.empty(tapes["path"].code.outputs)
        steps = simulate(
            self.fast_code("dynamics"),
            self.fast_code("path"),
            x0,
            u,
            z,
            p,
            self.horizon / self.intervals,
            ACCURACY * scale + 1e-12,
            LIMIT_SLACK * np.array(self.path_scale, float),
            x,
            extremes,
            path_min,
        )
        failure = "" if steps else "its states grow without bound, or change too fast."
        if failure:
            nan_residual = np.full(tapes["terminal"].code.outputs, np.nan)
            return Simulation(
                motion, scale, extremes, path_min, nan_residual, np.nan, np.nan, failure
            )
        simulated_motion = Motion(u, x, z)
        return Simulation(
            motion=simulated_motion,
            scale=np.maximum(scale, np.abs(x).max(axis=0)),
            extremes=extremes,
            path=path_min,
            terminal=tapes["terminal"](x[-1], z, p),
            error=self._error(x[-1], z, p),
            cost=self.cost(simulated_motion, p),
        )

    def fast_code(self, name: str) -> Code:
        """Return the code of a formula of (x, u, z, p) for kernels, see `Tape.fast_code`."""
        return self.tapes[name].fast_code(len(self.states), len(self.inputs), len(self.design))

    def _error(self, end: np.ndarray, z: np.ndarray, p: np.ndarray) -> float:
        """Return the magnitude of the error at a final state, or NaN if the problem has none."""
        tape = self.tapes["error"]
        return abs(float(tape(end, z, p)[0])) if tape.code.outputs else np.nan

    def cost(self, motion: Motion, p: np.ndarray) -> float:
        """Return the cost f of a trajectory."""
        final, z = self.tapes["final_cost"], motion.z
        ends = float(final(motion.x[-1], z, p)[0]) if final.code.outputs else 0.0
        arrays = (np.ascontiguousarray(array, float) for array in (motion.x, motion.u, z, p))
        return float(mean(self.fast_code("cost"), *arrays)) + ends

    def report(self, simulation: Simulation, accuracy: float = 1.0) -> AcceptanceReport:
        """Return the acceptance test of a simulated trajectory.

        Args:
            simulation: Simulation of the trajectory.
            accuracy: Allowed fraction of the tolerances of error and final conditions [-].
        """
        unit = f" [{self.error_unit}]" if self.error_unit else ""
        criteria = [Criterion(f"error{unit}", simulation.error, accuracy * self.tolerance, "")]
        if not np.isfinite(simulation.cost):
            criteria.append(Criterion("cost", np.nan, np.inf, ""))
        rows = zip(simulation.terminal, self.terminal_tolerances, strict=True)
        for number, (residual, allowed) in enumerate(rows, 1):
            criteria.append(
                Criterion(f"final condition {number}", abs(residual), accuracy * allowed, "")
            )
        for state, low, high, scale in zip(
            self.states, *simulation.extremes, simulation.scale, strict=True
        ):
            if np.isfinite(state.lower) or np.isfinite(state.upper):
                excess = max(state.lower - low, high - state.upper, 0.0)
                slack = LIMIT_SLACK * max(scale, _range(state))
                criteria.append(
                    Criterion(f"excess of the limits of '{state.name}'", excess, slack, "")
                )
        for number, (value, scale) in enumerate(
            zip(simulation.path, self.path_scale, strict=True), 1
        ):
            criteria.append(
                Criterion(f"violation of path {number}", max(-value, 0.0), LIMIT_SLACK * scale, "")
            )
        return AcceptanceReport(SIMULATOR, tuple(criteria), simulation.failure)

    def undefined_formulas(self, v: np.ndarray, p: np.ndarray) -> list[str]:
        """Return the names of formulas that are not finite along the unknowns v at parameters p."""
        motion, end = self.motion(v), {"terminal", "final_cost", "error"}
        names = []
        for name in FORMULAS:
            points: list[tuple[np.ndarray, ...]]
            if name == "initial":
                points = [(motion.z, p)]
            elif name in end:
                points = [(motion.x[-1], motion.z, p)]
            else:
                pairs = zip(motion.x[:-1], motion.u, strict=True)
                points = [(x, u, motion.z, p) for x, u in pairs]
            if not all(np.isfinite(self.tapes[name](*arguments)).all() for arguments in points):
                names.append(f"'{name}'")
        return names

    @cached_property
    def digest(self) -> str:
        """Digest of all that optima depend on: formulas, limits, sizes and times."""
        parts = [f"{name} {self.tapes[name].digest}" for name in FORMULAS if name != "error"]
        for name in ("states", "inputs", "design"):
            limits = [(float(v.lower).hex(), float(v.upper).hex()) for v in getattr(self, name)]
            parts.append(f"{name} {limits}")
        numbers = (self.horizon, self.margin, *self.path_scale)
        parts.append(" ".join(float(number).hex() for number in numbers))
        parts.append(f"{len(self.parameters)} {self.intervals} {self.steps} RK4")
        return sha256("\n".join(parts).encode()).hexdigest()


def _limits_of(variables: Sequence[Variable]) -> np.ndarray:
    """Return the lower and upper limit of each variable, shape (2, n)."""
    return np.array(
        [[variable.lower for variable in variables], [variable.upper for variable in variables]]
    )


def _range(variable: Variable) -> float:
    """Return the distance between the limits, or the distance of a single limit from 0."""
    low, high = variable.lower, variable.upper
    if np.isfinite(low) and np.isfinite(high):
        return float(high - low)
    return float(max((abs(limit) for limit in (low, high) if np.isfinite(limit)), default=0.0))


def check_plant(model: Model, plant: Mapping[str, float], location: str) -> None:
    """Raise LibraryError unless a library was built for this robot.

    Args:
        model: Model of the library.
        plant: Numbers that identify the robot, as in `OptimalControlProblem.plant`.
        location: Location of the caller, for the message.
    """
    names = [*dict.fromkeys((*model.plant, *plant))]
    differences = [
        f"{name}: {_text(model.plant.get(name))} in the library, {_text(plant.get(name))} here"
        for name in names
        if not _is_equal(model.plant.get(name), plant.get(name))
    ]
    if differences:
        raise LibraryError(
            f"{location}: the library '{model.name}' is of another robot. "
            f"{'; '.join(differences)}. Build one of this robot: softctl library build."
        )


def _is_equal(saved: float | None, current: float | None) -> bool:
    return saved is not None and current is not None and abs(saved - current) <= 1e-9 * abs(saved)


def _text(value: float | None) -> str:
    return "nothing" if value is None else f"{value:.6g}"
