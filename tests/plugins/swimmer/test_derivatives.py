"""Derivatives by the joint angles against central differences of the same discrete equations."""

import numpy as np
import pytest
from softctl_swimmer import (
    Flow,
    FlowInertia,
    Hinge,
    IsolatedInertia,
    Link,
    Swimmer,
    added_mass_derivative,
    added_mass_of,
    fish,
)

STEP = 1e-5


def branched():
    """A body with two arms, one of two links, axes askew: what a chain in a plane would not see."""
    body, arm = Link((0.1, 0.06, 0.05)), Link((0.06, 0.02, 0.03), density=1500.0)
    return Swimmer(
        (body, arm, arm, arm),
        (
            Hinge(0, (-0.13, 0.0, 0.0), (0.09, 0.0, 0.01), (0.1, 0.3, 1.0)),
            Hinge(0, (0.13, 0.02, 0.0), (-0.09, 0.0, 0.0), (0.0, 1.0, 0.2)),
            Hinge(1, (-0.08, 0.0, 0.0), (0.08, 0.0, 0.0), (1.0, 0.2, -0.4)),
        ),
    )


def central(function, angles):
    steps = STEP * np.eye(len(angles))
    ahead_and_behind = [(function(angles + d), function(angles - d)) for d in steps]
    return np.stack([(a - b) / (2 * STEP) for a, b in ahead_and_behind], axis=-1)


def agree(derivative, differences):
    """Truncation 1e-10 of the third derivative, rounding 1e-16 / 1e-5: 1e-8 of the largest."""
    assert derivative == pytest.approx(differences, abs=1e-8 * np.abs(differences).max())


@pytest.mark.soak
@pytest.mark.parametrize("swimmer", [fish(), branched()], ids=["fish", "branched"])
def test_derivatives_of_potentials_and_added_mass(swimmer):
    angles, flow = np.array([0.4, -0.6, 0.5]), Flow.from_swimmer(swimmer, 62)
    solution = flow.solve(angles)
    df = flow.derivative(solution)
    agree(df, central(lambda q: flow.solve(q).f, angles))
    agree(
        added_mass_derivative(flow, angles, solution.f, df),
        central(lambda q: added_mass_of(flow, q, flow.solve(q).f), angles),
    )


def test_derivatives_of_jacobians_and_of_every_mass_matrix():
    angles, swimmer = np.array([0.4, -0.6, 0.5]), branched()
    agree(swimmer.jacobians(angles)[1], central(lambda q: swimmer.jacobians(q)[0], angles))
    agree(swimmer.rigid_mass(angles)[1], central(lambda q: swimmer.rigid_mass(q)[0], angles))
    for inertia in (IsolatedInertia(swimmer), FlowInertia(Flow.from_swimmer(swimmer, 62))):
        agree(inertia.at(angles)[1], central(lambda q, i=inertia: i.at(q)[0], angles))


def test_jacobians_are_the_velocities_of_the_poses():
    """The twist of a link, from differences of its rotation and position, in its own frame."""
    angles, swimmer = np.array([0.4, -0.6, 0.5]), branched()
    R, p = swimmer.poses(angles)
    J, _ = swimmer.jacobians(angles)
    dR = central(lambda q: swimmer.poses(q)[0], angles)
    dp = central(lambda q: swimmer.poses(q)[1], angles)
    agree(J[:, :3, 6:], np.einsum("bim,bij->bmj", R, dp))
    spin = np.einsum("bim,bikj->bmkj", R, dR)
    agree(J[:, 3:, 6:], np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1))
