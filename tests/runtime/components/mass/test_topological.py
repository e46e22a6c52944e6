"""What DiagonalMass and MeshMatrixMass share: the elements, the density, the total."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.helper.message import complaints
from sofa_softctl.runtime.simulation import snapshot

GRAVITY = np.array([1.0, -9.81, 0.5])
both_masses = pytest.mark.parametrize("kind", ["DiagonalMass", "MeshMatrixMass"])

SHAPES = {
    "edges": ([[0, 0, 0], [3, 0, 0], [3, 4, 0]], [[0, 1], [1, 2]], 7.0),
    "triangles": ([[0, 0, 0], [3, 0, 0], [3, 4, 0], [0, 4, 0]], [[0, 1, 2], [0, 2, 3]], 12.0),
    "tetrahedra": ([[0, 0, 0], [3, 0, 0], [0, 4, 0], [0, 0, 5]], [[0, 1, 2, 3]], 10.0),
    "quads": ([[0, 0, 0], [3, 0, 0], [3, 4, 0], [0, 4, 0]], [[0, 1, 2, 3]], 12.0),
    "hexahedra": (
        [[x, y, z] for z in (0, 5) for x, y in ((0, 0), (3, 0), (3, 4), (0, 4))],
        [[0, 1, 2, 3, 4, 5, 6, 7]],
        60.0,
    ),
}
"""Positions, elements and size of each kind."""


@pytest.fixture
def massive(root, integrated, run):
    """Makes a mass on a topology."""

    def make(kind, positions, element_kind, elements, rest=None, **values):
        node = integrated(root, "body", positions)
        if rest is not None:
            node.dofs.rest_position.value = rest
        node.addObject("MeshTopology", position=positions, **{element_kind: elements})
        mass = node.addObject(kind, **values)
        run(root)
        return mass

    return make


@both_masses
@pytest.mark.parametrize("shape", SHAPES)
def test_the_density_times_the_size_is_the_total(shape, kind, massive):
    """sum of gravity = rho V g, with V a volume, an area or a length; totalMass tells rho V."""
    positions, elements, size = SHAPES[shape]
    mass = massive(kind, positions, shape, elements, massDensity=0.5)
    force = np.zeros((len(positions), 3))
    mass.add_gravity(force, GRAVITY)
    assert force.sum(axis=0) == pytest.approx(0.5 * size * GRAVITY)
    assert mass.totalMass.value == pytest.approx(0.5 * size)


@both_masses
@pytest.mark.parametrize("shape", SHAPES)
def test_the_total_fixes_the_density(shape, kind, massive, tolerant, caplog):
    """The weight is the given one, also beside a density: the total wins, and that is said."""
    positions, elements, _ = SHAPES[shape]
    mass = massive(kind, positions, shape, elements, totalMass=3.0, massDensity=77.0)
    force = np.zeros((len(positions), 3))
    mass.add_gravity(force, GRAVITY)
    assert force.sum(axis=0) == pytest.approx(3.0 * GRAVITY)
    assert "has both 'totalMass' and 'massDensity': only 'totalMass' counts" in caplog.text


@both_masses
def test_without_a_number_the_total_is_one(kind, massive):
    """SOFA's default."""
    positions, elements, _ = SHAPES["tetrahedra"]
    assert massive(kind, positions, "tetrahedra", elements).totalMass.value == 1.0


@both_masses
def test_orientation_does_not_matter(kind, massive, dense, root):
    """A tetrahedron of negative volume weighs as much."""
    positions, elements, _ = SHAPES["tetrahedra"]
    mass = massive(kind, positions, "tetrahedra", [elements[0][::-1]], massDensity=2.0)
    assert mass.totalMass.value == pytest.approx(20.0)


@pytest.mark.parametrize(
    ("kind", "on_rest", "factor"),
    [
        ("DiagonalMass", {}, 1.0),
        ("DiagonalMass", {"computeMassOnRest": False}, 8.0),
        ("MeshMatrixMass", {}, 8.0),
        ("MeshMatrixMass", {"computeMassOnRest": True}, 1.0),
    ],
)
def test_the_sizes_are_those_at_rest_or_at_init(kind, on_rest, factor, massive):
    """Positions at init are twice as large as at rest; the defaults differ as in SOFA."""
    positions, elements, size = SHAPES["tetrahedra"]
    twice = (2.0 * np.array(positions)).tolist()
    mass = massive(kind, twice, "tetrahedra", elements, rest=positions, massDensity=1.0, **on_rest)
    assert mass.totalMass.value == pytest.approx(factor * size)
    assert mass.massDensity.value.tolist() == [1.0]


@both_masses
def test_tetrahedra_count_before_triangles(kind, massive):
    """The elements of the highest dimension carry the mass."""
    positions, elements, size = SHAPES["tetrahedra"]
    mass = massive(kind, positions, "tetrahedra", elements, massDensity=1.0)
    mass.find_topology().triangles.value = [[0, 1, 2]]
    mass.reinit()
    assert mass.totalMass.value == pytest.approx(size)


@both_masses
def test_quads_count_before_triangles(kind, massive):
    """SOFA's order."""
    positions, elements, size = SHAPES["quads"]
    mass = massive(kind, positions, "quads", elements, massDensity=1.0)
    mass.find_topology().triangles.value = [[0, 1, 2]]
    mass.reinit()
    assert mass.totalMass.value == pytest.approx(size)


@both_masses
def test_a_topology_without_elements_is_an_error(kind, root, integrated, run):
    node = integrated(root, "body", np.zeros((2, 3)))
    node.addObject("MeshTopology", name="mesh")
    node.addObject(kind, massDensity=1.0)
    with pytest.raises(SceneError, match="finds no elements in MeshTopology '/body/mesh'"):
        run(root)


@both_masses
def test_no_topology_is_an_error(kind, root, integrated, run):
    node = integrated(root, "body", np.zeros((2, 3)))
    node.addObject(kind, massDensity=1.0)
    with pytest.raises(SceneError, match="needs a topology"):
        run(root)


@both_masses
def test_a_mass_that_is_none_is_an_error(kind, massive):
    positions, elements, _ = SHAPES["tetrahedra"]
    with pytest.raises(SceneError, match="needs a positive mass, got -10"):
        massive(kind, positions, "tetrahedra", elements, massDensity=-1.0)


@both_masses
def test_a_mass_that_changes_in_a_run_counts_from_then_on(kind, massive, tolerant):
    positions, elements, size = SHAPES["tetrahedra"]
    mass = massive(kind, positions, "tetrahedra", elements, massDensity=0.5)
    mass.massDensity.value = [1.5]
    mass.totalMass.value = 77.0  # the density was given, and counts
    assert mass.totalMass.value == pytest.approx(1.5 * size)
    force = np.zeros((len(positions), 3))
    mass.add_gravity(force, GRAVITY)
    assert force.sum(axis=0) == pytest.approx(1.5 * size * GRAVITY)


@both_masses
def test_a_snapshot_brings_back_the_mass_of_then(root, kind, massive):
    positions, elements, _ = SHAPES["tetrahedra"]
    mass = massive(kind, positions, "tetrahedra", elements, totalMass=3.0)
    kept = snapshot.take_snapshot(root)
    mass.totalMass.value = 6.0
    snapshot.put_back(root, kept)
    mass.totalMass.value = 4.0
    force = np.zeros((len(positions), 3))
    mass.add_gravity(force, GRAVITY)
    assert force.sum(axis=0) == pytest.approx(4.0 * GRAVITY)


TWO = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, -3]], dtype=float)
BOTH = [[0, 1, 2, 3], [0, 2, 1, 4]]
"""Two tetrahedra of volumes 1/6 and 1/2."""


def test_a_matrix_has_a_density_for_each_element(massive):
    mass = massive("MeshMatrixMass", TWO, "tetrahedra", BOTH, massDensity=[6.0, 4.0])
    assert mass.totalMass.value == pytest.approx(3.0)
    assert mass.row_sums[3:, 0] == pytest.approx([0.25, 0.5])
    mass.massDensity.value = [12.0, 2.0]
    assert mass.row_sums[3:, 0] == pytest.approx([0.5, 0.25])
    mass.massDensity.value = [2.0]
    assert mass.totalMass.value == pytest.approx(4.0 / 3.0)
    assert mass.row_sums[4, 0] == pytest.approx(0.25)


def test_a_total_beside_densities_does_not_count(massive, tolerant):
    mass = massive("MeshMatrixMass", TWO, "tetrahedra", BOTH, massDensity=[6.0, 4.0])
    mass.totalMass.value = 50.0
    assert mass.totalMass.value == pytest.approx(3.0)
    assert mass.massDensity.value.tolist() == [6.0, 4.0]


def test_densities_that_do_not_fit_leave_the_total_as_in_sofa(massive, tolerant):
    with complaints() as found:
        mass = massive("MeshMatrixMass", TWO, "tetrahedra", BOTH, massDensity=[6.0, 4.0, 1.0])
    assert "has 3 'massDensity' for 2 elements: give one, or one for each" in str(found[0])
    assert mass.totalMass.value == pytest.approx(1.0)
    assert mass.massDensity.value == pytest.approx([1.5])


def test_a_lumped_mass_has_one_density(massive, tolerant):
    with complaints() as found:
        mass = massive("DiagonalMass", TWO, "tetrahedra", BOTH, massDensity=[6.0, 4.0])
    assert "2 entries for 1 body" in str(found[0])
    assert mass.totalMass.value == pytest.approx(4.0)
