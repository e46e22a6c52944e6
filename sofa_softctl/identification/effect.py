"""Interface of effects: each adds one parameter to an experiment, which is 0 without it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from sofa_softctl.base.suggestions import did_you_mean, some
from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.parameter import Parameter

if TYPE_CHECKING:
    from sofa_softctl.identification.channel import Channel
    from sofa_softctl.identification.experiment import Experiment


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
