"""Effects on robots in scenes: relative change of a mass, and more damping of the integrator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.effects.selection import BOUNDS, new_effects
from sofa_softctl.identification.effects.wrapped import ExtendedExperiment
from sofa_softctl.identification.fem.experiment import FemExperiment
from sofa_softctl.identification.fem.model import FemModel
from sofa_softctl.identification.fem.parameter import FemParameter, with_unit
from sofa_softctl.identification.model.experiment import Effect, Experiment
from sofa_softctl.scene.copies.step_model import (
    ParameterDerivatives,
    RayleighMass,
    RayleighStiffness,
    StepModel,
    StepParameter,
    StepResidual,
    TotalMass,
)


@dataclass(frozen=True)
class FemEffect(Effect):
    """A further parameter of a scene; its `parameter` is a `FemParameter`."""

    def add_to(self, experiment: Experiment) -> Experiment:
        """Return the experiment with the effect, below changes of its signals if there are any."""
        if isinstance(experiment, ExtendedExperiment):
            return experiment.apply_to(self.add_to(experiment.experiment))
        if not isinstance(experiment, FemExperiment):
            raise IdentificationError(
                f"{experiment.name}: '{self.name}' is an effect on robots in scenes. Got: a model "
                f"of type {type(experiment).__name__}."
            )
        return FemExperiment(
            self._extend_problem(experiment.problem), experiment.recording, experiment.frame
        )

    def _extend_problem(self, problem: FemModel) -> FemModel:
        """Return the problem with the parameter in a separate scene, common to all recordings."""
        parameter = self.parameter
        assert isinstance(parameter, FemParameter)
        problems_by_name: dict[str, FemModel] = problem.__dict__.setdefault("_affected", {})
        if self.name not in problems_by_name:
            problems_by_name[self.name] = replace(
                problem, parameters=(*problem.parameters, parameter)
            )
        return problems_by_name[self.name]


def fem_effects(problem: FemModel) -> tuple[Effect, ...]:
    """Return the effects on the scene of a problem that are not parameters already."""
    parameters = problem.derivative.parameters
    kinds = {type(parameter) for parameter in parameters}
    known_masses = {
        id(parameter.mass) for parameter in parameters if isinstance(parameter, TotalMass)
    }
    masses = problem.model.step.system.masses
    effect_parameters = [
        FemParameter(
            f"mass.{mass.getPathName().strip('/')}",
            0.0,
            "-",
            BOUNDS.gain_min,
            of=partial(_mass, path=mass.getPathName()),
            size=0.1,
        )
        for mass in masses
        if id(mass) not in known_masses
    ]
    if RayleighStiffness not in kinds:
        effect_parameters.append(
            FemParameter("rayleigh.stiffness", 0.0, of=_rayleigh_stiffness, quantity="time")
        )
    if RayleighMass not in kinds:
        effect_parameters.append(
            FemParameter("rayleigh.mass", 0.0, of=_rayleigh_mass, quantity="1/time")
        )
    effect_parameters_with_units = [
        with_unit(parameter, problem.units, str(problem.scene)) for parameter in effect_parameters
    ]
    return new_effects(
        [FemEffect(parameter) for parameter in effect_parameters_with_units], problem.parameters
    )


class ScaledChange:
    """A change of a step's parameter from its value in the scene: value + factor * change."""

    def __init__(self, of: StepParameter, factor: float) -> None:
        self.of, self.factor, self.value = of, factor, of.get()

    def get(self) -> float:
        """Present change in the scene."""
        return (self.of.get() - self.value) / self.factor

    def set(self, value: float) -> None:
        """Set the change in the scene."""
        self.of.set(self.value + self.factor * value)

    def allowed(self, value: float) -> bool:
        """Return True if a step can be computed with that value."""
        return self.of.allowed(self.value + self.factor * value)

    def residual(self, step: StepResidual) -> np.ndarray:
        """dr/d(parameter) for the step of the last `at`, shape (n, 3)."""
        return self.factor * self.of.residual(step)

    def collect(self, sums: ParameterDerivatives) -> float:
        """Return the derivative by the change."""
        return self.factor * self.of.collect(sums)


def _mass(model: StepModel, path: str) -> StepParameter:
    total = model.total_mass(path=path)
    return ScaledChange(total, total.get())


def _rayleigh_stiffness(model: StepModel) -> StepParameter:
    return ScaledChange(model.rayleigh_stiffness(), 1.0)


def _rayleigh_mass(model: StepModel) -> StepParameter:
    return ScaledChange(model.rayleigh_mass(), 1.0)
