"""A driven chain of two rods with two torques, two angles and a marker; a finger under pressure."""

from dataclasses import dataclass

import numpy as np

from sofa_softctl.identification.data.recording import Recording
from sofa_softctl.identification.experiment import Channel, Experiment
from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.parts import Body, Damper, Joint, Point, Spring
from sofa_softctl.identification.mechanism.problem import MechanismProblem
from sofa_softctl.identification.mechanism.signals import Angle, Force, Output
from sofa_softctl.identification.parameter import Parameter
from sofa_softctl.identification.problem import Problem

PARAMETERS = (
    Parameter("k1", 3.0, "N m/rad"),
    Parameter("k2", 1.5, "N m/rad"),
    Parameter("damping", 0.1, "N m s/rad"),
)
TRUTH = np.array([4.0, 1.2, 0.15])
TIME = np.arange(151) / 50.0
TORQUES = np.stack([np.sin(3.0 * TIME), 0.5 * np.sign(np.sin(4.0 * TIME + 1.0))], axis=-1)


def chain():
    """Turns about y, then about x: the marker moves along all three axes."""
    joints = (
        Joint("a", axis=(0, 1, 0)),
        Joint("b", "a", axis=(1, 0, 0), moved=(0, 0, -0.5)),
    )
    rods = Mechanism(
        joints,
        [Body("a", 0.8, (0, 0, -0.25), 0.02), Body("b", 0.5, (0, 0, -0.2), 0.01)],
        [Spring("a", "k1"), Spring("b", "k2")],
        [Damper("a", "damping"), Damper("b", "damping")],
        parameters=PARAMETERS,
    )
    marker = tuple(Channel(f"tip.{axis}", "m", 1e-3) for axis in "xyz")
    angles = tuple(
        Output(Angle(name), (Channel(f"angle_{name}", "rad", 2e-3),)) for name in ("a", "b")
    )
    torques = tuple(Force(name, Channel(f"torque_{name}", "N m", deviation=0.0)) for name in ("a", "b"))
    outputs = (*angles, Output(Point("b", (0, 0.1, -0.4)), marker))
    return MechanismProblem("chain", rods, 0.01, outputs, torques)


def recorded(problem, inputs, truth, seed=0, time=TIME):
    """What sensors with the declared noise would have recorded."""
    blank = Recording("simulated", time, inputs, np.zeros((len(time), len(problem.channels))))
    outputs = problem.experiment(blank).outputs(truth)
    deviations = [one.deviation for one in problem.channels]
    noise = deviations * np.random.default_rng(seed).standard_normal(outputs.shape)
    return Recording("simulated", time, inputs, outputs + noise)


def text(problem, recording):
    """The recording as a CSV file."""
    columns = (*problem.inputs, *problem.channels)
    header = ["time [s]", *(f"{one.name} [{one.unit}]" for one in columns)]
    table = np.column_stack([recording.time, recording.inputs, recording.outputs])
    rows = [", ".join(f"{value:.8g}" for value in row) for row in table]
    return "\n".join([", ".join(header), *rows]) + "\n"


@dataclass(frozen=True, eq=False)
class Finger(Experiment):
    """A finger bends with the pressure, with a lag and a saturation: bend = gain * p / (1 + p)."""

    recording: Recording
    parameters: tuple = (Parameter("lag", 0.5, "s", lower=0.02), Parameter("gain", 1.0, "rad"))
    inputs: tuple = (Channel("pressure", "bar", deviation=0.0),)
    channels: tuple = (Channel("bend", "rad", deviation=3e-3),)

    @property
    def name(self):
        return self.recording.name

    @property
    def time(self):
        return self.recording.time

    @property
    def measured(self):
        return self.recording.outputs

    def outputs(self, rho):
        return self.sensitivities(rho)[0]

    def sensitivities(self, rho):
        lag, gain = rho
        p, dt = self.recording.inputs[:, 0], self.time[1] - self.time[0]
        a, bent = np.exp(-dt / lag), p / (1.0 + np.abs(p))
        x, by_rho = np.zeros(len(p)), np.zeros((len(p), 2))
        for k in range(len(p) - 1):
            x[k + 1] = a * x[k] + (1 - a) * gain * bent[k]
            by_lag = a * dt / lag**2 * (x[k] - gain * bent[k])
            by_rho[k + 1] = a * by_rho[k] + [by_lag, (1 - a) * bent[k]]
        return x[:, None], by_rho[:, None, :]


class FingerProblem(Problem):
    name, rate = "finger", 50.0
    parameters, inputs, channels = Finger.parameters, Finger.inputs, Finger.channels

    def experiment(self, recording):
        return Finger(recording)


FINGER_TRUTH = np.array([0.3, 1.4])
PRESSURE = 1.0 + np.sin(3.0 * TIME)[:, None] + 0.5 * np.sin(7.0 * TIME)[:, None]

PROBLEMS = {"chain": chain, "finger": FingerProblem}
