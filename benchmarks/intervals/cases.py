"""Cases of the coverage study: models that recorded themselves, with noise as declared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from scenes.flexible_loop.problem import LoopProblem
from scenes.flexible_loop.recording import Noise, record
from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.parts import Body, Damper, Joint, Scaled, Spring
from sofa_softctl.identification.mechanism.problem import MechanismProblem
from sofa_softctl.identification.mechanism.signals import Angle, Force, Output
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.parameter import Parameter
from sofa_softctl.identification.model.problem import Problem
from sofa_softctl.identification.model.recording import Recording
from tests.support.chains import CHAIN, TORQUE_NOISE, chain, driven, one_torque


@dataclass(frozen=True)
class Case:
    """A problem, its true parameters, and recordings of it."""

    problem: Callable[[], Problem]
    """Makes the problem."""
    truth: Mapping[str, float]
    """True parameters."""
    recording: Callable[[Any, np.random.Generator], Recording | list[Recording]]
    """Makes recordings of the problem with new noise."""
    budget: bool = False
    """Whether intervals are also widened by the error of the discretisation."""
    starts: int = 1
    """Number of starts of each estimate."""


def arm() -> MechanismProblem:
    """An arm of three joints about two axes, driven at each by a noisy torque, with a payload."""
    joints = (
        Joint("base", axis=(0, 0, 1)),
        Joint("shoulder", "base", axis=(0, 1, 0), moved=(0, 0, 0.3)),
        Joint("elbow", "shoulder", axis=(0, 1, 0), moved=(0, 0, -0.3)),
    )
    links = Mechanism(
        joints,
        [
            Body("base", 2.0, gyration=0.01),
            Body("shoulder", 1.0, (0, 0, -0.15), 0.008),
            Body("elbow", 0.6, (0, 0, -0.12), 0.006),
            Body("elbow", "payload", (0, 0, -0.25), 1e-4),
        ],
        [Spring("base", "stiffness"), Spring("shoulder", Scaled("stiffness", 0.5))],
        [Damper(one.name, "friction") for one in joints],
        parameters=(
            Parameter("payload", 0.3, "kg"),
            Parameter("stiffness", 2.0, "N m/rad"),
            Parameter("friction", 0.05, "N m s/rad"),
        ),
    )
    outputs = tuple(Output(Angle(j.name), (Channel(j.name, "rad", 0.005),)) for j in joints)
    torques = tuple(Force(j.name, Channel(f"torque_{j.name}", "N m", 0.2)) for j in joints)
    return MechanismProblem("arm of three joints", links, 0.01, outputs, torques)


def three_torques(time: np.ndarray) -> np.ndarray:
    """Torques of the arm [N m], shape (n_times, 3)."""
    return np.column_stack([a * np.sin(w * time) for a, w in ((2.0, 4.0), (3.0, 3.0), (1.0, 7.0))])


def _touched(
    problem: LoopProblem, rng: np.random.Generator, *, truth: Mapping[str, float]
) -> Recording:
    """A loop of as many links as the model's, without friction."""
    theta, psi = truth.values()
    seed = int(rng.integers(2**31))
    return record(
        links=problem.links, stiffness=(theta, psi), friction=0.0, noise=Noise(), seed=seed
    )


ARM = {"payload": 0.3, "stiffness": 2.0, "friction": 0.05}
LOOP = {"kappa_theta": 4.4, "kappa_psi": 1.0}
_CHAIN = partial(driven, truth=CHAIN, torque=one_torque, duration=2.0)
CASES = {
    "outputs": Case(chain, CHAIN, _CHAIN),
    "inputs too": Case(partial(chain, TORQUE_NOISE), CHAIN, _CHAIN),
    "loud inputs": Case(partial(chain, 10.0 * TORQUE_NOISE), CHAIN, _CHAIN),
    "arm": Case(arm, ARM, partial(driven, truth=ARM, torque=three_torques, duration=4.0)),
    "loop of 6": Case(partial(LoopProblem, 6), LOOP, partial(_touched, truth=LOOP)),
    "loop of 12": Case(LoopProblem, LOOP, partial(_touched, truth=LOOP), starts=4),
}
"""Noise of outputs, of inputs too, and ten times that of inputs; an arm; the paper's loop."""
