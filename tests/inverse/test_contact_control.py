"""InverseController through contacts, in scenes of the embedded runtime."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.inverse.aspects.objects import GraspedObjects
from sofa_softctl.record.record import read_record
from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.session.run import run
from sofa_softctl.scene.session.session import Session

find_backend("embedded")

from sofa_softctl import Grasp, InverseController, add_effector  # noqa: E402
from sofa_softctl.qpcc.problem.modes import SearchOptions  # noqa: E402

G = 9810.0  # [mm/s^2]
MASS = 0.002  # of a ball [kg]
WEIGHT = MASS * G  # [mN]


def world(root, mu=0.5, gravity=(0.0, -G, 0.0)):
    """Loop, solver and collision detection for balls of radius 5 mm."""
    root.dt = 0.01
    root.gravity = list(gravity)
    root.addObject("FreeMotionAnimationLoop")
    root.addObject("GenericConstraintSolver", maxIterations=500, tolerance=1e-9)
    for kind in ("CollisionPipeline", "BruteForceBroadPhase", "BVHNarrowPhase"):
        root.addObject(kind)
    root.addObject("MinProximityIntersection", alarmDistance=3.0, contactDistance=0.1)
    response = {"response": "FrictionContactConstraint", "responseParams": f"mu={mu}"}
    root.addObject("CollisionResponse", **response)


def floor(root):
    node = root.addChild("floor")
    corners = [[-100, 0, -150], [-100, 0, 100], [200, 0, 100], [200, 0, -150]]
    node.addObject("MeshTopology", position=corners, triangles=[[0, 1, 2], [0, 2, 3]])
    node.addObject("MechanicalObject", name="dofs")
    node.addObject("TriangleCollisionModel", moving=False, simulated=False)


def ball(root, name, position, mass=MASS):
    """A ball without rotation, at a height of its radius and the contact distance."""
    node = root.addChild(name)
    node.addObject("EulerImplicitSolver")
    node.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    node.addObject("MechanicalObject", name="dofs", position=[position])
    node.addObject("UniformMass", totalMass=mass)
    node.addObject("SphereCollisionModel", radius=5.0)
    node.addObject("LinearSolverConstraintCorrection")
    return node


def motor(node, axis, **limits):
    """A force on a ball along an axis."""
    return node.addObject(
        "PositionConstraint",
        name=f"motor_{'xyz'[axis]}",
        indices=[0],
        useDirections=np.eye(3, dtype=int)[axis].tolist(),
        valueType="force",
        value=[0.0],
        **limits,
    )


def pushed(goal, limit, mu=0.5, **options):
    """A ball on the floor that a motor pushes along x with at most `limit` [mN]."""

    def create(root):
        world(root, mu)
        floor(root)
        node = ball(root, "ball", [0.0, 5.1, 0.0])
        dt = 0.01
        push = motor(node, 0, minForce=-limit * dt, maxForce=limit * dt)
        root.addObject(
            InverseController(
                name="inverse",
                root=root,
                actuators=[push],
                effectors=[add_effector(node)],
                goal=goal,
                energy=1e-9,
                names=["motor"],
                **options,
            )
        )

    return Session(create)


def test_a_motor_weaker_than_friction_moves_nothing():
    """|F| < mu m g = 9.81 mN: the ball sticks, whatever the motor does."""
    session = pushed([20.0, 5.1, 0.0], 0.9 * 0.5 * WEIGHT)
    for _ in range(50):
        session.step()
    inverse = session.root.inverse
    assert session.root.ball.dofs.position.value[0, 0] == pytest.approx(0.0, abs=1e-9)
    assert inverse.contact_mode.value.tolist() == [1]
    assert inverse.contact_normal.value.sum() == pytest.approx(WEIGHT, rel=1e-9)


def test_efforts_change_by_no_more_than_each_actuators_rate():
    """From rest the motor along x may gain 3 mN a step and the one along y 1 mN; the goal is far
    away in both directions."""

    def create(root):
        world(root, gravity=(0.0, 0.0, 0.0))
        node = ball(root, "ball", [0.0, 50.0, 0.0])
        root.addObject(
            InverseController(
                name="inverse",
                root=root,
                actuators=[motor(node, 0), motor(node, 1)],
                effectors=[add_effector(node)],
                goal=[1000.0, 1000.0, 0.0],
                effort_rate=[3.0, 1.0],
                names=["along", "up"],
            )
        )

    session = Session(create)
    for step in range(1, 4):
        session.step()
        assert session.root.inverse.effort.value == pytest.approx([3.0 * step, 1.0 * step])


def test_a_stronger_motor_slides_it_with_what_friction_leaves():
    """a = F / m - mu g, from rest: the velocity after n steps is n dt a (implicit Euler is exact
    for constant forces), until the goal comes near."""
    force = 2.0 * 0.5 * WEIGHT
    session = pushed([1000.0, 5.1, 0.0], force)
    for _ in range(20):
        session.step()
    expected = (force / MASS - 0.5 * G) * 20 * 0.01
    assert session.root.ball.dofs.velocity.value[0, 0] == pytest.approx(expected, rel=1e-6)
    assert session.root.inverse.contact_mode.value.tolist() == [2]
    assert session.root.inverse.contact_slide.value[0] > 0.0


def test_as_the_paper_takes_them_contacts_hold_any_pull():
    """Sticking contacts have no cone: the ball does not slide, though the motor is twice as strong
    as friction."""
    session = pushed([1000.0, 5.1, 0.0], 2.0 * 0.5 * WEIGHT, contacts="sticking")
    for _ in range(20):
        session.step()
    assert session.root.ball.dofs.position.value[0, 0] == pytest.approx(0.0, abs=1e-9)


def test_the_controller_lifts_the_ball_off_when_the_goal_asks_for_it():
    """A contact must break: the motor along y carries the weight and the goal is reached."""

    def create(root):
        world(root)
        floor(root)
        node = ball(root, "ball", [0.0, 5.1, 0.0])
        root.addObject(
            InverseController(
                name="inverse",
                root=root,
                actuators=[motor(node, axis) for axis in range(3)],
                effectors=[add_effector(node)],
                goal=lambda time: [0.0, 5.1 + 10.0 * min(time, 0.5), 0.0],
                energy=1e-9,
            )
        )

    session = Session(create)
    for _ in range(60):
        session.step()
    assert session.root.ball.dofs.position.value[0, 1] == pytest.approx(10.1, abs=1e-3)
    assert not len(session.root.inverse.contact_point.value)


def held(minimum=0.0, calibrate=None, steps=80):
    """Two balls with motors hold a third one between them, against gravity."""
    grasp = Grasp("/object", minimum=minimum, calibrate=calibrate)

    def create(root):
        world(root)
        thing = ball(root, "object", [0.0, 30.0, 0.0])
        motors = []
        for name, x in (("left", -10.1), ("right", 10.1)):
            node = ball(root, name, [x, 30.0, 0.0])
            motors += [motor(node, axis) for axis in range(3)]
        root.addObject(
            InverseController(
                name="inverse",
                root=root,
                actuators=motors,
                effectors=[add_effector(thing)],
                goal=lambda time: [0.0, 30.0 + 5.0 * min(time, 1.0), 0.0],
                energy=1e-6,
                grasps=[grasp],
            )
        )

    session = Session(create)
    for _ in range(steps):
        session.step()
    return session, grasp


def test_a_grasped_ball_is_lifted_by_friction():
    """Held between two others it follows its goal; both normals together carry at least the weight
    over mu."""
    session, grasp = held()
    position = session.root.object.dofs.position.value[0]
    assert position == pytest.approx([0.0, 34.0, 0.0], abs=0.05)
    assert grasp.dropped_at is None
    assert session.root.inverse.contact_normal.value.sum() >= WEIGHT / 0.5 * (1.0 - 1e-6)


def test_the_least_squeeze_is_kept():
    """The sum of the normal forces is the minimum that was asked for, not less."""
    session, grasp = held(minimum=300.0)
    assert session.root.inverse.contact_normal.value.sum() >= 300.0 * (1.0 - 1e-6)
    assert grasp.held == pytest.approx(session.root.inverse.contact_normal.value.sum())


def test_the_least_squeeze_is_calibrated_from_what_held_the_object():
    """Section III-E: from the end of the calibration on, 80 % of its mean is asked for."""
    session, grasp = held(calibrate=(0.1, 0.4))
    assert grasp.minimum > 0.5 * WEIGHT / 0.5
    assert session.root.inverse.contact_normal.value.sum() >= grasp.minimum * (1.0 - 1e-6)


def test_an_object_that_slips_and_is_dropped_is_told():
    """Slip is the mean of the touching points, weighted by force: (3 * 0.2 + 1 * 0.6) / 4 = 0.3."""
    grasp = Grasp("/object", slip_tolerance=0.25)
    grasped = GraspedObjects([grasp])
    assert grasp.holds(("/finger", "/object/skin")) and not grasp.holds(("/objects", "/floor"))
    nothing = np.empty(0)
    grasp.look(0.1, nothing, nothing)
    assert list(grasped.warnings()) == []
    grasp.look(0.2, np.array([3.0, 1.0]), np.array([0.2, 0.6]))
    assert grasp.held == 4.0 and grasp.slip == pytest.approx(0.3)
    grasp.look(0.3, nothing, nothing)
    assert list(grasped.warnings()) == [
        "/object was dropped at t = 0.3",
        "/object slipped by 0.3 in the grasp",
    ]
    grasp.look(0.4, np.array([1.0]), np.array([0.0]))
    assert grasp.dropped_at is None
    known = grasp.snapshot()
    grasp.forget()
    assert grasp.held is None and grasp.slip == 0.0
    grasp.restore(known)
    assert grasp.slip == pytest.approx(0.3)


def test_bad_options_are_told():
    with pytest.raises(SceneError, match="contacts must be one of 'coulomb', 'sticking'"):
        pushed([0.0, 0.0, 0.0], 1.0, contacts="glue")
    with pytest.raises(SceneError, match="0 <= minimum <= maximum"):
        Grasp("/cup", minimum=2.0, maximum=1.0)
    with pytest.raises(SceneError, match="a start and a later end"):
        Grasp("/cup", calibrate=(1.0, 0.5))


def shoving(**options):
    """A ball with motors shoves another one, which nothing brakes, by 10 mm."""

    def create(root):
        world(root, gravity=(0.0, 0.0, 0.0))
        thing = ball(root, "object", [10.1, 50.3, 0.2])
        node = ball(root, "pusher", [0.0, 50.0, 0.0])
        root.addObject(
            InverseController(
                name="inverse",
                root=root,
                actuators=[motor(node, axis) for axis in range(3)],
                effectors=[add_effector(thing)],
                goal=[20.1, 50.3, 0.2],
                energy=1e-6,
                effort_rate=1.0,
                goal_tolerance=0.5,
                **options,
            )
        )

    return Session(create)


def shoved(caplog, **options):
    """The summary, and the warnings of what was lost."""
    summary = run(shoving(**options), 60)
    texts = [text.getMessage() for text in caplog.records if "touches it from" in text.getMessage()]
    return summary.inverse[0], texts


def test_an_object_that_flies_away_is_lost_and_the_goal_not_reached(caplog):
    inverse, texts = shoved(caplog)
    assert list(inverse.lost) == ["/object"]
    assert len(texts) == 1 and texts[0].startswith("[/inverse] /object: nothing touches it")
    assert any("/object is lost: nothing touches it since t =" in w for w in inverse.warnings)
    assert not inverse.goal.reached and inverse.goal.reasons[0] == "/object is lost"
    assert "not reached: " in inverse.goal.verdict and "/object is lost" in inverse.goal.verdict


def test_an_object_that_is_thrown_on_purpose_is_not_lost(caplog):
    inverse, texts = shoved(caplog, grasps=[Grasp("/object", let_go=True, slip_tolerance=10.0)])
    assert inverse.lost == {} and texts == [] and inverse.warnings == []
    assert not inverse.goal.reached and inverse.goal.reasons[0] != "/object is lost"


def test_an_object_that_stays_on_the_floor_is_not_lost():
    """Another ball lies on it and is lifted off, out of its reach."""

    def create(root):
        world(root)
        floor(root)
        thing = ball(root, "object", [0.0, 5.1, 0.0])
        node = ball(root, "lifted", [0.0, 15.2, 0.0])
        root.addObject(
            InverseController(
                name="inverse",
                root=root,
                actuators=[motor(node, axis) for axis in range(3)],
                effectors=[add_effector(node), add_effector(thing)],
                weight=[1.0, 0.0],
                goal=lambda time: [[0.0, 15.2 + 50.0 * max(time - 0.1, 0.0), 0.0], [0, 5.1, 0]],
                energy=1e-9,
            )
        )

    session = Session(create)
    summary = run(session, 40)
    apart = session.root.lifted.dofs.position.value - session.root.object.dofs.position.value
    assert apart[0, 1] > 10.0 + 3.0
    assert summary.inverse[0].contacts.most == 2
    assert summary.inverse[0].lost == {} and summary.inverse[0].warnings == []


def test_a_controllers_reset_forgets_what_was_lost():
    session = shoving()
    for _ in range(60):
        session.step()
    inverse = session.root.inverse
    assert list(inverse.lost.left) == ["/object"]
    known = inverse.snapshot()
    inverse.reset()
    assert inverse.lost.left == {} and inverse.gap.value.tolist() == [0.0]
    inverse.restore(known)
    assert list(inverse.lost.left) == ["/object"]


def test_a_record_holds_the_gap_and_the_pieces_of_every_step(tmp_path):
    """The exact search proves its answers while the balls touch; afterwards there is none."""
    session = shoving(search=SearchOptions("exact"))
    with session.recording(tmp_path / "shove.mcap"):
        summary = run(session, 60)
    channels = read_record(tmp_path / "shove.mcap").channels
    gap, pieces = channels["inverse.gap"][:, 0], channels["inverse.pieces"][:, 0]
    touching = (channels["inverse.contact_normal"] != 0.0).any(axis=1)
    found = summary.inverse[0].search
    assert found.steps >= touching.sum() > 10 and not touching[-1]
    assert (gap <= 1.000001e-4).all() and found.proven == found.steps and found.unbounded == 0
    assert (pieces[touching] > 0).all() and pieces[-1] == 0.0
    inexact = run(shoving(search=SearchOptions("pivoting")), 10)
    assert inexact.inverse[0].search.unbounded == inexact.inverse[0].search.steps == 10


@pytest.mark.parametrize("tolerance", [0.0, -1.0, float("nan"), [1.0, 1.0], "1 mm"])
def test_a_goal_tolerance_is_a_positive_length(tolerance):
    with pytest.raises(SceneError, match="goal_tolerance must be a number > 0, one for all"):
        pushed([0.0, 0.0, 0.0], 1.0, goal_tolerance=tolerance)


def test_no_step_waits_for_a_full_collection_of_garbage():
    """In a process of its own, as others have collected theirs. It took 50 ms of one step."""
    script = """
import gc, sys
from sofa_softctl.scene.session.session import Session
session = Session(sys.argv[1])
before = gc.get_stats()[2]["collections"]
for _ in range(60):
    session.step()
assert gc.get_stats()[2]["collections"] == before
"""
    scene = Path(__file__).parents[2] / "scenes" / "rolling_ring.py"
    subprocess.run([sys.executable, "-c", script, str(scene)], check=True)
