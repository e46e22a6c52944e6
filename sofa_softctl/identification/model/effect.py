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
    """Something that a model leaves out: an offset of a sensor, friction in a joint, a delay.

    It can be switched on, to be estimated with the other parameters, and is otherwise tested for.
    """

    parameter: Parameter
    """Its size: 0 without the effect, where its search starts. Its name is that of the effect, such
    as 'offset.b3' or 'friction.elbow'."""

    @property
    def name(self) -> str:
        """Name in commands and reports."""
        return self.parameter.name

    @abstractmethod
    def of(self, experiment: Experiment) -> Experiment:
        """The experiment with this parameter, after its own.

        At 0 its outputs are those of the experiment, bit for bit.

        Raises:
            IdentificationError: The experiment cannot have this effect.
        """


def check_signal(name: str, channels: Sequence[Channel], where: str) -> None:
    """IdentificationError, which begins with `where`, if no channel has that name."""
    known = [one.name for one in channels]
    if name not in known:
        raise IdentificationError(
            f"{where} '{name}'.{did_you_mean(name, known)} Known: {some(known, near=name)}."
        )


def matches(name: str, pattern: str) -> bool:
    """Whether a name is, or matches, a pattern such as 'offset.*'."""
    return name == pattern or fnmatchcase(name, pattern)


@dataclass(frozen=True)
class Refinement:
    """The model of a recorded run with half the time step, or half the size of its elements."""

    name: str
    """Which it is, the same for all experiments of a problem: 'dt', 'mesh', 'links'."""
    of: str
    """What is made finer, for reports: 'time step', 'mesh'."""
    text: str
    """What it is made, for reports: 'with a time step of 5 instead of 10 ms'."""
    make: Callable[[], Experiment]
    """Makes the finer experiment, with the same parameters and data, where it is needed.

    Raises:
        SoftctlError: The model cannot be refined in this way; the message says what to do.
    """
    order: int = 1
    """Order of the error: it falls to 2^-order of itself. The lower one where it is not certain."""
    cost: float = 2.0
    """Estimated time of a simulation, relative to that of the experiment [-]."""

    @property
    def whole(self) -> float:
        """The whole error of the discretisation relative to the change by this refinement [-].

        Source: Richardson 1911; Roache 1994, with the order given.
        """
        return 1.0 / (1.0 - 0.5**self.order)
