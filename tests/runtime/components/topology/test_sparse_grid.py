"""SparseGridTopology; that it is SOFA's is tested by the records of tests/parity/topologies.py."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation import simulation
from tests.parity.topologies import CUBE, ring


@pytest.fixture
def sparse(root):
    """Makes a sparse grid with a state beside it."""

    def make(**values):
        made = root.addObject("SparseGridTopology", name="grid", **values)
        root.addObject("MechanicalObject", name="dofs")
        simulation.init(root)
        return made

    return make


def volumes(grid):
    x = grid.position.array()[grid.hexahedra.array()]
    return np.linalg.det(x[:, [1, 3, 4]] - x[:, :1])


def test_the_state_beside_it_has_the_vertices_of_its_cells(sparse, root):
    grid = sparse(n=[7, 6, 4], **ring())
    assert root.dofs.position.array().tolist() == grid.position.array().tolist()
    assert np.unique(grid.hexahedra.array()).tolist() == list(range(grid.getNbPoints()))
    assert (volumes(grid) > 0.0).all()


def test_a_box_around_the_surface_is_two_hundredths_wider(sparse):
    grid = sparse(n=[3, 3, 3], **CUBE)
    assert grid.min.value.tolist() == pytest.approx([-0.02] * 3)
    assert grid.max.value.tolist() == pytest.approx([2.02] * 3)
    assert volumes(grid).sum() == pytest.approx(2.04**3)


def test_the_size_of_the_cells_makes_their_number(sparse):
    """ceil(2.04 / 0.5) cells, that is 5, of which SOFA stretches the size to the box."""
    grid = sparse(cellWidth=0.5, **CUBE)
    assert grid.n.value.tolist() == [6, 6, 6]
    assert grid.position.array().max(axis=0) == pytest.approx([2.02] * 3)


def test_finer_levels_weigh_the_material_of_each_cell(sparse):
    """Cells of 8^2 finer ones, each half filled if the surface meets it: the mean of these.

    The cube of 4 x 4 x 4 fine cells is met by all but its 2^3 inner ones.
    """
    grid = sparse(n=[2, 2, 2], nbVirtualFinerLevels=2, **CUBE)
    assert grid.getNbHexahedra() == 1
    assert grid.stiffness_factors().tolist() == [(0.5 * (64 - 8) + 8) / 64]


def test_half_the_stiffness_where_the_surface_meets_cells(sparse):
    grid = sparse(n=[6, 6, 6], **CUBE)
    assert grid.stiffness_factors().tolist() == [0.5] * (125 - 27) + [1.0] * 27


def test_the_file_of_a_surface_is_read(sparse, tmp_path):
    lines = [f"v {x} {y} {z}" for x, y, z in CUBE["position"]]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in CUBE["triangles"]]
    (tmp_path / "cube.obj").write_text("\n".join(lines) + "\n")
    grid = sparse(fileTopology=str(tmp_path / "cube.obj"), n=[3, 4, 3])
    assert grid.getNbHexahedra() == 12


def test_the_surface_of_a_loader_is_taken_by_src(root):
    """Whose triangles are no elements of the grid."""
    root.addObject("MeshTopology", name="surface", **CUBE)
    body = root.addChild("body")
    grid = body.addObject("SparseGridTopology", src="@../surface", n=[3, 3, 3])
    body.addObject("MechanicalObject", name="dofs")
    simulation.init(root)
    assert grid.getNbHexahedra() == 8 and len(body.dofs.position.value) == 27
    assert len(grid.triangles.value) == 0 and grid.getNbTriangles() == 0


def test_what_it_carries_keeps_its_place_in_the_cells(sparse, root):
    """Trilinear weights give every point back, those outside all cells too."""
    sparse(n=[7, 6, 4], **ring())
    points = np.random.default_rng(4).uniform(-3.0, 3.0, (40, 3))
    child = root.addChild("child")
    child.addObject("MechanicalObject", name="carried", position=points)
    child.addObject("BarycentricMapping")
    simulation.init(root)
    shift = np.array([0.1, -0.2, 0.3])
    root.dofs.position.value = root.dofs.position.array() * 2.0 + shift
    mapped = child.BarycentricMapping
    out = np.empty((40, 3))
    mapped.apply(root.dofs.position.array(), out)
    assert out == pytest.approx(points * 2.0 + shift, abs=1e-11)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "needs a surface: a fileTopology, or position and triangles"),
        ({**CUBE, "n": [4, 4]}, r"'n' of SparseGridTopology '/grid' takes 3 numbers, got \[4, 4\]"),
        ({**CUBE, "n": [10**5] * 3}, r"would have 1e\+15 cells, with n = "),
        ({**CUBE, "cellWidth": 1e-12}, "give a larger cellWidth"),
        ({**CUBE, "cellWidth": -1.0}, "needs a cellWidth above 0, got -1"),
        ({**CUBE, "min": [1, 0, 0], "max": [1, 2, 2]}, "has no volume between min"),
        ({**CUBE, "nbVirtualFinerLevels": 99}, "needs nbVirtualFinerLevels from 0 to 10, got 99"),
        ({**CUBE, "triangles": [[0, 1, 99]]}, "has a surface with a vertex that none of its 8 is"),
        ({**CUBE, "n": [3, 3, 3], "onlyInsideCells": True}, "no cell that its surface meets or"),
        ({**CUBE, "min": [5, 5, 5], "max": [6, 6, 6]}, "no cell that its surface meets or"),
        ({"fileTopology": "scan.raw"}, "reads surfaces, not files of voxels such as 'scan.raw'"),
        ({"position": [[0, 0, 0], [1, 1, 0]]}, "has no volume between min"),
    ],
)
def test_what_makes_no_grid_is_told(values, message, sparse):
    with pytest.raises(SceneError, match=message):
        sparse(**values)
