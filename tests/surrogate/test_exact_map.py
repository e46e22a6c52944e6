"""The exact map of a scene: what models are the same, and how it travels to other processes."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.errors import MapError, SceneError
from sofa_softctl.runtime.equilibrium import map as equilibrium
from sofa_softctl.scene.copies.equilibrium import equilibrium_map
from sofa_softctl.scene.copies.model_hash import model_hash
from sofa_softctl.surrogate.cells.uniform import Grid
from sofa_softctl.surrogate.grid.evaluation import Neighbour
from sofa_softctl.surrogate.models.exact_map import ExactMap

SCENE = Path(__file__).parents[2] / "scenes" / "laser_arm.py"
STRIP = Path(__file__).with_name("heavy_strip.py")
U = np.array([0.1, 0.0, 0.05, 0.0])


@pytest.fixture(scope="module")
def exact():
    return ExactMap(SCENE, scale=4000.0, points=("/arm/beam",))


def test_outputs_are_positions_lengths_and_points(exact):
    sample = exact(U)
    layout = exact.layout
    assert (layout.nodes, layout.lines) == (525, 4)
    assert layout.points == ("/arm/beam.0", "/arm/beam.1")
    assert sample.value.shape == (exact.size,) and sample.gradient.shape == (exact.size, 4)
    found = exact.map(U)
    assert sample.value[layout.position] == pytest.approx(found.x.ravel())
    assert sample.value[list(layout.point("/arm/beam.1"))] == pytest.approx(found.points[1])
    assert exact.masses().sum() == pytest.approx(3 * 0.0428)


@pytest.mark.parametrize(
    "changed",
    [{"young_modulus": 301.0}, {"poisson_ratio": 0.41}, {"scale": 4001.0}],
)
def test_another_material_or_scale_is_another_model(exact, changed):
    parameters = {name: value for name, value in changed.items() if name != "scale"}
    scale = changed.get("scale", 4000.0)
    other = ExactMap(SCENE, scale=scale, points=("/arm/beam",), parameters=parameters)
    assert other.model != exact.model


def test_the_same_model_has_the_same_digest_wherever_it_is_and_whatever_it_did(exact, tmp_path):
    """Another folder of the scene's files, another time step and a moved robot change nothing."""
    (tmp_path / "meshes").mkdir()
    for name in ("laser_arm.py", "meshes/arm.vtk"):
        (tmp_path / name).write_bytes((SCENE.parent / name).read_bytes())
    exact(U)
    there = tmp_path / "laser_arm.py"
    other = ExactMap(there, scale=4000.0, points=("/arm/beam",), parameters={"dt": 0.02})
    assert other.model == exact.model == model_hash(exact.map)


def test_it_travels_to_other_processes_without_its_scene(exact):
    sent = pickle.dumps(exact)
    assert len(sent) < 1000
    arrived, again = pickle.loads(sent), pickle.loads(sent)
    assert arrived.map is again.map  # built once in a process
    assert arrived(U).value == pytest.approx(exact(U).value, abs=1e-8)


def test_second_derivatives_are_those_of_the_gradients(exact):
    """Central differences with h = 1e-3, whose error is h^2 of the curvature's own: 1e-4."""
    weights = np.random.default_rng(0).normal(size=(1, exact.size))
    exact.at(U[None])
    found = exact.curvature(U[None], weights)[0]
    h = 1e-3
    ends = exact.at(np.array([U + s * e for e in h * np.eye(4) for s in (1, -1)])).gradient
    slopes = np.einsum("kni,n->ki", ends, weights[0])
    expected = (slopes[::2] - slopes[1::2]) / (2.0 * h)
    assert found == pytest.approx(expected, abs=1e-4 * np.abs(expected).max())


def test_an_unknown_point_names_the_nodes_that_there_are():
    with pytest.raises(SceneError, match="No node '/arm/tip' with a state. Known: /arm, "):
        equilibrium_map(SCENE, scale=1.0, points=["/arm/tip"])


@pytest.fixture
def strip():
    return ExactMap(STRIP, scale=100.0)


def tip(sample, strip):
    """Where its last node is, across: to the right if positive [mm]."""
    return sample.value[strip.layout.node(strip.layout.nodes - 1)[0]]


def led(strip, controls):
    """Samples along controls, each sought from the one before."""
    samples, near = [], None
    for u in np.array(controls, float):
        samples.append(strip(u, near))
        near = Neighbour(u, samples[-1])
    return samples


def test_an_unstable_balance_is_left_for_a_stable_one(strip, monkeypatch):
    """Upright it is in balance within 6 mm of its place; at rest it leans by more than half of its
    length. Without the way down it is refused, and has no numbers in a plan."""
    found = strip.map(np.zeros(2))
    assert found.stable and found.residual < 1e-9
    assert abs(tip(strip(np.zeros(2)), strip)) > 50.0
    monkeypatch.setattr(equilibrium, "DESCENT_STEPS_MAX", 0)
    with pytest.raises(MapError, match="unstable balance"):
        strip(np.zeros(2))
    assert np.isnan(strip.at(np.zeros((1, 2))).value).all()


@pytest.mark.soak
def test_there_are_two_shapes_without_tension_and_either_is_kept_until_it_ends(strip):
    """Mirror images but for the mesh, 4 %; a line of -0.5 pushes it over to the other side."""
    right = led(strip, [[1.0, 0.0], [0.5, 0.0], [0.0, 0.0], [-0.25, 0.0], [-0.5, 0.0]])
    left = strip(np.zeros(2))
    assert [tip(sample, strip) > 50.0 for sample in right] == 4 * [True] + [False]
    assert tip(left, strip) == pytest.approx(-tip(right[2], strip), rel=0.04)


@pytest.mark.soak
def test_cells_hold_one_shape_each(strip):
    """Across the diagonal: each corner is asked from the nearest known one, and is left or right of
    it. The cell on the diagonal takes one of both at all its corners."""
    grid = Grid(strip, [0.25, 0.25], origin=-0.125)
    for middle in ([1.25, 0.0], [1.0, 0.25], [0.5, 0.5], [0.25, 1.0], [0.25, 0.75]):
        inside, _ = grid.places([middle])
        assert inside.all()
    assert grid.counts.branching > 0
    across = strip.layout.node(strip.layout.nodes - 1)[0]
    for rows in grid.cells.rows[: grid.cells.size]:
        assert len(set(np.sign(grid.corners.data[rows, 0, across]))) == 1
