"""10-node tetrahedra: files, shape functions, faults of their nodes, eighths."""

import meshio
import numpy as np
import pytest

from sofa_softctl.errors import MeshError
from sofa_softctl.runtime.mesh.checks import check_mesh, volumes
from sofa_softctl.runtime.mesh.formats.read import read_mesh
from sofa_softctl.runtime.mesh.mesh import TETRAHEDRON_EDGES, Mesh
from sofa_softctl.runtime.mesh.quadratic import (
    QUADRATURE,
    describe_far_middles,
    describe_folds,
    middle_offsets,
    quadratic_jacobians,
    shape_derivatives,
)
from sofa_softctl.runtime.mesh.split import quadratic_nodes, split

VTK_EDGES = ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))
FILES = {
    "ten.vtk": {"file_format": "vtk42"},
    "ten.vtu": {"file_format": "vtu"},
    "ten.msh": {"file_format": "gmsh22", "binary": False},
    "binary.msh": {"file_format": "gmsh22", "binary": True},
    "new.msh": {"file_format": "gmsh", "binary": False},
    "ten.inp": {"file_format": "abaqus"},
}
"""meshio's options for each file of 10-node tetrahedra."""


@pytest.fixture
def block(box):
    """Points and tetrahedra of a block, and its tetrahedra with 10 nodes each."""
    positions, tetrahedra = box(2, 2, 3)
    parts = split(Mesh(positions, tetrahedra=tetrahedra))
    return parts.positions, quadratic_nodes(parts.tetrahedra)


def write_quadratic(path, positions, nodes, **options):
    """A file with the tetrahedra in VTK's order of nodes, which is meshio's."""
    edges = TETRAHEDRON_EDGES.tolist()
    columns = [0, 1, 2, 3, *(4 + edges.index(list(edge)) for edge in VTK_EDGES)]
    cells = [("tetra10", nodes[:, columns])]
    tags = {f"gmsh:{kind}": [np.ones(len(nodes), int)] for kind in ("physical", "geometrical")}
    data = tags if options["file_format"].startswith("gmsh") else {}
    meshio.write(path, meshio.Mesh(positions, cells, cell_data=data), **options)


@pytest.mark.parametrize("name", FILES)
def test_files_of_every_kind_give_the_middle_nodes_of_each_edge(tmp_path, block, name):
    positions, nodes = block
    write_quadratic(tmp_path / name, positions, nodes, **FILES[name])
    mesh = read_mesh(tmp_path / name)
    np.testing.assert_array_equal(mesh.tetrahedra, nodes[:, :4])
    np.testing.assert_array_equal(mesh.middles, nodes[:, 4:])


def test_a_file_of_gid_gives_the_middle_nodes_of_each_edge(tmp_path):
    corners = np.array([[0, 0, 0], [2, 0, 0], [0, 2, 0], [0, 0, 2]])
    points = [*corners, *(corners[list(edge)].mean(axis=0) for edge in VTK_EDGES)]
    lines = [f"{k} {x:g} {y:g} {z:g}" for k, (x, y, z) in enumerate(points, 1)]
    (tmp_path / "ten.gid").write_text(
        "MESH dimension 3 ElemType Tetrahedra Nnode 10\nCoordinates\n"
        + "\n".join(lines)
        + "\nEnd Coordinates\nElements\n1 1 2 3 4 5 6 7 8 9 10\nEnd Elements\n"
    )
    mesh = read_mesh(tmp_path / "ten.gid")
    halves = mesh.positions[mesh.tetrahedra[0]][TETRAHEDRON_EDGES].mean(axis=1)
    np.testing.assert_array_equal(mesh.positions[mesh.middles[0]], halves)


def test_middle_nodes_that_do_not_exist_are_named():
    mesh = Mesh(np.eye(4, 3), tetrahedra=[[0, 1, 2, 3]], middles=[[0, 1, 2, 3, 9, 1]])
    with pytest.raises(MeshError, match="1 of 1 middles join points that do not exist"):
        check_mesh(mesh, "a.vtk")


def test_shape_functions_reproduce_quadratic_fields():
    """Interpolated x^2 has the derivative 2 x at the integration points, to rounding."""
    rng = np.random.default_rng(0)
    corners = rng.normal(size=(4, 3))
    nodes = np.concatenate([corners, corners[TETRAHEDRON_EDGES].mean(axis=1)])
    jacobian = quadratic_jacobians(nodes, np.arange(10)[None])[0]
    exact = (corners[1:] - corners[0]).T
    np.testing.assert_allclose(jacobian, np.broadcast_to(exact, (4, 3, 3)), atol=1e-14)
    by_coordinate = np.einsum("pai,a->pi", shape_derivatives(), nodes[:, 0] ** 2)
    gradient = np.linalg.solve(np.swapaxes(jacobian, 1, 2), by_coordinate[..., None])[..., 0]
    x = QUADRATURE @ corners[:, 0]
    np.testing.assert_allclose(gradient, x[:, None] * [2.0, 0.0, 0.0], atol=1e-12)


def test_eighths_take_the_middle_nodes_that_there_are(block):
    """Moved ones too; neighbours without any get new ones, at the end."""
    positions, nodes = block
    bent = positions + 0.1 * np.sin(positions[:, [1, 2, 0]])
    parts = split(Mesh(bent, tetrahedra=nodes[:, :4], middles=nodes[:, 4:]))
    np.testing.assert_array_equal(parts.positions, bent)
    np.testing.assert_array_equal(quadratic_nodes(parts.tetrahedra), nodes)
    some = nodes[:, 4:].copy()
    some[1:] = -1
    mixed = split(Mesh(positions, tetrahedra=nodes[:, :4], middles=some))
    middles = quadratic_nodes(mixed.tetrahedra)[:, 4:]
    np.testing.assert_array_equal(middles[0], nodes[0, 4:])
    assert middles[1:].max() == len(mixed.positions) - 1 > len(positions)
    np.testing.assert_allclose(volumes(mixed).sum(), volumes(parts).sum(), rtol=0.05)


def test_an_edge_with_two_middle_nodes_is_named(block):
    positions, nodes = block
    torn = nodes[:, 4:].copy()
    torn[0, 0] = 0
    with pytest.raises(MeshError, match="different points in their middle, first that from point"):
        split(Mesh(positions, tetrahedra=nodes[:, :4], middles=torn))


@pytest.mark.parametrize("rows", [slice(None, -1), slice(None, None, -1)])
def test_tetrahedra_in_another_order_are_not_eighths(box, rows):
    positions, tetrahedra = box(2, 2, 2)
    parts = split(Mesh(positions, tetrahedra=tetrahedra)).tetrahedra
    assert quadratic_nodes(parts) is not None
    assert quadratic_nodes(parts[rows]) is None
    assert quadratic_nodes(np.tile(tetrahedra, (4, 1))) is None


def test_a_node_more_than_a_quarter_of_the_edge_off_is_named(block):
    positions, nodes = block
    moved = positions.copy()
    a, b = nodes[0, [0, 1]]
    moved[nodes[0, 4]] += 0.26 * (positions[b] - positions[a])
    assert middle_offsets(moved, nodes).max() == pytest.approx(0.26)
    assert describe_far_middles(positions, nodes) == ""
    said = describe_far_middles(moved, nodes)
    assert "has 1 nodes of 10-node tetrahedra that are more than a quarter of the edge" in said
    assert f"on the edge from node {a} to {b}: 0.26 times its length" in said


def test_a_folded_element_is_named_with_the_integration_point(block):
    """Its middle nodes are moved along by half of an edge, so that the first corner turns over."""
    positions, nodes = block
    moved = positions.copy()
    moved[nodes[0, 4:7]] += 0.45 * (positions[nodes[0, 1:4]] - positions[nodes[0, 0]])
    jacobians = np.linalg.det(quadratic_jacobians(moved, nodes))
    said = describe_folds(moved, nodes, jacobians, "10-node tetrahedron")
    assert "first 10-node tetrahedron 0 near" in said
    point = int(jacobians[0].argmin())
    assert f"its Jacobian is {jacobians[0, point]:g} at integration point {point}," in said
