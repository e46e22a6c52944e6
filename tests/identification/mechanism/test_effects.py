"""Effects on mechanisms: closed forms, order of convergence, derivatives, unknown inputs."""

import math
from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.effects.selection import effects_of
from sofa_softctl.identification.effects.sensors import Delayed
from sofa_softctl.identification.fitting.estimate import estimate
from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.parts import (
    Armature,
    Body,
    Damper,
    Friction,
    Joint,
    Point,
    Spring,
)
from sofa_softctl.identification.mechanism.problem import MechanismProblem
from sofa_softctl.identification.mechanism.signals import (
    Angle,
    EquilibriumStart,
    Feedback,
    Force,
    Output,
)
from sofa_softctl.identification.mechanism.start import Start
from sofa_softctl.identification.mechanism.variational import energy, free, simulate
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.parameter import Parameter
from sofa_softctl.identification.model.recording import Recording

NONE = np.zeros(0)
G = 9.81


def at(q, v):
    still = np.zeros((1, 0))
    return Start(np.array([q]), np.array([v]), still, still)


def slid(dt, *, speed=1e-3, mass=2.0, friction=3.0, time=1.5, v=2.0):
    """A block that slides on a plane until friction has stopped it."""
    block = Mechanism(
        [Joint("x", axis=(1, 0, 0), sliding=True)],
        [Body("x", mass)],
        frictions=[Friction("x", friction, speed)],
    )
    steps = round(time / dt)
    return simulate(block, NONE, at(0.0, v), free(block, steps), dt)


def test_friction_stops_a_block_after_its_closed_form():
    """v^2 m / (2 F) = 4/3 m; below its speed v_0 = 1 mm/s friction is viscous: m v_0^2 / F more.

    At the stop, the speed changes by F dt / m = 15 v_0 in a step: it is known to a step. What is
    left alternates, by (1 - z/2) / (1 + z/2) with z = 15 a step.
    """
    motion = slid(0.01, time=3.0)
    assert motion.q[-1, 0] == pytest.approx(2.0**2 * 2.0 / (2.0 * 3.0), abs=1e-4)
    assert np.abs(motion.p[-1]).max() < 1e-12
    assert (np.diff(motion.q[:, 0]) > -0.01 * 1e-3).all()  # it does not slide back


def test_friction_is_of_second_order_where_it_is_smooth():
    def error(dt):
        """After 0.5 s; Richardson's extrapolation of two far finer ones is exact."""
        fine, finer = (slid(h, speed=0.5, time=0.5).q[-1, 0] for h in (1e-3, 5e-4))
        return abs(slid(dt, speed=0.5, time=0.5).q[-1, 0] - (4.0 * finer - fine) / 3.0)

    assert np.log2(error(0.05) / error(0.025)) == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("speed", [1e-2, 1e-4])
def test_friction_of_every_size_has_a_motion(speed):
    """Of two rods whose joints are driven to and fro: Newton's iteration passes rest each time."""
    joints = (Joint("a", axis=(0, 1, 0)), Joint("b", "a", axis=(0, 1, 0), moved=(0, 0, -0.3)))
    bodies = [Body(one.name, 0.5, (0, 0, -0.15), 0.008) for one in joints]
    moved = []
    for size in np.geomspace(0.1, 20.0, 12):
        rubbing = [Friction("a", 0.3, speed), Friction("b", size, speed)]
        rods = Mechanism(joints, bodies, frictions=rubbing)
        outputs = tuple(Output(Angle(j.name), (Channel(j.name, "rad", 0.01),)) for j in joints)
        torques = tuple(Force(j.name, Channel(f"t{j.name}", "N m")) for j in joints)
        rubbed = MechanismProblem("rods", rods, 0.01, outputs, torques)
        drive = np.column_stack([3.0 * np.sin(4.0 * TIME), np.sin(9.0 * TIME)])
        run = Recording("run", TIME, drive, np.zeros((len(TIME), 2)))
        moved.append(np.ptp(rubbed.experiment(run).outputs(NONE)[:, 1]))
    assert np.isfinite(moved).all()
    assert moved[0] > 0.3
    assert max(moved[-3:]) < 10.0 * speed  # it only creeps, for a second


def pendulum(**more):
    """A rod of 1 m and 1 kg, with inertia 1/3 about its joint."""
    rod = Body("swing", 1.0, (0, 0, -0.5), (1 / 12, 1 / 12, 0))
    more = {"bodies": [rod, *more.pop("bodies", [])], **more}
    return Mechanism([Joint("swing", axis=(0, 1, 0))], **more)


def frequency(mechanism, dt=0.005):
    """Of small swings, from the first and the last of nine crossings of the vertical [rad/s]."""
    motion = simulate(mechanism, NONE, at(1e-3, 0.0), free(mechanism, round(10.0 / dt)), dt)
    q, t = motion.q[:, 0], motion.time
    k = np.flatnonzero(q[:-1] * q[1:] < 0.0)[:9]
    times = t[k] - q[k] * dt / (q[k + 1] - q[k])
    return math.pi * (len(k) - 1) / (times[-1] - times[0])


def test_armature_and_payload_change_a_frequency_as_in_closed_form():
    """Armature adds to the inertia alone, a payload to the torque of gravity, too.

    A frequency w is right to (w dt)^2 / 24 = 2e-5, and interpolation between steps to 1e-5.
    """
    weight, inertia = 0.5 * G, 1.0 / 3.0
    assert frequency(pendulum()) == pytest.approx(math.sqrt(weight / inertia), rel=5e-5)
    rotor = pendulum(armatures=[Armature("swing", 0.2)])
    assert frequency(rotor) == pytest.approx(math.sqrt(weight / (inertia + 0.2)), rel=5e-5)
    loaded = pendulum(bodies=[Body("swing", 0.4, (0, 0, -0.8))])
    expected = math.sqrt((weight + 0.4 * 0.8 * G) / (inertia + 0.4 * 0.8**2))
    assert frequency(loaded) == pytest.approx(expected, rel=5e-5)


@pytest.mark.soak
def test_the_energy_of_a_rotor_is_kept_within_a_bound():
    """Of a rod let go at 1 rad: 4e-4 of the largest kinetic energy at dt = 10 ms, without drift."""
    rotor = pendulum(armatures=[Armature("swing", 0.2)])
    motion = simulate(rotor, NONE, at(1.0, 0.0), free(rotor, 5000), 0.01)
    E = energy(rotor, NONE, motion)
    size = 0.5 * G * (1.0 - math.cos(1.0))
    assert np.ptp(E[:2500]) < 1e-3 * size
    assert abs(E[-500:].mean() - E[:500].mean()) < 1e-4 * size


def test_friction_without_speed_is_refused():
    with pytest.raises(IdentificationError, match="Friction of joint 'swing': its speed is 0"):
        pendulum(frictions=[Friction("swing", 1.0, 0.0)])


TIME = np.arange(0.0, 1.0, 0.01)
TORQUE = Channel("torque", "N m", 0.02)
OWN = (Parameter("stiffness", 2.0, "N m/rad"), Parameter("drag", 0.05, "N m s/rad"))


def problem(**other):
    """Two rods with a spring, driven at the first, of which an angle and a marker are seen."""
    joints = (Joint("a", axis=(0, 1, 0)), Joint("b", "a", axis=(0.3, 1, 0), moved=(0, 0, -0.3)))
    rods = Mechanism(
        joints,
        [Body("a", 0.8, (0, 0, -0.15), 0.006), Body("b", 0.5, (0, 0, -0.2), 0.006)],
        [Spring("b", "stiffness")],
        [Damper("a", "drag")],
        parameters=OWN,
    )
    marker = tuple(Channel(f"tip.{axis}", "m", 1e-3) for axis in "xyz")
    given = {
        "name": "rods",
        "mechanism": rods,
        "dt": 0.01,
        "outputs": (
            Output(Angle("a"), (Channel("angle", "rad", 1e-3),)),
            Output(Point("b", (0, 0, -0.4)), marker),
        ),
        "forces": (Force("a", TORQUE),),
    }
    return MechanismProblem(**(given | other))


def fed_back():
    """Whose outputs are computed from measured angles, which are also fed back."""
    angles = tuple(Channel(f"angle_{name}", "rad", 1e-3) for name in "ab")
    torques = tuple(Channel(f"torque_{name}", "N m", 0.02) for name in "ab")
    return problem(
        outputs=(Output(Point("b", (0, 0, -0.4)), problem().compared[1:]),),
        forces=tuple(Force(*pair) for pair in zip("ab", torques, strict=True)),
        feedback=Feedback(("a", "b"), angles, np.array([[[2.0, 0.1], [0.2, 1.0]]])),
        start=EquilibriumStart(),
        from_feedback=True,
    )


def recording(made):
    """Torques of 1 N m, and angles that are 0.2 rad or so."""
    n_f, n_b = len(made.forces), len(made.inputs) - len(made.forces)
    torque = np.column_stack([np.sin(6.0 * TIME + k) for k in range(n_f)])
    b = np.column_stack([0.2 * np.cos((3.0 + k) * TIME) for k in range(n_b)] or [[]] * len(TIME))
    outputs = np.zeros((len(TIME), len(made.channels)))
    return Recording("run", TIME, np.hstack([torque, b.reshape(len(TIME), n_b)]), outputs)


def switched(one, *names):
    for name in names:
        one = next(each for each in effects_of(one) if each.name == name).add_to(one)
    return one


SIZES = {
    "gain.tip.x": 0.1,
    "offset.angle": 0.02,
    "delay.angle": 0.003,
    "gain.torque": -0.1,
    "offset.torque": 0.2,
    "delay.torque": 0.002,
    "hold.torque": 0.4,
    "damping.b": 0.01,
    "friction.a": 0.2,
    "armature.b": 0.02,
    "payload.b": 0.1,
    "mass.a": 0.1,
}
FED_SIZES = {"offset.angle_a": 0.02, "offset.torque_b": 0.1, "gain.torque_a": 0.1, "mass.b": 0.1}
RHO = np.array([2.0, 0.05])


@pytest.fixture(scope="module", params=["recorded", "fed back"])
def case(request):
    """An experiment, and the same with effects of some sizes."""
    made, sizes = (problem(), SIZES) if request.param == "recorded" else (fed_back(), FED_SIZES)
    one = replace(made, friction_speed=0.3).experiment(recording(made))
    return one, switched(one, *sizes), np.append(RHO, list(sizes.values()))


def test_effects_of_size_0_change_no_digit(case):
    one, affected, rho = case
    at_zero = np.where(np.arange(len(rho)) < 2, rho, 0.0)
    np.testing.assert_array_equal(affected.outputs(at_zero), one.outputs(RHO))
    assert not np.allclose(affected.outputs(rho), one.outputs(RHO), atol=1e-3)


def test_derivatives_by_all_effects_are_those_of_central_differences(case):
    _, affected, rho = case
    y, by_rho = affected.sensitivities(rho)
    for k, one in enumerate(affected.parameters):
        e = 1e-5 * np.eye(len(rho))[k]
        slope = (affected.outputs(rho + e) - affected.outputs(rho - e)) / 2e-5
        size = np.abs(slope).max()
        np.testing.assert_allclose(by_rho[:, :, k], slope, atol=1e-5 * size, err_msg=one.name)
    np.testing.assert_array_equal(y, affected.outputs(rho))


def test_the_adjoint_agrees_with_them(case):
    _, affected, rho = case
    weights = np.random.default_rng(0).normal(size=affected.measured.shape)
    _, by_rho = affected.sensitivities(rho)
    found = affected.pull_back(rho, lambda y: weights)
    np.testing.assert_allclose(
        found.by_parameters, np.einsum("ty,tyr->r", weights, by_rho), rtol=1e-8
    )


def test_noise_of_inputs_goes_through_effects(case):
    """Residuals by a recorded sample, by central differences."""
    _, affected, rho = case
    weights = np.random.default_rng(0).normal(size=affected.measured.shape)
    swept = affected.pull_back(rho, lambda y: weights).by_inputs
    swept = swept - affected.measured_by_inputs(weights)
    for column in range(len(affected.inputs)):
        ends = []
        for side in (1e-5, -1e-5):
            errors = np.zeros((len(TIME), len(affected.inputs)))
            errors[30, column] = side
            moved = affected.with_input_errors(errors)
            ends.append(np.sum(weights * (moved.outputs(rho) - moved.measured)))
        assert swept[30, column] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5)


def test_effects_go_into_experiments_that_are_wrapped():
    """The parameter is the last one all the same."""
    late = Parameter("late", 0.0, "s", lower=-0.1, upper=0.1)
    one = problem().experiment(recording(problem()))
    heavy = switched(Delayed(one, late), "mass.a")
    assert [each.name for each in heavy.parameters] == ["stiffness", "drag", "late", "mass.a"]
    y, by_rho = heavy.sensitivities(np.array([*RHO, 0.003, 0.1]))
    swapped = Delayed(switched(one, "mass.a"), late)
    expected = swapped.sensitivities(np.array([*RHO, 0.1, 0.003]))
    np.testing.assert_array_equal(y, expected[0])
    np.testing.assert_array_equal(by_rho, expected[1][..., [0, 1, 3, 2]])


def test_what_a_mechanism_cannot_have_is_refused():
    one = problem().experiment(recording(problem()))
    names = {each.name for each in effects_of(one)}
    assert {*SIZES} <= names and "hold.tip.x" not in names
    fed = {each.name for each in effects_of(fed_back())}
    assert {"offset.angle_a", "gain.torque_a"} <= fed and "delay.angle_a" not in fed
    assert not any(".tip" in name for name in fed)  # computed, not seen
    wrong = replace(problem(), offset={"torqe": "stiffness"})
    with pytest.raises(IdentificationError, match="no signal 'torqe' to have an offset"):
        wrong.experiment(recording(problem()))


def measured(made, affected, rho, seed):
    """A run with effects, and with noise of torques and outputs as declared."""
    rng, one = np.random.default_rng(seed), affected.recording
    noise = np.array([each.deviation for each in affected.channels])
    y = affected.outputs(rho) + noise * rng.standard_normal(affected.measured.shape)
    inputs = one.inputs + TORQUE.deviation * rng.standard_normal(one.inputs.shape)
    return made.experiment(replace(one, inputs=inputs, outputs=y))


@pytest.mark.soak
def test_effects_are_found_beside_unknown_errors_of_the_torque():
    """A gain of the torque, too: its errors are amplified as it is. Five intervals of 3 sigma."""
    made, names = problem(), ["offset.angle", "gain.torque", "friction.a"]
    truth = np.array([2.0, 0.05, 0.01, -0.2, 0.1])
    affected = switched(made.experiment(recording(made)), *names)
    one = switched(measured(made, affected, truth, 1), *names)
    assert one.with_unknown_inputs() is not None
    found = estimate([one])
    assert found.status.ok and found.experiments[0].unknowns
    F = sum(J.T @ J for _, J in (fit.rows for fit in found.fits))
    assert (np.abs(found.rho - truth) < 3.0 * np.sqrt(np.diag(np.linalg.inv(F)))).all()


def test_derivatives_with_unknown_inputs_are_those_of_central_differences():
    """Where data are exact, so that Gauss-Newton's are; offsets of fed-back sensors, too."""
    made = fed_back()
    loose = replace(made, feedback=None, from_feedback=False, start=problem().start)
    still = replace(recording(loose), outputs=np.zeros((len(TIME), 3)))
    run = loose.experiment(still).run(RHO).trajectory
    angles = run.q[: len(TIME)]
    inputs = np.hstack([still.inputs, angles])
    one = made.experiment(replace(still, inputs=inputs, outputs=np.zeros((len(TIME), 0))))
    affected = switched(one, "offset.angle_a", "gain.torque_a", "mass.b").with_unknown_inputs()
    rho = np.append(RHO, [0.0, 0.0, 0.0])
    _, by_rho = affected.sensitivities(rho)
    for k in range(2, len(rho)):
        e = 1e-5 * np.eye(len(rho))[k]
        slope = (affected.outputs(rho + e) - affected.outputs(rho - e)) / 2e-5
        np.testing.assert_allclose(by_rho[:, :, k], slope, atol=1e-3 * np.abs(slope).max())


def test_an_effect_on_unknown_inputs_is_that_on_their_experiment():
    made = problem()
    exact = made.experiment(recording(made))
    one = measured(made, exact, RHO, 2).with_unknown_inputs()
    assert {"friction.a", "offset.torque"} <= {each.name for each in effects_of(one)}
    heavy = switched(one, "mass.a")
    rho = np.append(RHO, 0.0)
    np.testing.assert_allclose(heavy.outputs(rho), one.outputs(RHO), atol=1e-12)
    assert heavy.sensitivities(rho)[1].shape[-1] == 3
