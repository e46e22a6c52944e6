"""Interfaces of the effects and refinements of an experiment."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from sofa_softctl.base.suggestions import did_you_mean, some
from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.model.parameter import Parameter

if TYPE_CHECKING:
    from sofa_softctl.identification.model.channel import Channel
    from sofa_softctl.identification.model.experiment import Experiment


@dataclass(frozen=True)
class Effect(ABC):
    """Term that a model leaves out: an offset of a sensor, friction in a joint, a delay.

    An effect that is switched on is estimated with the other parameters; the others are tested for.
    """

    parameter: Parameter
    """Size of the effect; searches start at 0, without the effect. The name of the parameter is
    also the name of the effect, such as 'offset.b3' or 'friction.elbow'."""

    @property
    def name(self) -> str:
        """Name in commands and reports."""
        return self.parameter.name

    @abstractmethod
    def add_to(self, experiment: Experiment) -> Experiment:
        """Return the experiment with this parameter as its last one.

        With the parameter at 0, the outputs equal those of the experiment bit for bit.

        Raises:
            IdentificationError: The experiment cannot have this effect.
        """


def check_signal(name: str, channels: Sequence[Channel], location: str) -> None:
    """Raise IdentificationError, which begins with `location`, if no channel has that name."""
    valid_names = [channel.name for channel in channels]
    if name not in valid_names:
        raise IdentificationError(
            f"{location} '{name}'.{did_you_mean(name, valid_names)} Known: "
            f"{some(valid_names, near=name)}."
        )


def matches(name: str, pattern: str) -> bool:
    """Return True if a name equals or matches a pattern such as 'offset.*'."""
    return name == pattern or fnmatchcase(name, pattern)


@dataclass(frozen=True)
class Refinement:
    """The model of a recorded run with half the time step, or half the size of its elements."""

    name: str
    """Name, the same for all experiments of a problem: 'dt', 'mesh', 'links'."""
    of: str
    """Refined quantity, for reports: 'time step', 'mesh'."""
    text: str
    """Description for reports: 'with a time step of 5 instead of 10 ms'."""
    make: Callable[[], Experiment]
    """Function that makes the finer experiment, with the same parameters and data.

    Raises:
        SoftctlError: The model cannot be refined in this way; the message says what to do.
    """
    order: int = 1
    """Order p of the discretisation error, which falls by 2^-p; the lower value if uncertain."""
    cost: float = 2.0
    """Estimated time of a simulation divided by the time of the unrefined experiment [-]."""

    @property
    def error_per_change(self) -> float:
        """Whole discretisation error divided by the change due to this refinement [-].

        Source: Richardson 1911; Roache 1994, with the order given.
        """
        return 1.0 / (1.0 - 0.5**self.order)
