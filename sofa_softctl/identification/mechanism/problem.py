"""Identification problems of mechanisms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from typing_extensions import override

from sofa_softctl.identification.mechanism.effects import mechanism_effects
from sofa_softctl.identification.mechanism.experiment import MechanismExperiment
from sofa_softctl.identification.mechanism.model import MechanismModel
from sofa_softctl.identification.mechanism.unknown_inputs import UnknownInputs
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.recording import Recording

if TYPE_CHECKING:
    from sofa_softctl.identification.model.experiment import Effect


@dataclass(frozen=True, eq=False)
class MechanismProblem(MechanismModel):
    """A mechanism with unknown parameters, recorded forces and measured outputs.

    Raises:
        IdentificationError: A name is unknown.
    """

    @property
    def effects(self) -> tuple[Effect, ...]:
        """Effects on signals, joints and bodies that could be switched on."""
        return mechanism_effects(self)

    def experiment(self, recording: Recording) -> MechanismExperiment:
        """The model of one recorded run.

        Raises:
            IdentificationError: The recording is too short.
        """
        return MechanismExperiment(self, recording)

    @override
    def with_unknown_inputs(self, experiment: Experiment) -> Experiment:
        assert isinstance(experiment, MechanismExperiment)
        return UnknownInputs(experiment)
