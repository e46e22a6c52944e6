"""A model in closed form without state, which any window of a run shows: y = slope u + offset."""

from dataclasses import dataclass

import numpy as np

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.experiment import Experiment, PulledBack
from sofa_softctl.identification.model.parameter import Parameter
from sofa_softctl.identification.model.problem import Problem
from sofa_softctl.identification.model.recording import Recording

SLOPE = Parameter("slope", 1.0, "mm/V", lower=-100.0)
OFFSET = Parameter("offset", 0.5, "mm", lower=-100.0)
NOISE = 0.05
TOO_HIGH = 5.0
"""Voltage that the model cannot be simulated with."""


@dataclass(frozen=True, eq=False)
class Line(Experiment):
    """One recording beside the model."""

    recording: Recording
    inputs: tuple
    parameters: tuple = (SLOPE, OFFSET)
    channels: tuple = (Channel("y", "mm", NOISE),)
    name: str = "line"

    @property
    def time(self):
        return self.recording.time

    @property
    def measured(self):
        return self.recording.outputs

    def outputs(self, rho):
        return self.sensitivities(rho)[0]

    def sensitivities(self, rho):
        u = self.recording.inputs
        if np.abs(u).max() > TOO_HIGH:
            raise SimulationError(f"The voltage reaches {np.abs(u).max():g} V.")
        by_rho = np.stack([u, np.ones_like(u)], axis=-1)
        return by_rho @ rho, by_rho

    def pull_back(self, rho, gradient):
        y, by_rho = self.sensitivities(rho)
        weights = gradient(y)
        return PulledBack(y, np.einsum("ty,tyr->r", weights, by_rho), weights * rho[0])


@dataclass(frozen=True)
class LineProblem(Problem):
    name: str = "line"
    parameters: tuple = (SLOPE, OFFSET)
    input_noise: float = 0.0
    channels: tuple = Line.channels

    @property
    def inputs(self):
        return (Channel("u", "V", self.input_noise),)

    def experiment(self, recording):
        return Line(recording, self.inputs, self.parameters)
