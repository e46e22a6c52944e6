import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation import simulation


@pytest.fixture
def lattice(root):
    """Makes a grid with a state beside it."""

    def make(n, **values):
        made = root.addObject("RegularGridTopology", n=n, **values)
        root.addObject("MechanicalObject", name="dofs")
        simulation.init(root)
        return made

    return make


def test_vertices_run_along_x_then_y_then_z(lattice, root):
    """Number i + n_x (j + n_y k) at min + (i, j, k) size; a state beside it has them too."""
    found = lattice([3, 2, 4], min=[0, 0, 1], max=[2, 4, 7]).position.array()
    expected = [[i, 4.0 * j, 1.0 + 2.0 * k] for k in range(4) for j in range(2) for i in range(3)]
    assert found.tolist() == expected
    assert root.dofs.position.array().tolist() == expected


def test_elements_are_listed_as_in_sofa(lattice):
    """Recorded with SOFA v25.06: hexahedra round and up, quads in xy, xz and yz planes."""
    grid = lattice([3, 2, 2])
    assert grid.hexahedra.value.tolist() == [[0, 1, 4, 3, 6, 7, 10, 9], [1, 2, 5, 4, 7, 8, 11, 10]]
    assert grid.quads.value.tolist() == [
        [0, 1, 4, 3], [1, 2, 5, 4], [6, 7, 10, 9], [7, 8, 11, 10],
        [0, 1, 7, 6], [1, 2, 8, 7], [3, 4, 10, 9], [4, 5, 11, 10],
        [0, 3, 9, 6], [1, 4, 10, 7], [2, 5, 11, 8],
    ]  # fmt: skip
    assert grid.triangles.value.tolist()[:4] == [[0, 1, 4], [0, 4, 3], [1, 2, 5], [1, 5, 4]]
    assert grid.edges.value.tolist()[:6] == [[1, 4], [4, 0], [0, 1], [4, 3], [3, 0], [2, 5]]


@pytest.mark.parametrize("n", [(3, 2, 4), (4, 4, 1), (1, 3, 2), (5, 1, 1), (2, 1, 3)])
def test_numbers_of_elements_follow_from_the_numbers_of_vertices(n, lattice):
    """Of n = m + 1 vertices along each axis; edges are those of the triangles, diagonals too."""
    grid = lattice(list(n))
    x, y, z = n
    quads = (x - 1) * (y - 1) * z + (x - 1) * y * (z - 1) + x * (y - 1) * (z - 1)
    straight = (x - 1) * y * z + x * (y - 1) * z + x * y * (z - 1)
    assert len(grid.hexahedra.value) == (x - 1) * (y - 1) * (z - 1)
    assert len(grid.quads.value) == quads
    assert len(grid.triangles.value) == 2 * quads
    assert len(grid.edges.value) == straight + quads


def test_hexahedra_have_the_volume_of_the_box(lattice):
    """The edges from the first vertex to the second, fourth and fifth span a cell."""
    grid = lattice([3, 4, 5], min=[-1, 0, 0], max=[2, 3, 5])
    x = grid.position.array()[grid.hexahedra.array()]
    spans = x[:, [1, 3, 4]] - x[:, :1]
    assert np.linalg.det(spans).sum() == pytest.approx(45.0)
    assert (np.linalg.det(spans) > 0.0).all()


def test_a_flat_grid_lies_in_the_middle_along_x_and_y_and_at_min_along_z(lattice):
    """SOFA's rule, not the same along z."""
    found = lattice([1, 1, 1], min=[0, 0, 1], max=[2, 4, 6]).position.array()
    assert found.tolist() == [[1.0, 2.0, 1.0]]


def test_the_first_vertex_may_be_given(lattice):
    found = lattice([2, 2, 2], p0=[5, 6, 7]).position.array()
    assert found[0].tolist() == [5, 6, 7] and found[-1].tolist() == [6, 7, 8]


def test_the_size_of_the_cells_makes_their_number(lattice):
    """As many as reach max; the cells stay those of the given n, as in SOFA (see parity tests)."""
    grid = lattice([3, 3, 3], max=[1.0, 2.0, 3.0], cellWidth=0.9)
    assert grid.n.value.tolist() == [3, 4, 5]
    assert grid.position.array().max(axis=0) == pytest.approx([1.0, 3.0, 6.0])


def test_hexahedra_may_be_left_out(lattice):
    assert len(lattice([2, 2, 2], computeHexaList=False).hexahedra.value) == 0


@pytest.mark.parametrize("n", [[2, -2, 2], [2, 0, 2]])
def test_a_grid_of_no_vertices_is_complained_of(n, lattice):
    with pytest.raises(SceneError, match="needs n of three positive numbers, got"):
        lattice(n)


def test_sofa_goes_on_with_two_vertices_each_way(lattice, tolerant):
    """Its first vertex is still that of the n that was given (see parity tests)."""
    grid = lattice([0, 2, 2])
    assert grid.n.value.tolist() == [2, 2, 2]
    assert grid.position.array()[0].tolist() == [0.5, 0.0, 0.0]


def test_lists_that_are_not_computed_at_the_start_are_made_when_read(lattice, root):
    """The vertices reach the state, and the edges are those of the cells, without diagonals."""
    grid = lattice([2, 2, 2], computePointList=False, computeEdgeList=False)
    assert len(root.dofs.position.value) == 8
    assert len(grid.edges.value) == 12


def test_of_the_elements_that_are_given_quads_count(lattice):
    """As in SOFA; none are those of the hexahedra, in their order."""
    given = lattice([2, 2, 2], name="given", quads=[[0, 1, 3, 2]], edges=[[0, 7]])
    assert given.quads.value.tolist() == [[0, 1, 3, 2]]
    assert len(given.edges.value) == 18
    assert lattice([2, 2, 2], name="none", quads=[]).quads.value[0].tolist() == [0, 2, 3, 1]


def test_edges_that_are_derived_begin_with_the_lower_number(lattice):
    edges = lattice([2, 3, 2], computeEdgeList=False).edges.value
    assert len(edges) == 20
    assert (edges[:, 0] < edges[:, 1]).all()


def test_vertices_that_are_not_shown_are_there(lattice, root):
    grid = lattice([2, 2, 2], computePointList=False)
    assert len(grid.position.value) == 0
    assert root.dofs.position.value[-1].tolist() == [1.0, 1.0, 1.0]
