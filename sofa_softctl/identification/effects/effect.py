"""Interface of effects: each adds one parameter to an experiment, which is 0 without it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sofa_softctl.identification.parameter import Parameter

if TYPE_CHECKING:
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
