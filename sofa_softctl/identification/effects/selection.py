"""Selection of effects by name: gain, offset and delay of signals, and effects of experiments.

The module also makes priors about starts, from texts such as '5%'.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.base.suggestions import did_you_mean, list_names
from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.data.files import read_recording
from sofa_softctl.identification.effects.drives import DriveDelay, DriveGain, DriveOffset
from sofa_softctl.identification.effects.sensors import (
    SensorDelay,
    SensorGain,
    SensorOffset,
    is_evenly_spaced,
)
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.experiment import Effect, Experiment, matches
from sofa_softctl.identification.model.parameter import Parameter, Prior
from sofa_softctl.identification.model.problem import Problem, load_problem
from sofa_softctl.identification.model.recording import Recording


@dataclass(frozen=True)
class EffectBounds:
    """Bounds of the parameters of effects."""

    gain_min: float = -0.9
    """Lower bound of relative gains and masses [-]."""
    delay_max: float = 0.1
    """Largest positive or negative delay [s]."""


BOUNDS = EffectBounds()


def effects_of(experiment: Experiment) -> tuple[Effect, ...]:
    """Return the effects of an experiment, by default of its signals, that are not switched on."""
    own_effects = experiment.effects
    effects = signal_effects(experiment) if own_effects is None else own_effects
    return new_effects(effects, experiment.parameters)


def effects_of_problem(problem: Problem) -> tuple[Effect, ...]:
    """Return the effects of a problem that are known without a recording."""
    own_effects = problem.effects
    if own_effects is None:
        return effects_of_signals(problem.inputs, problem.channels, problem.parameters)
    return new_effects(own_effects, problem.parameters)


def signal_effects(experiment: Experiment) -> tuple[Effect, ...]:
    """Return the effects on the signals of an experiment, first of outputs, then of inputs.

    A column that is an input and an output counts as an output. Delays need even times, effects of
    inputs an experiment whose inputs can be changed.
    """
    inputs: Sequence[Channel] = ()
    if (recorded := experiment.recorded_inputs) is not None:
        if experiment.with_input_errors(np.zeros_like(recorded)) is not None:
            inputs = experiment.inputs
    has_even_times = is_evenly_spaced(experiment.time)
    return effects_of_signals(
        inputs, experiment.channels, experiment.parameters, with_delays=has_even_times
    )


def effects_of_signals(
    inputs: Sequence[Channel],
    channels: Sequence[Channel],
    parameters: Sequence[Parameter],
    *,
    with_delays: bool = True,
) -> tuple[Effect, ...]:
    """Return the effects on signals that are not parameters already."""
    names = {channel.name for channel in channels}
    remaining_inputs = [channel for channel in inputs if channel.name not in names]
    effects = sensor_effects(channels, with_delays=with_delays) + drive_effects(
        remaining_inputs, with_delays=with_delays
    )
    return new_effects(effects, parameters)


def sensor_effects(channels: Sequence[Channel], *, with_delays: bool = True) -> tuple[Effect, ...]:
    """Return gain, offset and delay of outputs."""
    return (
        *(SensorGain(gain(channel.name), channel.name) for channel in channels),
        *(SensorOffset(offset(channel), channel.name) for channel in channels),
        *(SensorDelay(delay(channel.name), channel.name) for channel in channels if with_delays),
    )


def drive_effects(channels: Sequence[Channel], *, with_delays: bool = True) -> tuple[Effect, ...]:
    """Return gain, offset and delay of inputs."""
    return (
        *(DriveGain(gain(channel.name), channel.name) for channel in channels),
        *(DriveOffset(offset(channel), channel.name) for channel in channels),
        *(DriveDelay(delay(channel.name), channel.name) for channel in channels if with_delays),
    )


def new_effects(effects: Sequence[Effect], parameters: Sequence[Parameter]) -> tuple[Effect, ...]:
    """Return the effects whose parameters do not exist yet."""
    parameter_names = {parameter.name for parameter in parameters}
    return tuple(effect for effect in effects if effect.name not in parameter_names)


def gain(name: str) -> Parameter:
    """Relative gain of a signal."""
    return Parameter(f"gain.{name}", 0.0, "-", lower=BOUNDS.gain_min, size=0.1)


def offset(channel: Channel) -> Parameter:
    """Offset of a signal, in its unit."""
    bound = channel.largest
    size = 10.0 * channel.deviation or None
    return Parameter(f"offset.{channel.name}", 0.0, channel.unit, -bound, bound, size=size)


def delay(name: str) -> Parameter:
    """Delay of a signal."""
    return Parameter(
        f"delay.{name}", 0.0, "s", -BOUNDS.delay_max, BOUNDS.delay_max, size=0.1 * BOUNDS.delay_max
    )


def uncertain(
    parameters: Sequence[Parameter], deviations: Mapping[str, float | str]
) -> tuple[Parameter, ...]:
    """Return the parameters with priors about their starts, for values that are not exact.

    Their uncertainty widens the intervals of the other parameters.

    Args:
        parameters: All parameters.
        deviations: Standard deviations by name or pattern such as 'mass.*', in the unit of each, or
            as '5%' of the start, which is 0.05 for a relative parameter that starts at 0.

    Raises:
        IdentificationError: A name is unknown, or a deviation is not a positive number.
    """
    parameters_by_name = {parameter.name: parameter for parameter in parameters}
    for pattern, deviation in deviations.items():
        names = [name for name in parameters_by_name if matches(name, pattern)]
        if not names:
            raise IdentificationError(
                f"There is no parameter '{pattern}'. There are: {', '.join(parameters_by_name)}."
            )
        for name in names:
            known_parameter = parameters_by_name[name]
            parameters_by_name[name] = replace(
                known_parameter,
                prior=Prior(known_parameter.start, _deviation(known_parameter, deviation)),
            )
    return tuple(parameters_by_name.values())


def _deviation(parameter: Parameter, text_or_number: float | str) -> float:
    """Return a deviation in the parameter's unit."""
    text = str(text_or_number).strip()
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = 0.0
    if not 0.0 < number < float("inf"):
        raise IdentificationError(
            f"The uncertainty of '{parameter.name}' is '{text_or_number}'. Expected a positive "
            "standard "
            f"deviation, as a number{f' in {parameter.unit}' if parameter.unit else ''} or as '5%'."
        )
    if not text.endswith("%"):
        return number
    is_relative = parameter.start == 0.0 and parameter.unit == "-"
    if parameter.start == 0.0 and not is_relative:
        raise IdentificationError(
            f"'{parameter.name}' starts at 0, of which '{text_or_number}' is 0. Give its "
            "uncertainty in "
            f"{parameter.unit or 'its unit'}."
        )
    return number / 100.0 * (1.0 if is_relative else abs(parameter.start))


def with_effects(problem: Problem, names: Sequence[str]) -> Problem:
    """Return the problem with effects switched on, whose parameters follow its own.

    Args:
        problem: Problem without these effects.
        names: Names of effects, or patterns such as 'offset.*'; () returns the problem itself.

    Raises:
        IdentificationError: No effect of the problem has such a name, or matches a pattern.
    """
    checked_problem = Problem.checked(problem)
    return (
        WithEffects(
            checked_problem,
            select_effects(effects_of_problem(checked_problem), names, checked_problem.name),
        )
        if names
        else checked_problem
    )


def select_effects(
    effects: Sequence[Effect], names: Sequence[str], location: str
) -> tuple[Effect, ...]:
    """Return the effects that match a name or pattern, in their order.

    Raises:
        IdentificationError: No effect matches one of them.
    """
    effect_names = [effect.name for effect in effects]
    for name in names:
        if not any(matches(effect_name, name) for effect_name in effect_names):
            raise IdentificationError(
                f"{location}: there is no effect '{name}'.{did_you_mean(name, effect_names)} "
                "Known: "
                f"{list_names(effect_names, similar_to=name) or 'none'}."
            )
    return tuple(effect for effect in effects if any(matches(effect.name, name) for name in names))


@dataclass(frozen=True)
class WithEffects(Problem):
    """Problem with effects, otherwise equal to the problem without them."""

    problem: Problem
    """The problem without them."""
    selected_effects: tuple[Effect, ...]
    """The effects."""

    @property
    def name(self) -> str:
        """Name of the problem."""
        return self.problem.name

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Parameters of the problem, then of the effects."""
        return (*self.problem.parameters, *(effect.parameter for effect in self.selected_effects))

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
        """Columns of records of the problem."""
        return self.problem.recorded

    @property
    def scene(self) -> str | Path | Callable[..., Any] | None:
        """Scene of the problem."""
        return self.problem.scene

    @property
    def not_in_scene(self) -> tuple[str, ...]:
        """Parameters outside the scene of the problem, and of the effects."""
        return (*self.problem.not_in_scene, *(effect.name for effect in self.selected_effects))

    @property
    def effects(self) -> tuple[Effect, ...] | None:
        """Effects of the problem."""
        return self.problem.effects

    def experiment(self, recording: Recording) -> Experiment:
        """Return the problem's experiment with the effects; its own definitions take precedence."""
        extended = Experiment.checked(self.problem.experiment(recording))
        known_effects = {effect.name: effect for effect in effects_of(extended)}
        for effect in self.selected_effects:
            extended = known_effects.get(effect.name, effect).add_to(extended)
        return extended

    def from_record(self, path: str | Path) -> Recording | None:
        """Return the recording that the problem makes of a record."""
        return self.problem.from_record(path)

    def scene_values(self, rho: np.ndarray) -> dict[str, Any]:
        """Return the arguments of the problem's scene at its own parameters."""
        return self.problem.scene_values(np.asarray(rho)[: len(self.problem.parameters)])


def names_of(effects: Collection[Effect]) -> str:
    """Return a table of effects: name and unit, a line each."""
    width = max((len(effect.name) for effect in effects), default=0)
    return "\n".join(
        f"{effect.name:<{width}}  {effect.parameter.unit or '-'}" for effect in effects
    )


def read_experiments(
    problem: str, problem_name: str, files: Sequence[str], effects: Sequence[str] = ()
) -> list[Experiment]:
    """Make the experiments of recordings, in each worker of `softctl identify`.

    Args:
        problem: Name of a problem, or FILE.py.
        problem_name: NAME in PROBLEMS of the file, or "" if it has only one.
        files: Recordings, .csv or .mcap.
        effects: Names or patterns of effects that are switched on.

    Raises:
        IdentificationError: The problem does not exist, or data are missing or implausible.
        RecordError: An MCAP file cannot be read.
    """
    problem_with_effects = with_effects(
        load_problem(f"{problem}:{problem_name}" if problem_name else problem), effects
    )
    return [
        Experiment.checked(
            problem_with_effects.experiment(read_recording(file, problem_with_effects))
        )
        for file in files
    ]
