"""Robots of the study: arms and chains whose sizes, masses and motions are drawn at random."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.parts import (
    Body,
    Damper,
    Joint,
    Point,
    Scaled,
    Spring,
)
from sofa_softctl.identification.mechanism.problem import MechanismProblem
from sofa_softctl.identification.mechanism.signals import (
    Angle,
    EquilibriumStart,
    Force,
    GivenStart,
    Output,
)
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.parameter import Parameter

DT = 0.005
"""Default time step of the models [s]."""
DURATION = 4.0
"""Of the motions [s]."""
TORQUE_NOISE, ANGLE_NOISE = 0.2, 0.005
"""Standard deviations of an arm's recorded torques [N m] and measured angles [rad]."""
FORCE_NOISE, MARKER_NOISE = 0.2, 0.001
"""Of a chain's recorded force [N] and measured positions [m]."""


@dataclass(frozen=True, eq=False)
class Robot:
    """A problem, its true parameters, and the forces of a motion."""

    problem: MechanismProblem
    """The model with unknown parameters."""
    truth: np.ndarray
    """True parameters, shape (n_rho,)."""
    forces: Callable[[np.ndarray], np.ndarray]
    """Applied forces [N] or [N m] at times [s], shapes (n,) to (n, n_forces)."""
    duration: float = DURATION
    """Of the motion [s]."""


def arm(seed: int, *, dt: float = DT, torque_noise: float = TORQUE_NOISE) -> Robot:
    """An arm of three joints about two axes, driven at each, with a payload.

    Unknown are the payload, the stiffness of springs at base and shoulder, and friction.

    Args:
        seed: Of lengths, masses, stiffness, friction and motion.
        dt: Time step of the model [s].
        torque_noise: Standard deviation of recorded torques [N m]; 0: they are exact.
    """
    rng = np.random.default_rng(seed)
    upper, fore = rng.uniform(0.2, 0.4, 2)
    joints = (
        Joint("base", axis=(0, 0, 1)),
        Joint("shoulder", "base", axis=(0, 1, 0), moved=(0, 0, 0.3)),
        Joint("elbow", "shoulder", axis=(0, 1, 0), moved=(0, 0, -upper)),
    )
    bodies = (
        Body("base", rng.uniform(1.0, 3.0), gyration=0.01),
        Body("shoulder", rng.uniform(0.6, 1.5), (0, 0, -0.5 * upper), _rod(upper)),
        Body("elbow", rng.uniform(0.4, 0.8), (0.02, 0, -0.5 * fore), _rod(fore)),
        Body("elbow", "payload", (0, 0, -fore), 1e-4),
    )
    truth = {
        "payload": rng.uniform(0.2, 0.5),
        "stiffness": rng.uniform(1.0, 4.0),
        "friction": rng.uniform(0.05, 0.15),
    }
    links = Mechanism(
        joints,
        bodies,
        [Spring("base", "stiffness"), Spring("shoulder", Scaled("stiffness", 0.5))],
        [Damper(one.name, "friction") for one in joints],
        parameters=tuple(
            Parameter(name, value, unit)
            for (name, value), unit in zip(
                truth.items(), ("kg", "N m/rad", "N m s/rad"), strict=True
            )
        ),
    )
    problem = MechanismProblem(
        f"arm {seed}",
        links,
        dt,
        tuple(Output(Angle(j.name), (Channel(j.name, "rad", ANGLE_NOISE),)) for j in joints),
        tuple(Force(j.name, Channel(f"t_{j.name}", "N m", torque_noise)) for j in joints),
    )
    return Robot(problem, np.array(list(truth.values())), _waves(rng, (1.0, 2.0, 0.7)))


def chain(
    seed: int,
    *,
    dt: float = DT,
    force_noise: float = FORCE_NOISE,
    released: bool = False,
    own: bool = False,
) -> Robot:
    """A bent chain of 4 to 10 links that hangs from a cart, which a force pulls to and fro.

    Joints bend about two axes in turn. Unknown are the stiffness and damping of the joints, the
    angle at which their springs rest, and a mass at the tip. Cart and tip are measured.

    Args:
        seed: Of the number of links, lengths, masses, stiffness, damping and motion.
        dt: Time step of the model [s].
        force_noise: Standard deviation of the recorded force [N]; 0: it is exact.
        released: Start straight and at rest, to be let go, not in equilibrium.
        own: Each joint has an unknown stiffness of its own, not all the same.
    """
    rng = np.random.default_rng(1000 + seed)
    links, length = int(rng.integers(4, 11)), rng.uniform(0.06, 0.12)
    names = tuple(f"link{k}" for k in range(links))
    joints = [Joint("cart", axis=(1, 0, 0), sliding=True)]
    for k, name in enumerate(names):
        axis = (0, 1, 0) if k % 2 == 0 else (1, 0, 0)
        joints.append(Joint(name, joints[-1].name, axis, moved=(0, 0, -length if k else 0)))
    truth = {
        "stiffness": rng.uniform(0.3, 1.0),
        "damping": rng.uniform(0.004, 0.012),
        "rest": rng.uniform(0.08, 0.2),
        "tip": rng.uniform(0.03, 0.1),
    }
    mass, center = rng.uniform(0.02, 0.06), (0, 0, -0.5 * length)
    units = dict(zip(truth, ("N m/rad", "N m s/rad", "rad", "kg"), strict=True))
    stiffness = {name: "stiffness" for name in names}
    forces = _waves(rng, (2.0,))
    if own:
        shared = truth.pop("stiffness")
        stiffness = {name: f"stiffness.{name}" for name in names}
        truth |= {one: shared * rng.uniform(0.7, 1.4) for one in stiffness.values()}
        units |= dict.fromkeys(stiffness.values(), units["stiffness"])
    mechanism = Mechanism(
        joints,
        [Body("cart", 0.5, gyration=0.01)]
        + [Body(name, mass, center, _rod(length)) for name in names]
        + [Body(names[-1], "tip", (0, 0, -length), 1e-4)],
        [Spring("cart", 10.0)]
        + [Spring(n, stiffness[n], Scaled("rest", (1.0, 0.5)[k % 2])) for k, n in enumerate(names)],
        [Damper("cart", 0.5)] + [Damper(name, "damping") for name in names],
        parameters=tuple(Parameter(name, value, units[name]) for name, value in truth.items()),
    )
    tip = Point(names[-1], (0, 0, -length))
    problem = MechanismProblem(
        f"chain {seed}",
        mechanism,
        dt,
        (
            Output(Angle("cart"), (Channel("cart", "m", MARKER_NOISE),)),
            Output(tip, tuple(Channel(f"tip.{a}", "m", MARKER_NOISE) for a in "xyz")),
        ),
        (Force("cart", Channel("pull", "N", force_noise)),),
        start=GivenStart() if released else EquilibriumStart({n: 0.1 for n in names}),
    )
    return Robot(problem, np.array(list(truth.values())), forces)


ROBOTS: dict[str, Callable[..., Robot]] = {"arm": arm, "chain": chain}
"""Robots by kind, from a seed."""


def _rod(length: float) -> tuple[float, float, float]:
    """Inertia of a thin rod along z for each kilogram [m^2], 1 cm thick."""
    return (length**2 / 12.0, length**2 / 12.0, 1e-4 / 8.0)


def _waves(
    rng: np.random.Generator, sizes: tuple[float, ...]
) -> Callable[[np.ndarray], np.ndarray]:
    """Two sines for each force, which begin at zero; slow and gentle to fast and violent."""
    amplitude = rng.uniform(0.5, 2.0) * np.array(sizes) * rng.uniform(0.3, 0.6, (2, len(sizes)))
    rate = rng.uniform([[2.0], [5.0]], [[5.0], [12.0]], (2, len(sizes)))
    return lambda time: (amplitude * np.sin(rate * time[:, None, None])).sum(axis=1)
