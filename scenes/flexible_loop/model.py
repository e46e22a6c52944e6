"""Model of a flexible loop of rigid links, held by an arm at its top and clamped at its bottom.

The loop hangs in the y-z plane of the hand. From the link in the hand, two chains run down to the
clamped link, one on each side; each joint turns by theta about x, in the loop's plane, then by psi
about y, out of it. With all angles zero it is a regular polygon around the circle of the loop,
which it touches in the hand and at the clamp.

Source: Caldwell, Coleman, Correll 2014, section IV-B: 12 links, 31 coordinates with the arm's, 12
constraints, 6 for each chain.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.mechanism import kernels
from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.parts import (
    Body,
    Clamp,
    Damper,
    Joint,
    Number,
    Scaled,
    Spring,
)
from sofa_softctl.identification.model.parameter import Parameter

from . import baxter

RADIUS = 0.355
"""Radius of the loop [m]."""
MASS = 0.132
"""Mass of the loop [kg]."""
TUBE = 0.02
"""Radius of its tube, for the inertia of links about their axes [m]."""
LINKS = 12
"""Links of the paper's model, to which stiffnesses refer."""
POSTURE = np.array([0.1, -0.75, 0.0, 1.8, 0.0, 0.5 * np.pi - 1.05, 0.0])
"""Posture of the arm, hand down, when the loop is a circle between hand and clamp [rad]."""
STIFFNESSES = (
    Parameter("kappa_theta", 5.0, "N m/rad", lower=1e-3),
    Parameter("kappa_psi", 5.0, "N m/rad", lower=1e-3),
)
"""The paper's parameters and their starts."""


def arm_with_loop(
    links: int = LINKS,
    *,
    stiffness: tuple[Number, Number] = ("kappa_theta", "kappa_psi"),
    damping: Number = 0.0,
    parameters: tuple[Parameter, ...] = STIFFNESSES,
) -> Mechanism:
    """The arm, the loop in its hand, and the clamp.

    Args:
        links: Even number of links; 12 links have 31 coordinates, 6 have 19.
        stiffness: Stiffness of the springs about x and y for 12 links; a joint's grows with
            the number of links, as links get shorter [N m / rad].
        damping: Damping of each coordinate of the loop, for 12 links [N m s / rad].
        parameters: Unknown parameters.

    Raises:
        IdentificationError: The number of links is odd, or below 6.
    """
    if links < 6 or links % 2:
        raise IdentificationError(f"A loop needs an even number of links, 6 or more. Got {links}.")
    chains = [name for side in "lr" for name in _names(side, links)]
    joints = [*baxter.joints(), *_chain("l", links), *_chain("r", links)]
    length, mass = link_length(links), MASS / links
    across, about = length**2 / 4.0 + TUBE**2 / 2.0, TUBE**2
    carried = [n for side in "lr" for n in _names(side, links)[1:-1:2]]
    bodies = [
        *baxter.bodies(),
        Body(baxter.JOINTS[-1], mass, baxter.HAND, (across, about, across)),
        *(Body(name, mass, (0.0, 0.0, 0.5 * length), (across, across, about)) for name in carried),
    ]
    finer = links / LINKS
    springs = [Spring(n, _times(stiffness["psi" in n], finer)) for n in chains]
    dampers = [Damper(name, _times(damping, finer)) for name in chains] if damping else []
    return Mechanism(
        joints=joints,
        bodies=bodies,
        springs=springs,
        dampers=[*baxter.dampers(), *dampers],
        constraints=_clamps(joints, links),
        parameters=parameters,
    )


def link_length(links: int) -> float:
    """Side of the polygon around the loop's circle [m]."""
    return 2.0 * RADIUS * float(np.tan(np.pi / links))


def _names(side: str, links: int) -> list[str]:
    """Names of the coordinates of one chain, from the hand to the clamp."""
    return [f"{angle}_{side}{k}" for k in range(1, links // 2 + 1) for angle in ("theta", "psi")]


def _chain(side: str, links: int) -> list[Joint]:
    """The joints of one side; links lie along the z axes of their frames."""
    length, corner = link_length(links), 2.0 * np.pi / links
    out = 1.0 if side == "l" else -1.0
    # z along the link in the hand, outward; x stays, so y is -z of the hand on the left side.
    first = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, out], [0.0, -out, 0.0]])
    s, c = np.sin(out * corner), np.cos(out * corner)
    bend = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
    links_of_half, parent = [], baxter.JOINTS[-1]
    moved, turned = np.array(baxter.HAND) + [0.0, 0.5 * out * length, 0.0], first @ bend
    names = _names(side, links)
    for theta, psi in zip(names[::2], names[1::2], strict=True):
        place = tuple(moved.tolist())
        links_of_half.append(Joint(theta, parent, axis=(1.0, 0.0, 0.0), moved=place, turned=turned))
        links_of_half.append(Joint(psi, theta, axis=(0.0, 1.0, 0.0)))
        parent, moved, turned = psi, np.array([0.0, 0.0, length]), bend
    return links_of_half


def _clamps(joints: list[Joint], links: int) -> list[Clamp]:
    """Clamps of both ends, opposite to the hand of `POSTURE` on the circle."""
    arm = Mechanism(joints)
    q = np.concatenate([POSTURE, np.zeros(len(joints) - len(POSTURE))])
    at = kernels.frames(arm.tree, np.zeros(0), q)
    wrist = arm.frame(baxter.JOINTS[-1])
    below = np.array(baxter.HAND) + [0.0, 0.0, 2.0 * RADIUS]
    place = at.x[wrist] + at.R[wrist] @ below
    middle = (0.0, 0.0, 0.5 * link_length(links))
    ends = [_names(side, links)[-1] for side in "lr"]
    return [Clamp(end, middle, at_other=tuple(place), turned=at.R[arm.frame(end)]) for end in ends]


def _times(number: Number, factor: float) -> Number:
    if isinstance(number, str):
        return Scaled(number, factor)
    if isinstance(number, Scaled):
        return Scaled(number.parameter, factor * number.factor, factor * number.constant)
    return factor * number
