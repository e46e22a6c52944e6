import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.helper.message import MessageHandler
from sofa_softctl.runtime.simulation import simulation

CORNERS = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
QUADS = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
TRIANGLES = [part for a, b, c, d in QUADS for part in ([a, b, c], [a, c, d])]
H = 0.01
"""Time step of the scenes."""
COMPLIANCE = H * 8.0 * 3.0 / 16.0
"""W = h J M^-1 J^T of the cube of unit masses and quads: the row of each of its eight corners is
a quarter of three unit normals, 3 / 16 its square."""


@pytest.fixture
def cavity(root, integrated, run):
    """Makes eight free particles of mass 1 at the corners of a cube with a pressure inside."""

    def make(rest=None, topology=None, positions=CORNERS, first_order=False, **values):
        root.addObject("FreeMotionAnimationLoop")
        root.addObject("GenericConstraintSolver", name="solver", tolerance=1e-14)
        node = integrated(root, "body", positions, firstOrder=first_order)
        node.addObject("UniformMass", vertexMass=1.0)
        node.addObject("LinearSolverConstraintCorrection")
        if topology is not None:
            node.addObject("MeshTopology", **topology)
        pressure = node.addObject("SurfacePressureConstraint", name="pressure", **values)
        run(root)
        return pressure

    return make


def test_a_pressure_moves_every_corner_along_its_area(cavity, root, run):
    """lambda is an impulse: dv = M^-1 J^T lambda, J a quarter of the three sides' normals."""
    pressure = cavity(quads=QUADS, value=[2.0])
    run(root, 1)
    outward = np.sign(CORNERS - 0.5)
    assert pressure.state.velocity.array() == pytest.approx(2.0 * outward / 4.0, rel=1e-13)
    assert pressure.pressure.value == 2.0


def test_the_growth_that_is_asked_for_comes(cavity, root, run):
    """delta = W lambda + delta_free = value to first order; the cube grows to (1 + e)^3, so that
    the volume is off by the second order of the edge's growth e = 0.012 / 3: 3 e^2 + e^3."""
    pressure = cavity(quads=QUADS, valueType="volumeGrowth", value=[0.012])
    run(root, 1)
    assert pressure.pressure.value == pytest.approx(0.012 / COMPLIANCE, rel=1e-12)
    assert root.solver.W() == pytest.approx(np.array([[COMPLIANCE]]), rel=1e-12)
    e = 0.004
    run(root, 1)
    assert pressure.cavityVolume.value == pytest.approx((1.0 + e) ** 3, rel=1e-12)
    assert pressure.volumeGrowth.value == pytest.approx((1.0 + e) ** 3 - 1.0, rel=1e-10)


def test_volume_and_growth_are_those_at_the_start_of_the_step(cavity, root, run):
    """One step behind, as in SoftRobots; the pressure is that of the step itself."""
    pressure = cavity(triangles=TRIANGLES, value=[3.0])
    run(root, 1)
    assert (pressure.cavityVolume.value, pressure.volumeGrowth.value) == (1.0, 0.0)
    assert pressure.pressure.value == 3.0
    run(root, 1)
    assert pressure.cavityVolume.value > 1.0
    assert pressure.volumeGrowth.value == pressure.cavityVolume.value - 1.0


def test_the_surface_is_the_topologys_when_none_is_given(cavity):
    pressure = cavity(topology={"quads": QUADS, "triangles": TRIANGLES[:2]})
    assert pressure.quads.value.tolist() == QUADS
    assert pressure.triangles.value.tolist() == TRIANGLES[:2]


def test_triangles_that_link_nowhere_are_the_topologys(cavity, tolerant):
    """As in SoftRobots, which takes what is empty for not given."""
    pressure = cavity(topology={"quads": QUADS}, triangles="@Mesh1.triangles")
    assert pressure.quads.value.tolist() == QUADS
    assert pressure.initialCavityVolume.value == pytest.approx(1.0)


def test_given_triangles_leave_the_topologys_quads_alone(cavity):
    pressure = cavity(topology={"quads": QUADS}, triangles=TRIANGLES)
    assert pressure.triangles.value.tolist() == TRIANGLES
    assert len(pressure.quads.value) == 0


def test_the_initial_volume_is_that_after_the_mapping(root, integrated, run):
    """A cavity that is drawn elsewhere than its mapping puts it: bwdInit measures again."""
    root.addObject("FreeMotionAnimationLoop")
    node = integrated(root, "body", 2.0 * CORNERS)
    node.addObject("UniformMass", vertexMass=1.0)
    node.addObject("LinearSolverConstraintCorrection")
    child = node.addChild("cavity")
    child.addObject("MechanicalObject", name="dofs", position=CORNERS.tolist())
    pressure = child.addObject("SurfacePressureConstraint", triangles=TRIANGLES)
    child.addObject("IdentityMapping")
    run(root)
    assert pressure.initialCavityVolume.value == 8.0


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"value": [5.0], "maxPressure": 2.0}, 2.0),
        ({"value": [-5.0], "minPressure": -1.0}, -1.0),
        ({"value": [5.0], "maxPressureVariation": 0.5}, 0.5),
        ({"value": [-5.0], "maxPressureVariation": 0.5}, -0.5),
        ({"value": [5.0], "maxPressureVariation": 3.0, "maxPressure": 2.0}, 2.0),
        ({"value": [5.0], "maxVolumeGrowth": 0.03}, 0.03 / COMPLIANCE),
        ({"value": [-5.0], "minVolumeGrowth": -0.015}, -0.015 / COMPLIANCE),
        ({"value": [5.0, 1.5], "valueIndex": 1}, 1.5),
        ({"value": []}, 0.0),
    ],
)
def test_limits_bend_an_imposed_pressure(values, expected, cavity, root, run):
    """On lambda itself, on its change, and on the growth that it makes (delta = W lambda)."""
    pressure = cavity(quads=QUADS, **values)
    run(root, 1)
    assert pressure.pressure.value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"value": [0.06], "maxVolumeGrowth": 0.03}, 0.03 / COMPLIANCE),
        ({"value": [-0.06], "minVolumeGrowth": -0.03}, -0.03 / COMPLIANCE),
        ({"value": [0.06], "maxVolumeGrowthVariation": 0.015}, 0.015 / COMPLIANCE),
        ({"value": [0.06], "maxPressure": 1.0}, 1.0),
        ({"value": [-0.06], "minPressure": -1.0}, -1.0),
    ],
)
def test_limits_bend_an_imposed_growth(values, expected, cavity, root, run):
    pressure = cavity(quads=QUADS, valueType="volumeGrowth", **values)
    run(root, 1)
    assert pressure.pressure.value == pytest.approx(expected, rel=1e-12)


def test_the_pressure_climbs_by_its_variation_in_every_step(cavity, root, run):
    pressure = cavity(quads=QUADS, value=[1.0], maxPressureVariation=0.4)
    climb = []
    for _ in range(4):
        run(root, 1)
        climb.append(pressure.pressure.value)
    assert climb == pytest.approx([0.4, 0.8, 1.0, 1.0])


def test_a_surface_that_winds_inwards_is_told(cavity, root, run):
    """|V| grows while the row says it shrinks: warned of, and put right by flipNormal."""
    inwards = [[a, c, b] for a, b, c in TRIANGLES]
    with Heard() as heard:
        cavity(triangles=inwards, value=[1.0])
    assert len(heard.texts) == 1
    assert "point inwards: a positive pressure empties the cavity" in heard.texts[0]
    assert "Set flipNormal=True" in heard.texts[0]


def test_flipped_normals_make_an_inward_surface_a_cavity(cavity, root, run):
    inwards = [[a, c, b] for a, b, c in TRIANGLES]
    with Heard() as heard:
        pressure = cavity(triangles=inwards, value=[1.0], flipNormal=True)
    run(root, 2)
    assert heard.texts == []
    assert pressure.volumeGrowth.value > 0.0


def test_an_open_surface_is_pushed_along_its_normals_without_a_word(cavity, root, run):
    """The volume means nothing there; the pressure does."""
    with Heard() as heard:
        pressure = cavity(quads=[QUADS[1][::-1]], value=[1.0])
    run(root, 1)
    assert heard.texts == []
    expected = np.where(CORNERS[:, :1] == 1.0, [[-0.25, 0.0, 0.0]], 0.0)
    assert pressure.state.velocity.array() == pytest.approx(expected, abs=1e-14)


def test_another_surface_counts_from_the_next_step_on(cavity, root, run):
    pressure = cavity(quads=QUADS, value=[1.0])
    run(root, 1)
    before = pressure.state.velocity.array().copy()
    pressure.quads.value = [QUADS[1]]
    run(root, 1)
    moved = np.abs(pressure.state.velocity.array() - before).max(axis=1) > 0.1
    assert moved.tolist() == (CORNERS[:, 0] == 1.0).tolist()


def test_a_reset_brings_back_volume_pressure_and_value(cavity, root, run):
    """`value` as well, as in SoftRobots; then the same steps give the same numbers."""
    pressure = cavity(quads=QUADS, value=[1.0])
    pressure.value.value = [2.0]
    run(root, 3)
    simulation.reset(root)
    assert pressure.cavityVolume.value == pressure.initialCavityVolume.value == 1.0
    assert pressure.pressure.value == pressure.volumeGrowth.value == 0.0
    assert pressure.value.value.tolist() == [1.0]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "has no surface: give 'triangles' or 'quads'"),
        ({"topology": {"edges": [[0, 1]]}}, "has no surface"),
        ({"triangles": [[0, 1, 8]]}, r"has 'triangles' with vertex 8, but .* has 8 nodes"),
        ({"quads": [[0, 1, 2, -1]]}, r"has 'quads' with vertex -1, but .* has 8 nodes"),
    ],
)
def test_a_surface_that_is_none_is_an_error(values, message, cavity):
    with pytest.raises(SceneError, match=message):
        cavity(**values)


def test_a_vertex_that_does_not_exist_is_an_error_in_a_run_too(cavity):
    pressure = cavity(quads=QUADS)
    with pytest.raises(SceneError, match="'quads' of .* has 8, but there are 8 nodes"):
        pressure.quads.value = [[0, 1, 2, 8]]


class Heard(MessageHandler):
    """Keeps the warnings."""

    def __init__(self):
        self.texts = []

    def process(self, message):
        if message["type"] == "Warning":
            self.texts.append(message["message"])


@pytest.mark.parametrize(("defects", "growths"), [("0", [1, 2, 3, 4]), ("1", [1, 1, 2, 2])])
def test_a_growth_at_a_limited_rate_comes_in_every_step(
    cavity, root, run, monkeypatch, defects, growths
):
    """Counted from the present volume; in SoftRobots from that of a step ago, so that half comes.

    The volume is off by the second order of the edge's growth, 3e-4: see above."""
    monkeypatch.setenv("SOFTCTL_SOFA_DEFECTS", defects)
    pressure = cavity(
        quads=QUADS, valueType="volumeGrowth", value=[1.0], maxVolumeGrowthVariation=1e-3
    )
    found = []
    for _ in growths:
        run(root, 1)
        found.append(float(np.prod(np.ptp(pressure.state.position.array(), axis=0))) - 1.0)
    assert found == pytest.approx(1e-3 * np.array(growths), rel=3e-3)
