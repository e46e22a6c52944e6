"""Problems with effects switched on by name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.base.suggestions import did_you_mean, some
from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.channel import Channel
from sofa_softctl.identification.data.recording import Recording
from sofa_softctl.identification.effect import Effect, matches
from sofa_softctl.identification.effects.generic import effects_of, effects_of_problem
from sofa_softctl.identification.experiment import Experiment
from sofa_softctl.identification.parameter import Parameter
from sofa_softctl.identification.problem import Problem


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
