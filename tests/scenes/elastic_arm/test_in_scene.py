"""The arm in time and in a scene: integration, motors, the hand and what it takes."""

import math

import numpy as np
import pytest

from scenes.elastic_arm import problem as elastic_arm
from scenes.elastic_arm.dynamics import (
    AngleControl,
    Reference,
    advance_state,
    catch_object,
    energy,
)
from scenes.elastic_arm.hand import Hand
from scenes.elastic_arm.in_scene import FRAMES, ElasticArm
from scenes.elastic_arm.problem import MOTOR_INERTIA, inertia, jacobian, position
from sofa_softctl import Session
from sofa_softctl.errors import SceneError
from sofa_softctl.library.ocp.problem import Motion
from sofa_softctl.library.ocp.shooting import Program
from sofa_softctl.testing import check_jacobian

K = (0.7, 0.7)
STATE = [0.2, -0.4, 1.5, -2.0, 0.6, 0.3, -1.0, 0.5]
"""In motion, springs stretched."""
OBJECT = (0.30, 0.25)


def scene(**values):
    """createScene of an arm with one object."""

    def createScene(root):
        root.dt = values.pop("dt", 0.01)
        root.addObject("DefaultAnimationLoop")
        still = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
        frames, things = (
            root.addChild(name).addObject(
                "MechanicalObject", name="dofs", template="Rigid3", position=position
            )
            for name, position in (
                ("robot", len(FRAMES) * [still]),
                ("things", [[*OBJECT, *still[2:]]]),
            )
        )
        given = {"masses": [0.1], "stiffness": K} | values
        root.addObject(ElasticArm(root=root, frames=frames, objects=things, **given))

    return createScene


def session_of(**values):
    """A session with an arm, and the arm."""
    session = Session(scene(**values), backend="embedded")
    return session, session.controllers[0]


def after(h, time=0.4, x=STATE, m=0.1):
    """The state after a time without torques."""
    x = list(x)
    for _ in range(round(time / h)):
        x = advance_state(x, (0.0, 0.0), K, m, h)
    return x


def reaching(q):
    """Angles of the tip at a goal (x, y), elbow to the right."""
    rho, l1 = np.hypot(*q), elastic_arm.LENGTH[0]
    bend = 2.0 * math.acos(rho / (2.0 * l1))
    return math.atan2(q[1], q[0]) - 0.5 * bend, bend


@pytest.fixture
def frictionless(monkeypatch):
    monkeypatch.setattr(elastic_arm, "FRICTION", (0.0, 0.0))
    monkeypatch.setattr(elastic_arm, "MOTOR_FRICTION", 0.0)


def test_integration_is_of_fourth_order():
    """Errors against steps of 0.5 ms, whose own are 1e-4 of those of 10 and 5 ms."""
    exact = np.array(after(0.0005))
    errors = [np.abs(after(h) - exact).max() for h in (0.01, 0.005)]
    assert math.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.2)


def test_without_friction_energy_stays(frictionless):
    """Up to the method's error, which falls at least with its order."""
    start = energy(STATE, K, 0.1)
    drift = [abs(energy(after(h, time=2.0), K, 0.1) - start) for h in (0.01, 0.005)]
    assert math.log2(drift[0] / drift[1]) > 3.9
    assert drift[1] < 1e-6 * start


def test_friction_alone_takes_energy():
    """dE/dt = -F_q dq^2 - F_theta dtheta^2, by central differences: h^2 leaves 3e-6."""
    h = 1e-4
    (c1, c2), f = elastic_arm.FRICTION, elastic_arm.MOTOR_FRICTION
    x = advance_state(STATE, (0.0, 0.0), K, 0.1, h)
    both = advance_state(x, (0.0, 0.0), K, 0.1, h)
    rate = (energy(both, K, 0.1) - energy(STATE, K, 0.1)) / (2.0 * h)
    lost = c1 * x[2] ** 2 + c2 * x[3] ** 2 + f * (x[6] ** 2 + x[7] ** 2)
    assert rate == pytest.approx(-lost, rel=1e-5)


def test_the_arm_moves_as_the_plan_when_its_torques_drive_it():
    """The same steps of the same method: rounding alone."""
    program = Program(elastic_arm.arm(stiffness=K, horizon=1.5))
    p = np.array([0.8, 0.5, 0.3, -0.2, 0.4, 0.1])
    v = program.guess(p)
    v[program.u_at] = np.random.default_rng(6).uniform(-1.0, 1.0, program.u_at.shape)
    expected = program.simulate(v, p)
    session, arm = session_of(dt=0.05, substeps=5)
    arm.state.x, arm.state.held = expected[0].tolist(), 0
    arm.push(v[program.u_at], 0.0, 1.5)
    for row in expected[1:]:
        session.step()
        assert np.abs(arm.state.x - row).max() < 1e-10
    assert np.ptp(expected, axis=0).min() > 0.1  # all of the state moves


def smooth_reference(size=(1.0, -0.8), horizon=1.5):
    """Motor angles and speeds from 0 to `size`, accelerations 0 at both ends."""
    s = np.linspace(0.0, 1.0, 31)
    rise, rate = 10 * s**3 - 15 * s**4 + 6 * s**5, 30 * s**2 - 60 * s**3 + 30 * s**4
    return Reference(0.0, horizon, np.outer(rise, size), np.outer(rate / horizon, size))


def tracking_error(bandwidth, h=0.002):
    """Largest error of the motors while they follow, the links swinging."""
    reference, x, worst = smooth_reference(), [0.0] * 8, 0.0
    motors = AngleControl(reference, h, bandwidth)
    for k in range(round(4.0 / h)):
        x = advance_state(x, motors(k * h, x), K, 0.1, h)
        off = np.abs(np.array(reference.at((k + 1) * h)[0]) - x[4:6]).max()
        worst = max(worst, float(off))
    return worst


def test_motors_follow_their_reference():
    """What is left is the springs' changing torque by the integral's gain I w^3: some 0.9 N m / s
    by 1,300 N m / rad s; an eighth of it with twice the bandwidth."""
    slow, fast = tracking_error(20.0), tracking_error(40.0)
    assert fast < 0.9 / (40.0**3 * MOTOR_INERTIA)
    assert slow / fast == pytest.approx(8.0, rel=0.1)


def test_motors_keep_to_their_torque():
    """Nothing is integrated meanwhile: the step of 3 rad is passed by less than a third of it."""
    jump = Reference(0.0, 1.0, np.full((2, 2), 3.0), np.zeros((2, 2)))
    motors, x, most = AngleControl(jump, 0.002), [0.0] * 8, 0.0
    for k in range(1000):
        tau = motors(0.002 * k, x)
        assert max(map(abs, tau)) <= elastic_arm.TORQUE
        x = advance_state(x, tau, K, 0.0, 0.002)
        most = max(most, *x[4:6])
    assert most < 4.0
    assert x[4:6] == pytest.approx([3.0, 3.0], abs=0.02)


def test_a_reference_passes_through_the_plan_and_stays_at_its_end():
    """Angles and speeds at the plan's instants; between them of the fourth order: 1e-5 here."""
    reference = smooth_reference()
    for k in (0, 7, 30):
        angles, speeds = reference.at(0.05 * k)
        assert angles == pytest.approx(reference.theta[k].tolist(), abs=1e-12)
        assert speeds == pytest.approx(reference.dtheta[k].tolist(), abs=1e-9)
    s = 0.725 / 1.5
    assert reference.at(0.725)[0][0] == pytest.approx(10 * s**3 - 15 * s**4 + 6 * s**5, abs=1e-5)
    ahead, behind = reference.at(0.725 + 1e-5)[0][0], reference.at(0.725 - 1e-5)[0][0]
    assert reference.at(0.725)[1][0] == pytest.approx((ahead - behind) / 2e-5, abs=1e-6)
    assert reference.at(9.0) == (reference.theta[-1].tolist(), [0.0, 0.0])


def test_a_plan_is_turned_to_where_the_robot_is():
    motion = Motion(np.zeros((1, 2)), np.array([[0.0] * 4 + [0.1, 0.2, 0.0, 0.0]] * 2))
    assert Reference.from_motion(motion, 0.0, 1.0, turn=0.5).at(2.0)[0] == pytest.approx([0.6, 0.2])


def test_a_catch_keeps_momentum_and_loses_energy():
    """The object takes m v from the hand: M (dq+ - dq-) = -J' m J dq+, J from the tip's place."""
    m = 0.1
    x = catch_object(STATE, 0.0, m)
    a, b, d = inertia(STATE[0:2], 0.0)
    J = jacobian(STATE[0:2])
    change = np.array(x[2:4]) - STATE[2:4]
    impulse = -m * J.T @ (J @ x[2:4])
    assert np.array([[a, b], [b, d]]) @ change == pytest.approx(impulse, abs=1e-14)
    assert x[0:2] == STATE[0:2] and x[4:8] == STATE[4:8]
    assert energy(x, K, m) < energy(STATE, K, 0.0)


def test_a_jacobian_is_that_of_the_position():
    check_jacobian(position, jacobian, STATE[0:2], tolerance=1e-9)


@pytest.mark.parametrize(("power", "before"), [(1, 0.05), (2, 0.1), (4, 0.2)])
def test_the_hand_starts_by_the_closing_rule(power, before):
    """Coming to the goal as (T - t)^n, it starts n t_g / 2 before the end, and takes t_g."""
    hand, h, end = Hand(), 0.001, 1.0
    hand.set_goal(np.array([0.3, 0.2]), close=True)
    began = done = None
    for k in range(1, 1200):
        left = end - k * h
        at = np.array([0.3, 0.2 + 0.4 * abs(left) ** power])
        velocity = np.array([0.0, -0.4 * power * np.sign(left) * abs(left) ** (power - 1)])
        now_done = hand.advance(at, velocity, h)
        began = k * h if began is None and hand.moving else began
        if now_done:
            done = k * h
            break
    assert began == pytest.approx(end - before, abs=2 * h)
    assert done == pytest.approx(began + 0.1, abs=2 * h)
    assert hand.share == 1.0


def test_the_hand_waits_while_the_goal_is_missed_slowly():
    hand = Hand()
    hand.set_goal(np.zeros(2), close=True)
    for _ in range(500):
        assert not hand.advance(np.array([0.01, 0.0]), np.array([0.0, 0.1]), 0.01)  # around it
        assert not hand.advance(np.array([0.01, 0.0]), np.array([-0.1, 0.0]), 0.01)  # towards it
    assert hand.share == 0.0 and not hand.moving


def close_at(arm, session, aside=0.0):
    """Close the hand, at rest with the tip `aside` of the object, and step until it has."""
    goal = np.array([OBJECT[0] + aside, OBJECT[1]])
    arm.state.hand.set_goal(goal, close=True)
    arm.state.hand.moving = True  # at rest the rule does not start it
    session.step(11)
    assert arm.state.hand.is_done


def test_the_hand_carries_what_it_caught_where_it_caught_it():
    """The place in the hand's axes stays; let go, the object stops, and falls to the ground."""
    q = reaching((OBJECT[0] + 0.01, OBJECT[1]))
    session, arm = session_of(angles=q, ground=-0.1)
    close_at(arm, session, aside=0.01)
    (action,) = arm.state.hand.actions
    assert action.distance == pytest.approx(0.0, abs=1e-9) and action.held == 0
    assert (arm.held.value[0], arm.mass, arm.hand.value[0]) == (0.0, 0.1, 1.0)
    things, frames = (session.root.getChild(name).dofs for name in ("things", "robot"))
    assert things.position.value[0, :2] == pytest.approx(OBJECT, abs=1e-9)
    arm.push(np.full((1, 2), 0.5), session.time, 1.0)
    session.step(60)
    hand, thing = frames.position.value[5], things.position.value[0]
    assert hand[:2] == pytest.approx(arm.tip.value[0, :2], abs=1e-12)
    assert np.linalg.norm(hand[:2] - OBJECT) > 0.1  # it went somewhere
    turned = 2.0 * (math.atan2(*hand[5:7]) - 0.5 * sum(q))
    offset = np.array([[math.cos(turned), -math.sin(turned)], [math.sin(turned), math.cos(turned)]])
    assert thing[:2] - hand[:2] == pytest.approx(offset @ [-0.01, 0.0], abs=1e-9)
    arm.state.hand.set_goal(hand[:2], close=False)
    arm.state.hand.moving = True
    session.step(11)
    left = things.position.value[0].copy()
    assert (arm.mass, arm.held.value[0], left[2]) == (0.0, -1.0, -0.1)
    session.step(20)
    assert (things.position.value[0] == left).all()


def test_a_moving_hand_loses_the_energy_of_the_catch(frictionless):
    """All else is conserved: without friction and torques, what is missing is what `caught` takes;
    the rest is the method's error."""
    session, arm = session_of()
    x = [*reaching(OBJECT), 2.0, -1.5, *reaching(OBJECT), 0.0, 0.0]
    arm.state.x, arm.state.hand.share = list(x), 1.0 - 1e-12
    arm.push(np.zeros((1, 2)), 0.0, 1.0)
    arm.state.hand.set_goal(np.array(OBJECT), close=True)
    session.step()
    lost = energy(x, K, 0.0) - energy(arm.state.x, K, 0.1)
    moved = advance_state(
        x, (0.0, 0.0), K, 0.0, 0.002
    )  # the hand closes at the first substep's end
    assert lost == pytest.approx(
        energy(moved, K, 0.0) - energy(catch_object(moved, 0.0, 0.1), K, 0.1)
    )
    assert lost > 0.01 * energy(x, K, 0.0)


def test_a_hand_that_is_too_far_off_closes_on_nothing():
    session, arm = session_of(angles=reaching((OBJECT[0] + 0.05, OBJECT[1])), reach=0.04)
    close_at(arm, session)
    (action,) = arm.state.hand.actions
    assert action.held == -1 and action.distance == pytest.approx(0.05)
    assert arm.mass == 0.0 and arm.grasp_error.value == pytest.approx([0.05])
    assert session.root.things.dofs.position.value[0, :2] == pytest.approx(OBJECT)


def test_frames_show_links_and_motors():
    session, arm = session_of(angles=(0.3, 0.4))
    arm.state.x[4:6] = [0.5, 0.1]
    arm.push(np.zeros((1, 2)), 0.0, 1.0)
    session.step()
    frames, x = session.root.robot.dofs.position.value, arm.state.x
    yaw = 2.0 * np.arctan2(frames[:, 5], frames[:, 6])
    assert yaw[:6] == pytest.approx([0.0, x[0], x[0] + x[1], x[4], x[0] + x[5], x[0] + x[1]])
    assert frames[5, :2] == pytest.approx(position(x))
    assert frames[4, :2] == pytest.approx(0.22 * np.array([math.cos(x[0]), math.sin(x[0])]))


def test_a_reset_and_a_snapshot_give_the_same_motion_again():
    """Bit for bit, the hand closing, the motors' integrals at work."""
    session, arm = session_of(angles=reaching(OBJECT))

    def begin():
        arm.state.motors.reference = smooth_reference()
        arm.state.hand.set_goal(np.array(OBJECT), close=True)
        arm.state.hand.moving = True

    begin()
    session.step(5)
    half = session.snapshot()
    session.step(30)
    expected = (list(arm.state.x), session.positions())
    session.restore(half)
    session.step(30)
    for again in range(2):
        assert list(arm.state.x) == expected[0]
        assert all((x == expected[1][name]).all() for name, x in session.positions().items())
        assert arm.held.value[0] == 0.0
        if not again:
            session.reset()
            begin()
            session.step(35)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"masses": []}, "8 frames, 1 objects, 0 masses"),
        ({"bandwidth": 0.0}, "'bandwidth' must be positive, got 0"),
        ({"stiffness": (0.7, -1.0)}, "'stiffness' must be positive, got -1"),
        ({"substeps": 0}, "'substeps' must be positive, got 0"),
    ],
)
def test_what_cannot_be_is_said(values, said):
    with pytest.raises(SceneError, match=said):
        session_of(**values)


def test_a_plan_that_ends_with_relaxed_springs_does():
    """Of the terminal equations of `settled`; the state at the end is an equilibrium."""
    program = Program(elastic_arm.arm(stiffness=K, horizon=1.5, settled=True))
    p = np.array([1.0, 0.5, 0.0, 0.0, 0.4, 0.1])
    found = program.solve(p)
    end = program.simulate(found.v, p)[-1]
    assert found.status.ok
    assert end[4:6] == pytest.approx(end[0:2], abs=1e-7)
    assert [*end[2:4], *end[6:8]] == pytest.approx([0.0] * 4, abs=1e-7)
    with pytest.raises(ValueError, match="no springs"):
        elastic_arm.arm("rigid", settled=True)
