"""Models in closed form: a lag that an input drives, a mass on a spring, and a wave.

Their derivatives are written down, or taken by complex steps, which are exact to the last digit.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.experiment import Experiment, PulledBack
from sofa_softctl.identification.model.parameter import Parameter
from sofa_softctl.identification.model.problem import Problem
from sofa_softctl.identification.model.recording import Recording

TAU = Parameter("tau", 0.5, "s")
GAIN = Parameter("gain", 1.0, "mm/V")
GHOST = Parameter("ghost", 3.0, "kg")
"""Nothing depends on it."""
VOLTAGE = Channel("drive", "V", deviation=0.0)
PLACE = Channel("tip", "mm", deviation=0.02)
SHORTEST = 0.02
"""The lag cannot be simulated with a shorter time constant [s]."""


@dataclass(frozen=True, eq=False)
class Lag(Experiment):
    """x_k+1 = a x_k + (1 - a) gain u_k, a = exp(-dt / tau), x_0 = 0; x is measured."""

    recording: Recording
    parameters: tuple = (TAU, GAIN)
    inputs: tuple = (VOLTAGE,)
    channels: tuple = (PLACE,)
    fed_back: float = 0.0
    """Share of the input that is subtracted from what the sensor shows."""

    @property
    def name(self):
        return self.recording.name

    @property
    def time(self):
        return self.recording.time

    @cached_property
    def measured(self):
        return self.recording.outputs - self.fed_back * self.recording.inputs

    def outputs(self, rho):
        return self.sensitivities(rho)[0]

    def sensitivities(self, rho):
        tau, gain = rho[:2]
        if tau < SHORTEST:
            raise SimulationError(f"{self.name}: tau = {tau:.3g} s is too short.")
        u, dt = self.recording.inputs[:, 0], self.time[1] - self.time[0]
        a = np.exp(-dt / tau)
        a_by_tau = a * dt / tau**2
        x, by_tau, by_gain = np.zeros(len(u)), np.zeros(len(u)), np.zeros(len(u))
        for k in range(len(u) - 1):
            x[k + 1] = a * x[k] + (1.0 - a) * gain * u[k]
            by_tau[k + 1] = a * by_tau[k] + a_by_tau * (x[k] - gain * u[k])
            by_gain[k + 1] = a * by_gain[k] + (1.0 - a) * u[k]
        others = [np.zeros(len(u))] * (len(rho) - 2)
        return x[:, None], np.stack([by_tau, by_gain, *others], axis=-1)[:, None, :]

    def pull_back(self, rho, gradient):
        x, by_rho = self.sensitivities(rho)
        weights = gradient(x)
        a = np.exp(-(self.time[1] - self.time[0]) / rho[0])
        lam, by_inputs = 0.0, np.zeros_like(x)
        for k in reversed(range(1, len(x))):
            lam = weights[k, 0] + a * lam
            by_inputs[k - 1, 0] = (1.0 - a) * rho[1] * lam
        return PulledBack(x, np.einsum("ty,tyr->r", weights, by_rho), by_inputs)

    def measured_by_inputs(self, weights):
        return -self.fed_back * weights

    def with_input_errors(self, errors):
        inputs = self.recording.inputs + errors
        return replace(self, recording=replace(self.recording, inputs=inputs))


@dataclass(frozen=True)
class LagProblem(Problem):
    name: str = "lag"
    parameters: tuple = (TAU, GAIN)
    inputs: tuple = (VOLTAGE,)
    channels: tuple = (PLACE,)
    rate: float = 50.0

    def experiment(self, recording):
        return Lag(recording, self.parameters, self.inputs, self.channels)


@dataclass(frozen=True, eq=False)
class Swing(Experiment):
    """A mass on a spring swings after its release: x = x_0 exp(-c t / 2 m) (cos w t + ...).

    Released from a place x_0 it shows k / m and c / m only; from under a load, x_0 = load / k.
    """

    name: str
    time: np.ndarray
    measured: np.ndarray
    place: float = 0.0
    load: float = 0.0
    parameters: tuple = (
        Parameter("k", 40.0, "N/m"),
        Parameter("c", 0.3, "N s/m"),
        Parameter("m", 0.5, "kg"),
    )
    inputs: tuple = ()
    channels: tuple = (Channel("x", "m", deviation=1e-4),)

    def outputs(self, rho):
        return self._x(np.asarray(rho, complex)).real[:, None]

    def sensitivities(self, rho):
        steps = 1e-30j * np.eye(len(rho))
        derivatives = [self._x(rho + step).imag / 1e-30 for step in steps]
        return self.outputs(rho), np.stack(derivatives, axis=-1)[:, None, :]

    def pull_back(self, rho, gradient):
        x, by_rho = self.sensitivities(rho)
        by_parameters = np.einsum("ty,tyr->r", gradient(x), by_rho)
        return PulledBack(x, by_parameters, np.zeros((len(self.time), 0)))

    def _x(self, rho):
        k, c, m = rho
        if k.real <= 0.0 or m.real <= 0.0 or k.real / m.real < (c.real / 2.0 / m.real) ** 2:
            raise SimulationError(f"{self.name}: it does not swing.")
        decay = c / (2.0 * m)
        w = np.sqrt(k / m - decay**2)
        start = self.place + self.load / k
        t = self.time
        return start * np.exp(-decay * t) * (np.cos(w * t) + decay / w * np.sin(w * t))


LAG_TRUTH = np.array([0.3, 2.0])
SWING_TRUTH = np.array([50.0, 0.4, 0.4])


def steps(seconds=4.0, rate=50.0):
    """Time, and a voltage of steps up and down."""
    time = np.arange(int(seconds * rate) + 1) / rate
    return time, np.sign(np.sin(2.0 * np.pi * time / 1.6 + 0.1))


def lag(seed=None, *, truth=LAG_TRUTH, noise=PLACE.deviation, seconds=4.0, **given):
    """A lag with outputs as simulated; with a seed, with noise."""
    time, u = steps(seconds)
    blank = Recording("lag", time, u[:, None], np.zeros((len(time), 1)))
    y = Lag(blank).outputs(truth)
    if seed is not None:
        y = y + noise * np.random.default_rng(seed).standard_normal(y.shape)
    return Lag(replace(blank, outputs=y), **given)


def swing(seed=None, *, place=0.0, load=0.0, seconds=3.0, truth=SWING_TRUTH, name="swing"):
    """A swing, measured at 50 Hz."""
    time = np.arange(int(50 * seconds) + 1) / 50.0
    blank = Swing(name, time, np.zeros((len(time), 1)), place, load)
    y = blank.outputs(truth)
    if seed is not None:
        y = y + 1e-4 * np.random.default_rng(seed).standard_normal(y.shape)
    return replace(blank, measured=y)


PROBLEMS = {"lag": LagProblem}


class Wave(Experiment):
    """y = sin(w t), measured with w = 10 / s: a fit has a minimum at every other count of waves."""

    name, inputs, channels = "wave", (), (Channel("y", "mm", deviation=0.01),)
    parameters = (Parameter("w", 16.0, "1/s", lower=5.0, upper=20.0),)
    time = np.linspace(0.0, 3.0, 151)
    measured = np.sin(10.0 * time)[:, None]

    def outputs(self, rho):
        return np.sin(rho[0] * self.time)[:, None]

    def sensitivities(self, rho):
        return self.outputs(rho), (self.time * np.cos(rho[0] * self.time))[:, None, None]
