"""A chain of two rods as a problem of identification, and simulated recordings of problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.parts import Body, Damper, Joint, Spring
from sofa_softctl.identification.mechanism.problem import MechanismProblem
from sofa_softctl.identification.mechanism.signals import Angle, Force, GivenStart, Output
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.parameter import Parameter
from sofa_softctl.identification.model.recording import Recording

NOISE = 0.02
"""Standard deviation of measured angles [rad]."""
TORQUE_NOISE = 0.03
"""Standard deviation of the recorded torque, if inputs have noise [N m]."""
CHAIN = {"stiffness": 0.5, "friction": 0.01, "angle": 0.8}
"""True parameters."""


def chain(torque_noise: float = 0.0) -> MechanismProblem:
    """Two rods, released and driven, with springs and friction; angles are measured."""
    joints = (Joint("a", axis=(0, 1, 0)), Joint("b", "a", axis=(0, 1, 0), moved=(0, 0, -0.3)))
    rods = Mechanism(
        joints,
        [Body(one.name, 0.2, (0, 0, -0.15), 0.0075) for one in joints],
        [Spring("a", "stiffness"), Spring("b", "stiffness")],
        [Damper("a", "friction"), Damper("b", "friction")],
        parameters=(
            Parameter("stiffness", 0.5, "N m/rad"),
            Parameter("friction", 0.01, "N m s/rad"),
            Parameter("angle", 0.8, "rad", lower=-3.0),
        ),
    )
    outputs = tuple(Output(Angle(n), (Channel(n, "rad", NOISE),)) for n in ("a", "b"))
    torque = Force("a", Channel("torque", "N m", torque_noise))
    return MechanismProblem(
        "two rods", rods, 0.01, outputs, (torque,), start=GivenStart({"a": "angle"})
    )


def driven(
    problem: MechanismProblem,
    rng: np.random.Generator,
    *,
    truth: Mapping[str, float],
    torque: Callable[[np.ndarray], np.ndarray],
    duration: float,
) -> Recording:
    """A run under a torque, with noise of inputs and outputs."""
    time = np.arange(0.0, duration + 0.005, 0.01)
    inputs = torque(time)
    clean = Recording("run", time, inputs, np.zeros((len(time), len(problem.channels))))
    exact = problem.experiment(clean).outputs(np.array(list(truth.values())))
    return replace(
        clean,
        inputs=inputs + noise_of(problem.inputs, inputs, rng),
        outputs=exact + noise_of(problem.channels, exact, rng),
    )


def noise_of(
    channels: tuple[Channel, ...], like: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """White noise of some columns, shape (n_times, n_channels)."""
    return np.array([one.deviation for one in channels]) * rng.standard_normal(like.shape)


def one_torque(time: np.ndarray) -> np.ndarray:
    """Torque of the chains [N m], shape (n_times, 1)."""
    return 0.2 * np.sin(5.0 * time)[:, None]
