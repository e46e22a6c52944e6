"""Rigid bodies against closed forms."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.simulation import simulation

LENGTH, GRAVITY, MASS, MOMENT = 0.5, 10.0, 2.0, 0.3


def pendulum(root, h, correction):
    """A ball that hangs on a massless arm: the arm's end is a carried point that is held."""
    root.dt, root.gravity = h, [0.0, -GRAVITY, 0.0]
    root.addObject("FreeMotionAnimationLoop")
    root.addObject("GenericConstraintSolver", tolerance=1e-12, maxIterations=2000)
    node = root.addChild("ball")
    node.addObject("EulerImplicitSolver")
    node.addObject("SparseLDLSolver")
    start = Rotation.from_rotvec([0.0, 0.0, 0.1])
    centre = start.apply([0.0, -LENGTH, 0.0])
    node.addObject(
        "MechanicalObject", name="dofs", template="Rigid3", position=[[*centre, *start.as_quat()]]
    )
    inertia = (MOMENT / MASS * np.eye(3)).ravel()
    node.addObject("UniformMass", vertexMass=[MASS, 1.0, *inertia])
    node.addObject(correction)
    pivot = node.addChild("pivot")
    pivot.addObject("MechanicalObject", name="dofs", position=[[0.0, LENGTH, 0.0]])
    pivot.addObject("RigidMapping")
    for use in np.eye(3, dtype=int):
        pivot.addObject("PositionConstraint", useDirections=use, value=[0.0])
    simulation.init(root)
    return node


def period_of(root, h, correction):
    """Twice the time between two passages of the lowest point, and the end of the arm then."""
    node = pendulum(root, h, correction)
    times, xs = [], []
    while len(times) < 1.5 / h:
        simulation.animateNSteps(root, 1)
        times.append(root.time.value)
        xs.append(node.dofs.position.value[0, 0])
    first, second = (
        t - h * x / (x - before)
        for t, x, before in zip(times[1:], xs[1:], xs[:-1], strict=True)
        if before * x < 0.0
    )
    return 2.0 * (second - first), node.pivot.dofs.position.value[0]


@pytest.mark.soak
@pytest.mark.parametrize(
    "correction", ["LinearSolverConstraintCorrection", "UncoupledConstraintCorrection"]
)
def test_a_compound_pendulum_swings_with_its_period(correction):
    """T = 2 pi sqrt((I + m l^2) / (m g l)) (1 + a^2 / 16), a = 0.1.

    In the one free angle the steps are those of the symplectic Euler method, whose period is short
    by (w h)^2 / 24: 5e-5 at h = 0.01, a quarter at half the step. The row of a constraint is
    linearised in each step, and what is left is taken up by the next: the arm's end stays within
    (h a w)^2 l / 2 = 3e-6.
    """
    pull = MASS * GRAVITY * LENGTH
    exact = 2.0 * math.pi * math.sqrt((MOMENT + MASS * LENGTH**2) / pull) * (1.0 + 0.1**2 / 16.0)
    errors = []
    for h in (0.01, 0.005):
        found, end = period_of(Node("root"), h, correction)
        errors.append(found / exact - 1.0)
        assert end == pytest.approx([0.0, 0.0, 0.0], abs=3e-6)
    assert errors[0] == pytest.approx(-((3.54 * 0.01) ** 2) / 24.0, rel=0.1)
    assert math.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


def test_free_bodies_turn_steadily_about_a_fixed_axis(root):
    """R(t) = exp(t omega) R(0): steps of one axis compose exactly, without an error of h."""
    root.dt, root.gravity = 0.01, [0.0, 0.0, 0.0]
    node = root.addChild("balls")
    node.addObject("EulerImplicitSolver")
    node.addObject("SparseLDLSolver")
    speeds = np.random.default_rng(0).normal(size=(4, 6))
    poses = np.tile([0.0, 0, 0, 0, 0, 0, 1], (4, 1))
    node.addObject(
        "MechanicalObject", name="dofs", template="Rigid3", position=poses, velocity=speeds
    )
    node.addObject("UniformMass", vertexMass=[2, 1, 3, 0, 0, 0, 2, 0, 0, 0, 1])
    simulation.init(root)
    simulation.animateNSteps(root, 50)
    assert node.dofs.velocity.value == pytest.approx(speeds, abs=1e-13)
    turned = Rotation.from_quat(node.dofs.position.value[:, 3:]).as_matrix()
    expected = Rotation.from_rotvec(0.5 * speeds[:, 3:]).as_matrix()
    assert turned == pytest.approx(expected, abs=1e-12)
