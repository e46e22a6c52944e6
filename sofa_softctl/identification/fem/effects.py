"""Effects on robots in scenes: payloads, relative changes of masses, damping of the integrator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.effects.selection import BOUNDS, new_effects
from sofa_softctl.identification.effects.wrapped import ExtendedExperiment
from sofa_softctl.identification.fem.experiment import FemExperiment
from sofa_softctl.identification.fem.model import FemModel
from sofa_softctl.identification.fem.parameter import FemParameter, with_unit
from sofa_softctl.identification.fem.sensing import Marker, point
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
class PayloadSettings:
    """Places and sizes of payloads that are tested."""

    typical_ratio: float = 0.1
    """Typical mass of a payload, relative to all masses of the scene [-]."""
    section_width: float = 0.05
    """Half the width of a cross-section, relative to the height of the free end [-]."""
    free_fraction_min: float = 0.5
    """Smallest fraction of a payload at nodes that are not fixed [-]; below, it does little."""
    distance_min: float = 0.08
    """Smallest distance between two places, relative to the robot's size [-]: data hardly tell
    closer ones apart."""


PAYLOAD_SETTINGS = PayloadSettings()
HEIGHTS = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4)
"""Heights of tested payloads, below the free end [-]."""


@dataclass(frozen=True)
class FemEffect(Effect):
    """A further parameter of a scene; its `parameter` is a `FemParameter`."""

    simulations: ClassVar[float] = 1.5
    """With the time to build the scene with it."""

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
    fitted = problem.derivative.parameters
    kinds = {type(parameter) for parameter in fitted}
    known_masses = {id(parameter.mass) for parameter in fitted if isinstance(parameter, TotalMass)}
    scene_masses = problem.model.masses
    masses = [m for m in problem.model.step.system.masses if m.getPathName() in scene_masses]
    parameters = _payloads(problem)
    parameters += [
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
        parameters.append(
            FemParameter("rayleigh.stiffness", 0.0, of=_rayleigh_stiffness, quantity="time")
        )
    if RayleighMass not in kinds:
        parameters.append(FemParameter("rayleigh.mass", 0.0, of=_rayleigh_mass, quantity="1/time"))
    units, scene = problem.units, str(problem.scene)
    if units is None:  # a number without a unit would be shown in percent
        parameters = [replace(p, unit=p.unit or p.quantity) for p in parameters]
    effects = [FemEffect(with_unit(p, units, scene)) for p in parameters]
    return new_effects(effects, problem.parameters)


def _payloads(problem: FemModel) -> list[FemParameter]:
    """Return a payload at each place."""
    size = PAYLOAD_SETTINGS.typical_ratio * sum(problem.model.masses.values()) or None
    return [
        FemParameter(
            f"payload.{name}", 0.0, of=partial(_payload, place=place), quantity="mass", size=size
        )
        for name, place in _payload_places(problem).items()
    ]


Place = Callable[[StepModel], np.ndarray]
"""Function that returns each node's fraction of a payload in a model of the scene, shape (n,)."""


def _payload_places(problem: FemModel) -> dict[str, Place]:
    """Return the places of `payload_at`, or cross-sections and markers, far from each other."""
    if problem.payload_at:
        return {
            name: partial(_point_weights, marker=Marker(name, at=at))
            for name, at in problem.payload_at.items()
        }
    markers = [sensor for sensor in problem.sensors if isinstance(sensor, Marker)]
    candidates: dict[str, Place] = {
        "free_end": partial(_cross_section, height=1.0),
        **{f"{height:.0%}": partial(_cross_section, height=height) for height in HEIGHTS},
        **{marker.name: partial(_point_weights, marker=marker) for marker in markers},
    }
    model, places, fractions = problem.model, dict[str, Place](), list[np.ndarray]()
    is_fixed = model.step.system.fixed.all(axis=1)
    for name, place in candidates.items():
        nodes = place(model)
        if np.abs(nodes[~is_fixed]).sum() < PAYLOAD_SETTINGS.free_fraction_min:
            continue
        distances = [np.linalg.norm((nodes - chosen) @ model.step.x0) for chosen in fractions]
        if min(distances, default=np.inf) > PAYLOAD_SETTINGS.distance_min * model.extent:
            places[name] = place
            fractions.append(nodes)
    return places


def _cross_section(model: StepModel, height: float) -> np.ndarray:
    """Share a payload by the nodes about a height on the line from the fixed nodes to the centre.

    Args:
        model: Model of the scene.
        height: Fraction of the height of the farthest nodes [-].
    """
    x, is_fixed = model.step.x0, model.step.system.fixed.all(axis=1)
    if not is_fixed.any():
        return np.zeros(len(x))
    foot = x[is_fixed].mean(axis=0)
    heights = (x - foot) @ (x.mean(axis=0) - foot)
    distances = np.abs(heights / max(float(heights.max()), np.finfo(float).tiny) - height)
    width = max(PAYLOAD_SETTINGS.section_width, 1.5 * float(distances.min()))
    weights = np.maximum(1.0 - distances / width, 0.0)
    return np.asarray(weights / weights.sum())


def _point_weights(model: StepModel, marker: Marker) -> np.ndarray:
    return np.asarray(point(model, marker).toarray()[0])


def _payload(model: StepModel, place: Place) -> StepParameter:
    return model.payload(place(model))


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
