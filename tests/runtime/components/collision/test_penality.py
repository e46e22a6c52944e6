"""Contacts that push by penalty; their motion beside SOFA is in tests/parity/examples.py."""

import numpy as np
import pytest

from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.simulation import simulation, snapshot

CORNERS = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
APART = CORNERS + [0.2, 0.1, 1.25]


@pytest.fixture
def two(root, surface):
    """Makes two cubes of free nodes, one above the other, below one integrator: in the root, where
    contacts are implicit, or in a child."""

    def make(
        solver="SparseLDLSolver",
        response="",
        speed=-1.0,
        inside=True,
        loop="DefaultAnimationLoop",
        **values,
    ):
        root.gravity = [0.0, 0.0, 0.0]
        root.addObject(loop)
        root.addObject("CollisionPipeline", name="pipeline")
        root.addObject("BruteForceBroadPhase")
        root.addObject("BVHNarrowPhase")
        root.addObject("MinProximityIntersection", alarmDistance=0.5, contactDistance=0.3)
        root.addObject("CollisionResponse", response=response)
        moving = root if inside else root.addChild("moving")
        moving.addObject("EulerImplicitSolver")
        more = {"iterations": 500, "tolerance": 1e-14, "threshold": 0.0}
        moving.addObject(solver, name="solver", **(more if solver == "CGLinearSolver" else {}))
        for name, points in (("below", CORNERS), ("above", APART)):
            node = surface(moving.addChild(name), points, **values)
            node.addObject("UniformMass", vertexMass=1.0)
        moving.above.dofs.velocity.value = np.tile([0.0, 0.0, speed], (8, 1))
        if loop == "DefaultAnimationLoop":
            simulation.init(root)
        return moving

    return make


def momentum(moving):
    """Of both cubes about the origin, linear and angular; node masses are 1."""
    total = np.zeros(6)
    for node in (moving.below, moving.above):
        x, v = node.dofs.position.value, node.dofs.velocity.value
        total += [*v.sum(axis=0), *np.cross(x, v).sum(axis=0)]
    return total


@pytest.mark.soak
@pytest.mark.parametrize("response", ["", "PenalityContactForceField"])
def test_bodies_push_each_other_apart_and_keep_their_momentum(root, two, response):
    """Linear momentum to rounding. The response is SOFA's default."""
    moving = two(response=response)
    before = momentum(moving)
    simulation.animateNSteps(root, 20)
    assert momentum(moving)[:3] == pytest.approx(before[:3], abs=1e-12)
    assert moving.below.dofs.velocity.value[:, 2].min() < -0.1


@pytest.mark.soak
def test_a_direct_and_a_converged_iterative_solver_agree(two, root):
    """Over 20 steps, in which contacts come and go; 1e-9 by the tolerance of the iterations."""
    moving = two("CGLinearSolver")
    simulation.animateNSteps(root, 20)
    iterative = moving.above.dofs.position.value.copy()
    simulation.reset(root)
    moving.removeObject(moving.solver)
    moving.addObject("SparseLDLSolver", name="direct").init()
    stiffness = 0.0
    for _ in range(20):
        simulation.animate(root, 0.01)
        stiffness = max(stiffness, np.abs(moving.direct.A().toarray() - np.eye(48)).max())
    assert stiffness > 0.01
    assert moving.above.dofs.position.value == pytest.approx(iterative, abs=1e-9)


@pytest.mark.parametrize("inside", [True, False])
def test_the_force_is_the_product_of_both_stiffnesses_by_depth(root, two, inside):
    """f = k1 k2 / d times depth, in the first step: contacts are of the start of the step. Above
    the integrator it is constant in the step, below implicit: two masses of 1 on one spring."""
    moving = two(contactStiffness=3.0, kinds=("Point",), speed=0.0, inside=inside)
    moving.above.dofs.position.value = CORNERS + [0.0, 0.0, 1.1]
    simulation.animateNSteps(root, 1)
    (contact,) = root.pipeline.penalties
    assert contact.contact_count == 4
    h, k = 0.01, 9.0 / 0.3
    v = h * k * 0.2 / (1.0 + 2.0 * h * h * k * inside)
    upper = moving.above.dofs.velocity.value[CORNERS[:, 2] == 0.0, 2]
    assert upper == pytest.approx(v)


def test_contacts_of_a_state_that_returns_push_as_they_did(root, two):
    """Also where they were stiffer in between, and were gone."""
    moving = two(contactStiffness=3.0, kinds=("Point",), speed=0.0)
    moving.above.dofs.position.value = CORNERS + [0.0, 0.0, 1.1]
    simulation.animateNSteps(root, 1)

    def pushes():
        (contact,) = root.pipeline.penalties
        force = np.zeros((contact.contact_count, 3))
        contact.add_force(force)
        return force

    before, kept = pushes(), snapshot.take_snapshot(root)
    moving.below.Point.contactStiffness.value = 30.0
    simulation.animateNSteps(root, 2)
    assert pushes()[0, 2] < 5.0 * before[0, 2] < 0.0
    snapshot.put_back(root, kept)
    assert (pushes() == before).all()
    moving.above.dofs.position.value = CORNERS + [0.0, 0.0, 9.0]
    simulation.animateNSteps(root, 1)
    assert not root.pipeline.penalties
    snapshot.put_back(root, kept)
    assert (pushes() == before).all()


def test_contacts_above_the_integrators_do_nothing_in_a_free_motion_and_say_so(root, two, told):
    """As in SOFA, whose free motion takes no forces from outside."""
    moving = two(inside=False, loop="FreeMotionAnimationLoop")
    for node in (moving.below, moving.above):
        node.addObject("UncoupledConstraintCorrection", defaultCompliance=1.0)
    simulation.init(root)
    simulation.animateNSteps(root, 3)
    assert moving.below.dofs.velocity.value.max() == 0.0
    assert any("does nothing under FreeMotionAnimationLoop" in text for text in told())


def test_what_parts_is_let_go(root, two):
    moving = two(speed=1.0)
    moving.above.dofs.position.value = APART
    simulation.animateNSteps(root, 1)
    assert root.pipeline.penalties
    simulation.animateNSteps(root, 60)
    assert not root.pipeline.penalties
    speed = moving.above.dofs.velocity.value.copy()
    simulation.animateNSteps(root, 5)
    assert moving.above.dofs.velocity.value == pytest.approx(speed)


@pytest.mark.soak
def test_a_reset_and_the_same_steps_are_the_same_motion(root, two):
    moving = two()
    simulation.animateNSteps(root, 15)
    first = moving.above.dofs.position.value.copy()
    simulation.reset(root)
    simulation.animateNSteps(root, 15)
    assert (moving.above.dofs.position.value == first).all()


def falling_sphere(on_body, stiffness):
    """A sphere over a fixed one, on a body or on a point that the body carries."""
    root = Node("root")
    root.addObject("DefaultAnimationLoop")
    for kind in ("CollisionPipeline", "BruteForceBroadPhase", "BVHNarrowPhase"):
        root.addObject(kind)
    root.addObject("MinProximityIntersection", alarmDistance=0.5, contactDistance=0.1)
    root.addObject("CollisionResponse")
    ground = root.addChild("ground")
    ground.addObject("MechanicalObject", position=[[0, 0, 0]])
    ground.addObject("SphereCollisionModel", radius=0.5, simulated=False, moving=False)
    body = root.addChild("body")
    body.addObject("EulerImplicitSolver")
    body.addObject("CGLinearSolver", iterations=50, tolerance=1e-12, threshold=1e-20)
    pose = [0.05, 1.2, 0, 0, 0, 0, 1]
    body.addObject("MechanicalObject", name="dofs", template="Rigid3", position=[pose])
    body.addObject("UniformMass", totalMass=1.0)
    holder = body if on_body else body.addChild("point")
    if not on_body:
        holder.addObject("MechanicalObject", position=[[0, 0, 0]])
    holder.addObject("SphereCollisionModel", radius=0.5, contactStiffness=stiffness)
    if not on_body:
        holder.addObject("RigidMapping")
    simulation.init(root)
    simulation.animateNSteps(root, 30, 0.02)
    return body.dofs.position.value[0].copy()


def test_spheres_on_bodies_push_as_points_at_their_centres():
    """The normal passes through the centre; SOFA divides k by distances from surfaces of bodies.

    So d is 0.6 on the body and 1.1 on the point, and k of the point has to be 11 / 6 as large.
    """
    on_body, on_point = falling_sphere(True, 1e3), falling_sphere(False, 1e3 * 11.0 / 6.0)
    assert on_body == pytest.approx(on_point, abs=1e-12)
    assert 1.0 < on_body[1] < 1.2  # caught; it would have fallen to -0.6


def test_models_of_their_own_responses_get_that_of_all(root, two):
    """As in SOFA, where they differ."""
    moving = two()
    moving.below.Triangle.contactResponse.value = "nullptr"
    moving.above.Point.contactResponse.value = "FrictionContactConstraint"
    simulation.animateNSteps(root, 1)
    names = {entry.getName() for entry in root.pipeline.penalties}
    assert "Triangle-Point" in names
