"""An FEM robot as one oscillator: identification, and trajectories without residual swing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import least_squares

from sofa_softctl.errors import SceneError
from sofa_softctl.library.ocp.problem import (
    Motion,
    OptimalControlProblem,
    Parameter,
    Symbol,
    Variable,
)
from sofa_softctl.scene.control.system import ComplianceSystem
from sofa_softctl.scene.session.session import Session
from sofa_softctl.units import Units, symbol


@dataclass(frozen=True)
class ReducedModel:
    """Motion of a point of a robot along one direction, under the force f of one cable.

    y'' + 2 zeta w y' + w^2 (y - c f) = 0, with w = 2 pi `frequency`. SOFA's implicit Euler adds
    damping and lowers the frequency, so the model holds only for steps of `dt`, and the damping of
    the material may be much smaller.
    """

    compliance: float
    """c, displacement at rest by force [length / force]."""
    frequency: float
    """Undamped natural frequency [1 / time]."""
    damping: float
    """Damping ratio zeta [-]."""
    dt: float
    """Time step of the identification [time]."""
    misfit: float
    """Rms residual of the identification over the rms swing [-]."""

    def __post_init__(self) -> None:
        if not (self.frequency > 0.0 and 0.0 <= self.damping < 1.0 and self.compliance != 0.0):
            raise ValueError(
                "A reduced model needs a frequency above 0, a damping from 0 to below 1 and a "
                f"compliance other than 0. Got: {self.frequency}, {self.damping}, "
                f"{self.compliance}"
            )

    @property
    def plant(self) -> dict[str, float]:
        """Numbers that identify the robot: all of the model except its misfit."""
        names = ("compliance", "frequency", "damping", "dt")
        return {name: float(getattr(self, name)) for name in names}

    @property
    def rate(self) -> float:
        """Angular frequency w [rad / time]."""
        return 2.0 * np.pi * self.frequency


@dataclass(frozen=True)
class Swing:
    """Fit of y(t) = rest + exp(-decay t) (a cos(rate t) + b sin(rate t)) to samples."""

    rest: float
    """Final value [length]."""
    decay: float
    """Decay rate [1 / time]."""
    rate: float
    """Angular frequency w [rad / time]."""
    misfit: float
    """Rms residual over the rms of the samples about `rest` [-]."""


def identify(
    session: Session,
    line: Any,
    point: Callable[[], ArrayLike],
    direction: ArrayLike,
    *,
    low: float,
    high: float,
    wait: float,
    skip: float = 0.0,
) -> ReducedModel:
    """Identify the reduced model of a robot from its swings after steps of a cable's force.

    The force is `low`, then `high`, each for the time `wait`, which should be five swings or more.
    The fitted equilibria of both swings give the compliance, the swing at `high` gives frequency
    and damping.

    Args:
        session: Scene in which nothing else moves the robot; it is advanced by 2 `wait`.
        line: CableConstraint of valueType "force".
        point: Returns the present position of the point, shape (3,).
        direction: Direction of the measured displacement, shape (3,).
        low: First force [force].
        high: Second force; the model suits forces between both [force].
        wait: Time at each force [time].
        skip: Time after each change of force that is left out, for faster swings to fade [time].

    Raises:
        SceneError: The point does not swing: it does not move, or creeps to rest.
    """
    factor = ComplianceSystem(session.root).effort_factor(line)
    axis = np.asarray(direction, float) / np.linalg.norm(direction)
    count, skipped_count = round(wait / session.dt), round(skip / session.dt)
    swings = []
    for force in (low, high):
        line.value.value = [force * factor]
        displacements = []
        for _ in range(count):
            session.step()
            displacements.append(float(np.asarray(point(), float) @ axis))
        swings.append(fit_swing(np.array(displacements[skipped_count:]), session.dt))
    low_swing, high_swing = swings
    rate = float(np.hypot(high_swing.rate, high_swing.decay))
    return ReducedModel(
        compliance=(high_swing.rest - low_swing.rest) / (high - low),
        frequency=rate / (2.0 * np.pi),
        damping=high_swing.decay / rate,
        dt=session.dt,
        misfit=high_swing.misfit,
    )


def fit_swing(y: np.ndarray, dt: float) -> Swing:
    """Fit a damped swing to samples by least squares.

        The fit is linear except in decay and rate, which start from a recursion of second order,
        y[k+1] = p y[k] + q y[k-1] + r (Prony).

    Raises:
        SceneError: The samples contain no swing.
    """
    is_flat = len(y) < 8 or np.ptp(y) <= 1e-9 * (1.0 + np.abs(y).max())
    if not is_flat:
        regressors = np.column_stack([y[1:-1], y[:-2], np.ones(len(y) - 2)])
        p, q, _ = np.linalg.lstsq(regressors, y[2:], rcond=None)[0]
        root = max(np.roots([1.0, -p, -q]), key=np.imag)
    if is_flat or root.imag <= 0.0:
        raise SceneError(
            f"The point does not swing: in {len(y)} steps it came from {y[0]:.4g} to {y[-1]:.4g} "
            "without turning. Its swing may be damped away by the steps, or by Rayleigh damping: "
            "make dt and rayleighStiffness smaller, or the change of force larger."
        )
    time = dt * np.arange(len(y))

    def residual(unknown: np.ndarray) -> np.ndarray:
        shapes = _shapes(time, *unknown)
        return np.asarray(y - shapes @ np.linalg.lstsq(shapes, y, rcond=None)[0])

    start = np.log(root) / dt
    fit = least_squares(residual, [-start.real, start.imag], x_scale=start.imag, xtol=1e-12)
    decay, rate = fit.x
    rest = np.linalg.lstsq(_shapes(time, decay, rate), y, rcond=None)[0][0]
    misfit = np.sqrt(np.mean(fit.fun**2) / np.mean((y - rest) ** 2))
    return Swing(float(rest), float(decay), float(rate), float(misfit))


def _shapes(time: np.ndarray, decay: float, rate: float) -> np.ndarray:
    """Return the basis functions of a swing at the times, shape (n, 3)."""
    fading = np.exp(-decay * time)
    return np.column_stack(
        [np.ones_like(time), fading * np.cos(rate * time), fading * np.sin(rate * time)]
    )


def motion_problem(
    model: ReducedModel,
    *,
    horizon: float,
    reach: tuple[float, float],
    force_max: float,
    rate_max: float,
    tolerance: float,
    units: str | None = None,
) -> OptimalControlProblem:
    """Declare motions from rest to rest in a given time, with least mean f'^2.

    State: [y, y', f], input: f', parameters: [start, end] of y. Rest means y' = 0 and y = c f, so
    the force can stay constant afterwards. A cable only pulls: f >= 0.

    Args:
        model: Model of the robot.
        horizon: Duration of a motion [time].
        reach: Smallest and largest displacement at rest [length].
        force_max: Largest force [force].
        rate_max: Largest absolute rate of the force [force / time].
        tolerance: Largest residual swing [length].
        units: Units of the model, such as "mm, kg, s", for the names of the variables.
    """
    unit_system = None if units is None else Units.parse(units)
    length, force, time = (symbol(unit_system, name) for name in ("length", "force", "time"))
    c, w, zeta = model.compliance, model.rate, model.damping
    rate_scale = force_max / horizon  # scale of f', so that the cost is of order 1

    def dynamics(x: Symbol, u: Symbol, z: Symbol, p: Symbol) -> Symbol:
        return [x[1], -2.0 * zeta * w * x[1] - w**2 * (x[0] - c * x[2]), u[0]]

    def guess(p: np.ndarray, fraction: np.ndarray) -> np.ndarray:
        y = p[0] + (p[1] - p[0]) * fraction**2 * (3.0 - 2.0 * fraction)
        speed = (p[1] - p[0]) * 6.0 * fraction * (1.0 - fraction) / horizon
        return np.column_stack([y, speed, y / c])

    return OptimalControlProblem(
        name="reduced model",
        states=[
            Variable(f"displacement [{length}]"),
            Variable(f"speed [{length}/{time}]"),
            Variable(f"force [{force}]", 0.0, force_max),
        ],
        inputs=[Variable(f"rate of the force [{force}/{time}]", -rate_max, rate_max)],
        parameters=[Parameter(f"{name} [{length}]", *reach) for name in ("start", "end")],
        dynamics=dynamics,
        initial=lambda z, p: [p[0], 0.0, p[0] / c],
        terminal=lambda x, z, p: [x[0] - p[1], x[1] / w, c * x[2] - p[1]],
        cost=lambda x, u, z, p: (u[0] / rate_scale) ** 2,
        guess=guess,
        error=lambda x, z, p: residual_swing(model, x, p[1]),
        tolerance=tolerance,
        terminal_tolerances=3 * [tolerance],
        margin=0.0,  # forces are linear between instants
        plant=model.plant,
        error_unit=length,
        horizon=horizon,
    )


def residual_swing(model: ReducedModel, x: Symbol, end: Symbol) -> Symbol:
    """Return a bound of the later distance to `end` at constant force [length].

    It is the envelope of the swing about c f, plus the error of c f.
    """
    y, speed, force = x[0], x[1], x[2]
    rest, decay = model.compliance * force, model.rate * model.damping
    damped_rate = model.rate * np.sqrt(1.0 - model.damping**2)
    speed_amplitude = (speed + decay * (y - rest)) / damped_rate
    return abs(rest - end) + ((y - rest) ** 2 + speed_amplitude**2) ** 0.5


def pull(model: ReducedModel, horizon: float) -> Callable[[Motion, float], np.ndarray]:
    """Return the `command` of a LibraryController for this problem: the force f.

    Each step gets the force at its end, as implicit Euler does, so the last force is the rest
    force.
    """

    def command(motion: Motion, fraction: float) -> np.ndarray:
        ends = np.linspace(0.0, 1.0, len(motion.x))
        return np.array([np.interp(fraction + model.dt / horizon, ends, motion.x[:, 2])])

    return command
