"""Effects on mechanisms: native to them, with exact derivatives, also where inputs are unknown."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.effects.selection import (
    BOUNDS,
    delay,
    gain,
    new_effects,
    offset,
)
from sofa_softctl.identification.effects.sensors import SensorDelay
from sofa_softctl.identification.effects.wrapped import ExtendedExperiment
from sofa_softctl.identification.mechanism import kernels
from sofa_softctl.identification.mechanism.experiment import MechanismExperiment
from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.model import MechanismModel
from sofa_softctl.identification.mechanism.parts import (
    Armature,
    Body,
    Damper,
    Friction,
    Point,
    Scaled,
)
from sofa_softctl.identification.mechanism.unknown_inputs import UnknownInputs
from sofa_softctl.identification.model.experiment import Effect, Experiment
from sofa_softctl.identification.model.parameter import Parameter, starts


@dataclass(frozen=True)
class MechanismEffect(Effect):
    """An effect that changes the problem of a mechanism."""

    @abstractmethod
    def add_to_problem(self, problem: MechanismModel) -> MechanismModel:
        """The problem with the effect."""

    def add_to(self, experiment: Experiment) -> Experiment:
        """Return the experiment with the effect, below changes of its signals if there are any."""
        if isinstance(experiment, ExtendedExperiment):
            return experiment.apply_to(self.add_to(experiment.experiment))
        if isinstance(experiment, UnknownInputs):
            within = self.add_to(experiment.smoother.experiment)
            assert isinstance(within, MechanismExperiment)
            return UnknownInputs(within)
        if not isinstance(experiment, MechanismExperiment):
            raise IdentificationError(
                f"{experiment.name}: '{self.name}' is an effect on mechanisms. Got: a model of "
                f"type {type(experiment).__name__}."
            )
        return self.add_to_problem(experiment.problem).experiment(experiment.recording)

    def _with(self, problem: MechanismModel, **parts: Any) -> MechanismModel:
        """Return the problem with the parameter, and further parts of the mechanism."""
        mechanism = problem.mechanism
        parameters = (*mechanism.parameters, self.parameter)
        return replace(problem, mechanism=replace(mechanism, parameters=parameters, **parts))


@dataclass(frozen=True)
class SignalEffect(MechanismEffect):
    """A delay, a gain, an offset or a hold of a recorded signal."""

    kind: str
    """'delay', 'gain', 'offset' or 'hold'."""
    channel: str
    """Name of the signal."""

    @override
    def add_to_problem(self, problem: MechanismModel) -> MechanismModel:
        parameters_by_signal = getattr(problem, self.kind)
        if self.channel in parameters_by_signal:
            raise IdentificationError(
                f"{problem.name}: the {self.kind} of '{self.channel}' is a parameter already, "
                f"'{parameters_by_signal[self.channel]}'."
            )
        changed: dict[str, Any] = {self.kind: {**parameters_by_signal, self.channel: self.name}}
        return replace(self._with(problem), **changed)


@dataclass(frozen=True)
class JointDamping(MechanismEffect):
    """Viscous damping of a joint, in addition to the damping of the model."""

    joint: str
    """Name of the joint."""

    @override
    def add_to_problem(self, problem: MechanismModel) -> MechanismModel:
        damper = Damper(self.joint, self.name)
        return self._with(problem, dampers=(*problem.mechanism.dampers, damper))


@dataclass(frozen=True)
class JointFriction(MechanismEffect):
    """Coulomb friction of a joint, see `Friction`."""

    joint: str
    """Name of the joint."""
    speed: float
    """Speed below which it is viscous [rad / s] or [m / s]."""

    @override
    def add_to_problem(self, problem: MechanismModel) -> MechanismModel:
        friction = Friction(self.joint, self.name, self.speed)
        return self._with(problem, frictions=(*problem.mechanism.frictions, friction))


@dataclass(frozen=True)
class JointArmature(MechanismEffect):
    """Inertia along a joint, such as a rotor behind gears."""

    joint: str
    """Name of the joint."""

    @override
    def add_to_problem(self, problem: MechanismModel) -> MechanismModel:
        armature = Armature(self.joint, self.name)
        return self._with(problem, armatures=(*problem.mechanism.armatures, armature))


@dataclass(frozen=True)
class Payload(MechanismEffect):
    """A point mass at a place of a joint's frame."""

    joint: str
    """Name of the joint."""
    at: tuple[float, ...]
    """Place in its axes [m]."""

    @override
    def add_to_problem(self, problem: MechanismModel) -> MechanismModel:
        body = Body(self.joint, self.name, self.at)
        return self._with(problem, bodies=(*problem.mechanism.bodies, body))


@dataclass(frozen=True)
class JointMass(MechanismEffect):
    """Relative change of the masses that a joint carries itself, where they are numbers."""

    joint: str
    """Name of the joint."""

    @override
    def add_to_problem(self, problem: MechanismModel) -> MechanismModel:
        return self._with(
            problem, bodies=[self._scale_mass(body) for body in problem.mechanism.bodies]
        )

    def _scale_mass(self, body: Body) -> Body:
        if body.joint != self.joint or not isinstance(body.mass, int | float):
            return body
        return replace(body, mass=Scaled(self.name, body.mass, body.mass))


def mechanism_effects(problem: MechanismModel) -> tuple[Effect, ...]:
    """Return all effects of a problem that are not parameters already."""
    effects = (
        *_on_sensors(problem),
        *_on_forces(problem),
        *_on_joints(problem),
        *_on_masses(problem),
    )
    return new_effects(effects, problem.parameters)


def _on_sensors(problem: MechanismModel) -> list[Effect]:
    """Return the effects of recorded outputs, and offsets of coordinates of the feedback."""
    outputs = problem.channels
    fed = problem.feedback.channels if problem.feedback else ()
    signals = {signal.name: signal for signal in (*outputs, *fed)}.values()
    return [
        *(SignalEffect(gain(output.name), "gain", output.name) for output in outputs),
        *(SignalEffect(offset(signal), "offset", signal.name) for signal in signals),
        *(SensorDelay(delay(output.name), output.name) for output in outputs),
    ]


def _on_forces(problem: MechanismModel) -> list[Effect]:
    channels = [force.channel for force in problem.forces]
    late = [channel.name for channel in channels if channel.name not in problem.delay]
    return [
        *(SignalEffect(gain(channel.name), "gain", channel.name) for channel in channels),
        *(SignalEffect(offset(channel), "offset", channel.name) for channel in channels),
        *(SignalEffect(delay(name), "delay", name) for name in late),
        *(SignalEffect(_hold(channel.name), "hold", channel.name) for channel in channels),
    ]


def _hold(name: str) -> Parameter:
    return Parameter(f"hold.{name}", 0.0, "-", 0.0, 1.0, size=1.0)


def _on_joints(problem: MechanismModel) -> list[Effect]:
    """Damping, friction and armature; typical sizes act as much as inertia within a second."""
    mechanism, effects = problem.mechanism, list[Effect]()
    sliding = {joint.name: joint.sliding for joint in mechanism.joints}
    for joint, inertia in zip(mechanism.coordinates, _inertias(mechanism), strict=True):
        linear = sliding[joint]
        units = ("N s/m", "N", "kg") if linear else ("N m s/rad", "N m", "kg m^2")
        kinds = zip(("damping", "friction", "armature"), units, strict=True)
        damping, friction, armature = (
            Parameter(f"{kind}.{joint}", 0.0, unit, size=inertia) for kind, unit in kinds
        )
        effects.append(JointDamping(damping, joint))
        effects.append(JointFriction(friction, joint, problem.friction_speed))
        effects.append(JointArmature(armature, joint))
    return effects


def _inertias(mechanism: Mechanism) -> list[float]:
    """Return the inertia about each coordinate at zero, or 1 without inertia."""
    still = np.zeros(len(mechanism.coordinates))
    L = kernels.lagrangian(mechanism.tree, starts(mechanism.parameters), still, still, False)
    return [float(inertia) or 1.0 for inertia in np.diag(L.vv)[mechanism.tree.joint]]


def _on_masses(problem: MechanismModel) -> list[Effect]:
    """Payloads, then relative changes of masses that are numbers."""
    bodies = problem.mechanism.bodies
    masses = [body.mass for body in bodies if isinstance(body.mass, int | float)]
    size = 0.1 * sum(masses) or None
    fixed = {body.joint: 0 for body in bodies if isinstance(body.mass, int | float) and body.mass}
    relative = [
        JointMass(Parameter(f"mass.{name}", 0.0, "-", lower=BOUNDS.gain_min, size=0.1), name)
        for name in fixed
    ]
    payloads = [
        Payload(Parameter(f"payload.{name}", 0.0, "kg", size=size), name, tuple(map(float, at)))
        for name, at in _payload_places(problem).items()
    ]
    return [*payloads, *relative]


def _payload_places(problem: MechanismModel) -> dict[str, Sequence[float]]:
    """Joints to the place of their payload, in their axes."""
    if problem.payload_at:
        return dict(problem.payload_at)
    parents = {joint.parent for joint in problem.mechanism.joints}
    bodies = problem.mechanism.bodies
    places = {body.joint: body.center for body in bodies if body.joint not in parents}
    markers = [output.reading for output in problem.outputs if isinstance(output.reading, Point)]
    return places | {marker.joint: marker.at for marker in markers if marker.joint}
