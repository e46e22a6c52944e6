import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation import simulation

CORNERS = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
QUADS = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
H = 0.01
"""Time step of the scenes."""
COMPLIANCE = H * 8.0 * 3.0 / 16.0
"""W = h J M^-1 J^T of the cube of unit masses: the row of each of its eight corners is a quarter of
three unit normals, 3 / 16 its square."""


@pytest.fixture
def cube(root, integrated, run):
    """Makes eight free particles of mass 1 at the corners of a cube, and components on it."""

    def make(*components, epsilon=0.0):
        root.addObject("FreeMotionAnimationLoop")
        root.addObject("QPInverseProblemSolver", name="solver", epsilon=epsilon)
        node = integrated(root, "body", CORNERS)
        node.addObject("UniformMass", vertexMass=1.0)
        node.addObject("LinearSolverConstraintCorrection")
        added = [node.addObject(name, **values) for name, values in components]
        run(root)
        return added

    return make


def actuator(**values):
    return "SurfacePressureActuator", {"name": "chamber", "quads": QUADS, **values}


def goal(volume, **values):
    return "VolumeEffector", {"name": "volume", "quads": QUADS, "desiredVolume": volume, **values}


def test_the_pressure_that_gives_the_volume_is_found(cube, root, run):
    """delta = W lambda + V - goal = 0, and W is known."""
    chamber, volume = cube(actuator(), goal(1.03))
    run(root, 1)
    assert chamber.pressure.value == pytest.approx(0.03 / COMPLIANCE, rel=1e-9)
    assert chamber.volumeGrowth.value == pytest.approx(0.03, rel=1e-9)
    assert volume.volumeGrowth.value == pytest.approx(0.0, abs=1e-12)
    assert root.solver.status.value.startswith("Solved")


def test_the_volume_stays_at_the_goal(cube, root, run):
    """The row is exact to first order in a step; what is left is taken up by the next one. Steps
    with residuals e -> C e^2 reach rounding within a few."""
    chamber, _ = cube(actuator(), goal(1.03))
    run(root, 8)
    assert chamber.cavityVolume.value == pytest.approx(1.03, rel=1e-12)


@pytest.mark.parametrize(
    ("values", "wanted", "expected"),
    [
        ({"maxPressure": 1.5}, 1.1, 1.5),
        ({"minPressure": 0.0}, 0.9, 0.0),
        ({"minPressure": -1.5}, 0.9, -1.5),
        ({"maxVolumeGrowth": 0.03}, 1.1, 0.03 / COMPLIANCE),
        ({"minVolumeGrowth": -0.03}, 0.9, -0.03 / COMPLIANCE),
        ({"maxVolumeGrowthVariation": 0.015}, 1.1, 0.015 / COMPLIANCE),
        ({"maxVolumeGrowthVariation": 0.015}, 0.9, -0.015 / COMPLIANCE),
        ({"maxVolumeGrowthVariation": 0.015, "minVolumeGrowth": -0.006}, 0.9, -0.006 / COMPLIANCE),
        ({"maxVolumeGrowthVariation": 0.006, "minVolumeGrowth": -0.015}, 0.9, -0.006 / COMPLIANCE),
        ({"maxVolumeGrowthVariation": 0.015, "maxVolumeGrowth": 0.006}, 1.1, 0.006 / COMPLIANCE),
        ({"maxPressureVariation": 0.5}, 1.1, 0.5),
        ({"maxPressureVariation": 0.5}, 0.9, -0.5),
        ({"maxPressureVariation": 0.5, "initPressure": 1.0}, 1.1, 1.5),
        ({"maxPressureVariation": 0.5, "initPressure": 9.0, "maxPressure": 2.0}, 1.1, 2.0),
        ({"maxPressureVariation": 0.5, "maxPressure": 0.2}, 1.1, 0.2),
    ],
)
def test_every_limit_holds(values, wanted, expected, cube, root, run):
    """Each alone, and limits of one quantity together; lambda and delta = W lambda are known."""
    chamber, _ = cube(actuator(**values), goal(wanted))
    run(root, 1)
    assert chamber.pressure.value == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_sofas_pressure_knows_no_variation(cube, root, run, monkeypatch):
    monkeypatch.setenv("SOFTCTL_SOFA_DEFECTS", "1")
    chamber, _ = cube(actuator(maxPressureVariation=0.5, maxPressure=2.0), goal(1.1))
    run(root, 1)
    assert chamber.pressure.value == pytest.approx(2.0)


def test_the_pressure_climbs_by_its_variation_in_every_step(cube, root, run):
    chamber, _ = cube(actuator(maxPressureVariation=0.25), goal(1.5))
    climb = []
    for _ in range(3):
        run(root, 1)
        climb.append(chamber.pressure.value)
    assert climb == pytest.approx([0.25, 0.5, 0.75], rel=1e-6)


def test_the_growth_climbs_by_its_variation_in_every_step(cube, root, run):
    """From the growth that the last step predicted, W lambda + delta_free."""
    chamber, _ = cube(actuator(maxVolumeGrowthVariation=0.004), goal(1.5))
    climb = []
    for _ in range(3):
        run(root, 1)
        climb.append(chamber.volumeGrowth.value)
    assert climb == pytest.approx([0.004, 0.008, 0.012], rel=1e-6)


def test_a_pressure_that_is_only_sought_moves_nothing(cube, root, run):
    chamber, _ = cube(actuator(applyForce=False), goal(1.03))
    run(root, 1)
    assert chamber.pressure.value == pytest.approx(0.03 / COMPLIANCE, rel=1e-9)
    assert (chamber.state.position.array() == CORNERS).all()


def test_an_imposed_growth_comes_while_others_are_sought(cube, root, run):
    """Two cavities, the cube and one of its sides: the growth of the first is given."""
    side = "SurfacePressureActuator", {"name": "side", "quads": [QUADS[1]]}
    given = "SurfacePressureEquality", {"quads": QUADS, "eqVolumeGrowth": 0.02}
    tip = (
        "PositionEffector",
        {
            "indices": [4],
            "effectorGoal": [[1.05, 0.0, 0.0]],
            "useDirections": [1, 0, 0],
        },
    )
    equality, _, effector = cube(given, side, tip)
    run(root, 1)
    delta = root.solver.W() @ root.solver.lambda_force() + root.solver.dfree()
    assert delta[0] == pytest.approx(0.02, rel=1e-9)
    assert equality.volumeGrowth.value == 0.0  # that of the start of the step, as in SOFA
    assert effector.delta.value[0] == pytest.approx(0.0, abs=1e-9)


def test_an_imposed_pressure_stays_what_it_is(cube, root, run):
    given = "SurfacePressureEquality", {"quads": QUADS, "eqPressure": 1.25}
    equality, _ = cube(given, goal(2.0))
    run(root, 1)
    assert equality.pressure.value == pytest.approx(1.25, rel=1e-9)


def test_a_sensor_tells_the_volume_and_changes_nothing(cube, root, run):
    """The same pressure with and without it."""
    sensor = "SurfacePressureSensor", {"name": "sensor", "quads": QUADS}
    chamber, _, sensor = cube(actuator(), goal(1.03), sensor)
    run(root, 1)
    assert chamber.pressure.value == pytest.approx(0.03 / COMPLIANCE, rel=1e-9)
    assert sensor.pressure.value == 0.0
    assert sensor.volumeGrowth.value == 0.0
    run(root, 1)
    assert sensor.cavityVolume.value == pytest.approx(1.01**3, rel=1e-9)
    assert sensor.volumeGrowth.value == pytest.approx(1.01**3 - 1.0, rel=1e-9)


def test_the_goal_of_a_volume_is_the_initial_one_by_default(cube, root, run):
    chamber, volume = cube(actuator(), ("VolumeEffector", {"quads": QUADS}))
    run(root, 1)
    assert volume.desiredVolume.value == 1.0
    assert chamber.pressure.value == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"limitShiftToTarget": True, "maxShiftToTarget": 0.006}, 0.006),
        ({"maxSpeed": 0.9}, 0.9 * H),
        ({"limitShiftToTarget": True, "maxShiftToTarget": 0.006, "maxSpeed": 0.9}, 0.006),
        ({"maxShiftToTarget": 0.006}, 0.03),
    ],
)
def test_a_far_goal_is_brought_nearer(values, expected, cube, root, run):
    """Both ways of saying how near, and neither by default."""
    chamber, _ = cube(actuator(), goal(1.03, **values))
    run(root, 1)
    assert chamber.volumeGrowth.value == pytest.approx(expected, rel=1e-9)


def test_a_reset_brings_back_the_first_pressure(cube, root, run):
    chamber, _ = cube(actuator(initPressure=0.5), goal(1.03))
    run(root, 2)
    simulation.reset(root)
    assert chamber.pressure.value == 0.5
    assert chamber.volumeGrowth.value == 0.0
    assert chamber.cavityVolume.value == 1.0


def test_a_given_pressure_among_sought_ones_is_told(cube):
    with pytest.raises(SceneError, match="does nothing beside QPInverseProblemSolver"):
        cube(actuator(), goal(1.0), ("SurfacePressureConstraint", {"quads": QUADS}))


def test_a_given_pressure_among_sought_ones_has_no_multiplier(tolerant, cube, root, run):
    """As in SOFA, whose plugin gives its row no part: the goal is reached as without it."""
    given = ("SurfacePressureConstraint", {"quads": QUADS, "value": [3.0]})
    chamber, _, other = cube(actuator(), goal(1.03), given)
    run(root, 1)
    assert chamber.volumeGrowth.value == pytest.approx(0.03, rel=1e-2)
    assert other.pressure.value == 0.0


def test_other_constraints_among_sought_efforts_are_an_error(tolerant, cube):
    with pytest.raises(SceneError, match="cannot be combined with QPInverseProblemSolver"):
        cube(actuator(), goal(1.03), ("FixedLagrangianConstraint", {"indices": [0]}))


def test_the_length_of_a_cable_reaches_its_goal(cube, root, run):
    """A cube that is inflated stretches a cable along its edge: delta = goal - L = 0; sensors of
    cables tell the same."""
    edge = {"indices": [0, 1], "hasPullPoint": False}
    chamber, effector, sensor = cube(
        actuator(), ("CableEffector", {"desiredLength": 1.02, **edge}), ("CableSensor", edge)
    )
    run(root, 2)
    assert effector.displacement.value == pytest.approx(-0.02, rel=1e-9)
    assert sensor.displacement.value == pytest.approx(-0.02, rel=1e-9)
    assert sensor.cableLength.value == effector.cableLength.value == pytest.approx(1.02, rel=1e-9)
    assert chamber.cavityVolume.value == pytest.approx(1.02**3, rel=1e-9)


def test_the_goal_of_a_length_is_the_first_one_by_default(cube, root, run):
    edge = {"indices": [0, 1], "hasPullPoint": False}
    chamber, effector = cube(actuator(), ("CableEffector", edge))
    run(root, 1)
    assert effector.desiredLength.value == 1.0
    assert chamber.pressure.value == pytest.approx(0.0, abs=1e-12)
