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


def test_given_masses_of_the_nodes_are_kept(body, dense):
    """vertexMass, when there is one for every node."""
    given = np.linspace(1.0, 2.0, 12)
    mass, _, _ = body(vertexMass=given.tolist())
    assert np.diag(dense(mass))[::3] == pytest.approx(given)
