import numpy as np
import pytest


@pytest.fixture
def body(root, integrated, run, grid):
    """Makes a DiagonalMass on a box of 2 x 1 x 1 cells."""

    def make(**values):
        points, elements = grid((2, 1, 1), (2.0, 3.0, 4.0))
        node = integrated(root, "body", points)
        node.addObject("MeshTopology", position=points.tolist(), tetrahedra=elements.tolist())
        mass = node.addObject("DiagonalMass", **values)
        run(root)
        return mass, points, elements

    return make


def test_each_tetrahedron_gives_a_quarter_of_its_mass_to_each_vertex(body, dense):
    """m_i = sum over the elements at i of rho V / 4; six equal elements in a cell of 1 x 3 x 4."""
    mass, points, elements = body(massDensity=2.0)
    counts = np.bincount(elements.ravel(), minlength=len(points))
    expected = counts * 2.0 * (12.0 / 6.0) / 4.0
    assert mass.vertexMass.array() == pytest.approx(expected)
    assert dense(mass) == pytest.approx(np.diag(np.repeat(expected, 3)))


def test_the_matrix_does_what_the_product_does(body, dense, product):
    mass, points, _ = body(totalMass=5.0)
    v = np.random.default_rng(0).uniform(-1.0, 1.0, points.shape)
    assert product(mass, v, 0.7).ravel() == pytest.approx(dense(mass, 0.7) @ v.ravel())


@pytest.mark.parametrize("count", [1, 5, 12])
def test_the_last_given_mass_is_that_of_all_further_nodes(count, body, dense, tolerant):
    """As SOFA fills the list; a list of several that is too short is said as well."""
    given = np.linspace(1.0, 2.0, count)
    full = np.append(given, np.full(12 - count, given[-1]))
    mass, _, _ = body(vertexMass=given.tolist())
    assert np.diag(dense(mass))[::3] == pytest.approx(full)
    assert mass.totalMass.value == pytest.approx(full.sum())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"vertexMass": [2.0] * 13}, "has 13 entries in 'vertexMass' for 12 nodes"),
        ({"vertexMass": [-1.0]}, "has a negative 'vertexMass', -1"),
        ({"vertexMass": [2.0], "massDensity": [0.5]}, "only 'massDensity' counts"),
        ({"vertexMass": [2.0], "totalMass": 12.0}, "only 'totalMass' counts"),
    ],
)
def test_masses_of_nodes_that_cannot_count_are_said(given, words, body, dense, tolerant, caplog):
    """A box of 24 weighs 12 by its density or total, and 1 where SOFA falls back to its default."""
    mass, _, _ = body(**given)
    assert mass.totalMass.value == pytest.approx(12.0 if len(given) == 2 else 1.0)
    assert words in caplog.text
