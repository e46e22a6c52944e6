"""Effects on the signals of any experiment: gain, offset and delay of outputs and inputs.

Numbers that are known with an uncertainty: priors about starts, from text such as '5%'.

Problems with effects switched on by name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.base.suggestions import did_you_mean, some
from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.data.recording import Recording
from sofa_softctl.identification.effects.drives import DriveDelay, DriveGain, DriveOffset
from sofa_softctl.identification.effects.sensors import SensorDelay, SensorGain, SensorOffset, even
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.effect import Effect, matches
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import Parameter, Prior
from sofa_softctl.identification.model.problem import Problem

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


def uncertain(
    parameters: Sequence[Parameter], deviations: Mapping[str, float | str]
) -> tuple[Parameter, ...]:
    """Parameters that are known, but not exactly: each with a prior about its start.

    They widen the intervals of the others by as much as they are uncertain.

    Args:
        parameters: All parameters.
        deviations: Names, or patterns such as 'mass.*', to standard deviations, in the unit of
            each or as '5%': of the start, or 0.05 of a relative one, as a mass 5 % off.

    Raises:
        IdentificationError: A name is unknown, or a deviation is no positive number.
    """
    found = {one.name: one for one in parameters}
    for pattern, given in deviations.items():
        names = [name for name in found if matches(name, pattern)]
        if not names:
            raise IdentificationError(
                f"There is no parameter '{pattern}'. There are: {', '.join(found)}."
            )
        for name in names:
            one = found[name]
            found[name] = replace(one, prior=Prior(one.start, _deviation(one, given)))
    return tuple(found.values())


def _deviation(one: Parameter, given: float | str) -> float:
    """A deviation in the parameter's unit."""
    text = str(given).strip()
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = 0.0
    if not 0.0 < number < float("inf"):
        raise IdentificationError(
            f"The uncertainty of '{one.name}' is '{given}'. Expected a positive standard "
            f"deviation, as a number{f' in {one.unit}' if one.unit else ''} or as '5%'."
        )
    if not text.endswith("%"):
        return number
    relative = one.start == 0.0 and one.unit == "-"
    if one.start == 0.0 and not relative:
        raise IdentificationError(
            f"'{one.name}' starts at 0, of which '{given}' is 0. Give its uncertainty in "
            f"{one.unit or 'its unit'}."
        )
    return number / 100.0 * (1.0 if relative else abs(one.start))


def with_effects(problem: Problem, names: Sequence[str]) -> Problem:
    """The problem whose experiments have effects, with their parameters after its own.

    Args:
        problem: A problem.
        names: Names of effects, or patterns such as 'offset.*'; none: the problem as it is.

    Raises:
        IdentificationError: No effect of the problem has such a name, or matches a pattern.
    """
    own = Problem.checked(problem)
    return WithEffects(own, chosen(effects_of_problem(own), names, own.name)) if names else own


def chosen(effects: Sequence[Effect], names: Sequence[str], where: str) -> tuple[Effect, ...]:
    """Effects with one of some names or patterns, in their own order.

    Raises:
        IdentificationError: No effect matches one of them.
    """
    known = [one.name for one in effects]
    for name in names:
        if not any(matches(one, name) for one in known):
            raise IdentificationError(
                f"{where}: there is no effect '{name}'.{did_you_mean(name, known)} Known: "
                f"{some(known, near=name) or 'none'}."
            )
    return tuple(one for one in effects if any(matches(one.name, name) for name in names))


@dataclass(frozen=True)
class WithEffects(Problem):
    """A problem with effects; all else is that of the problem without them."""

    problem: Problem
    """The problem without them."""
    chosen: tuple[Effect, ...]
    """The effects."""

    @property
    def name(self) -> str:
        """Name of the problem."""
        return self.problem.name

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Parameters of the problem, then of the effects."""
        return (*self.problem.parameters, *(one.parameter for one in self.chosen))

    @property
    def inputs(self) -> tuple[Channel, ...]:
        """Inputs of the problem."""
        return self.problem.inputs

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Channels of the problem."""
        return self.problem.channels

    @property
    def rate(self) -> float | None:
        """Rate of the problem."""
        return self.problem.rate

    @property
    def recorded(self) -> Mapping[str, str]:
        """Columns of records, as of the problem."""
        return self.problem.recorded

    @property
    def scene(self) -> str | Path | Callable[..., Any] | None:
        """Scene of the problem."""
        return self.problem.scene

    @property
    def not_in_scene(self) -> tuple[str, ...]:
        """As of the problem, and the effects."""
        return (*self.problem.not_in_scene, *(one.name for one in self.chosen))

    @property
    def effects(self) -> tuple[Effect, ...] | None:
        """Those of the problem."""
        return self.problem.effects

    def experiment(self, recording: Recording) -> Experiment:
        """The problem's experiment with the effects, as it has them."""
        found = Experiment.checked(self.problem.experiment(recording))
        known = {one.name: one for one in effects_of(found)}
        for one in self.chosen:
            found = known.get(one.name, one).of(found)
        return found

    def from_record(self, path: str | Path) -> Recording | None:
        """As of the problem."""
        return self.problem.from_record(path)

    def scene_values(self, rho: np.ndarray) -> dict[str, Any]:
        """As of the problem, at its own parameters."""
        return self.problem.scene_values(np.asarray(rho)[: len(self.problem.parameters)])


def names_of(effects: Collection[Effect]) -> str:
    """Table of effects: name and unit, a line each."""
    width = max((len(one.name) for one in effects), default=0)
    return "\n".join(f"{one.name:<{width}}  {one.parameter.unit or '-'}" for one in effects)
