"""The exact map of a scene: what models are the same, and how it travels to other processes."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.equilibrium import equilibrium_map, model_hash
from sofa_softctl.surrogate.exact import ExactMap

SCENE = Path(__file__).parents[2] / "scenes" / "laser_arm.py"
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
