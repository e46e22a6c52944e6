"""Effects on the signals of any experiment: gain, offset and delay of outputs and inputs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sofa_softctl.identification.channel import Channel
from sofa_softctl.identification.effect import Effect
from sofa_softctl.identification.effects.delay import even
from sofa_softctl.identification.effects.drives import DriveDelay, DriveGain, DriveOffset
from sofa_softctl.identification.effects.sensors import SensorDelay, SensorGain, SensorOffset
from sofa_softctl.identification.experiment import Experiment
from sofa_softctl.identification.parameter import Parameter
from sofa_softctl.identification.problem import Problem

LEAST_GAIN = -0.9
"""Lower bound of relative gains and masses [-]."""
LATEST = 0.1
"""Largest delay, either way [s]."""


def effects_of(experiment: Experiment) -> tuple[Effect, ...]:
    """Effects of an experiment that could be switched on: its own, or those of its signals."""
    given = experiment.effects
    found = signal_effects(experiment) if given is None else given
    return absent(found, experiment.parameters)


def effects_of_problem(problem: Problem) -> tuple[Effect, ...]:
    """The same of a problem, as far as known without a recording."""
    given = problem.effects
    if given is None:
        return effects_of_signals(problem.inputs, problem.channels, problem.parameters)
    return absent(given, problem.parameters)


def signal_effects(experiment: Experiment) -> tuple[Effect, ...]:
    """Effects on the signals of an experiment: those of outputs, then those of inputs.

    A column that is an input and an output has those of the output. Delays need even times, effects
    of inputs an experiment whose inputs can be changed.
    """
    inputs: Sequence[Channel] = ()
    if (recorded := experiment.recorded_inputs) is not None:
        if experiment.with_input_errors(np.zeros_like(recorded)) is not None:
            inputs = experiment.inputs
    late = even(experiment.time)
    return effects_of_signals(inputs, experiment.channels, experiment.parameters, late=late)


def effects_of_signals(
    inputs: Sequence[Channel],
    channels: Sequence[Channel],
    parameters: Sequence[Parameter],
    *,
    late: bool = True,
) -> tuple[Effect, ...]:
    """Effects on signals, except those that are parameters already; with delays if `late`."""
    names = {one.name for one in channels}
    others = [one for one in inputs if one.name not in names]
    found = sensor_effects(channels, late=late) + drive_effects(others, late=late)
    return absent(found, parameters)


def sensor_effects(channels: Sequence[Channel], *, late: bool = True) -> tuple[Effect, ...]:
    """Gain, offset and delay of outputs."""
    return (
        *(SensorGain(gain(one.name), one.name) for one in channels),
        *(SensorOffset(offset(one), one.name) for one in channels),
        *(SensorDelay(delay(one.name), one.name) for one in channels if late),
    )


def drive_effects(channels: Sequence[Channel], *, late: bool = True) -> tuple[Effect, ...]:
    """Gain, offset and delay of inputs."""
    return (
        *(DriveGain(gain(one.name), one.name) for one in channels),
        *(DriveOffset(offset(one), one.name) for one in channels),
        *(DriveDelay(delay(one.name), one.name) for one in channels if late),
    )


def absent(effects: Sequence[Effect], parameters: Sequence[Parameter]) -> tuple[Effect, ...]:
    """Effects whose parameters there are not yet."""
    known = {one.name for one in parameters}
    return tuple(one for one in effects if one.name not in known)


def gain(name: str) -> Parameter:
    """Relative gain of a signal."""
    return Parameter(f"gain.{name}", 0.0, "-", lower=LEAST_GAIN, size=0.1)


def offset(channel: Channel) -> Parameter:
    """Offset of a signal, in its unit."""
    most = channel.largest
    size = 10.0 * channel.deviation or None
    return Parameter(f"offset.{channel.name}", 0.0, channel.unit, -most, most, size=size)


def delay(name: str) -> Parameter:
    """Delay of a signal."""
    return Parameter(f"delay.{name}", 0.0, "s", -LATEST, LATEST, size=0.1 * LATEST)
