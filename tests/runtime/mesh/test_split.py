"""Regular refinement of meshes."""

from itertools import combinations

import numpy as np
import pytest

from sofa_softctl.errors import MeshError
from sofa_softctl.runtime.components.topology.parts import faces_of_tetrahedra
from sofa_softctl.runtime.mesh.checks import volumes
from sofa_softctl.runtime.mesh.mesh import Mesh
from sofa_softctl.runtime.mesh.split import split, split_edges


def test_parts_have_an_eighth_of_the_volume_each_and_are_turned_as_the_whole():
    """For each choice of the diagonal: random tetrahedra of both orientations."""
    points = np.random.default_rng(0).normal(size=(120, 3))
    mesh = Mesh(points, tetrahedra=np.arange(120).reshape(-1, 4))
    parts = split(mesh)
    whole = volumes(mesh)
    assert (whole > 0.0).any() and (whole < 0.0).any()
    eighths = np.repeat(whole[:, None] / 8.0, 8, axis=1)
    np.testing.assert_allclose(volumes(parts).reshape(-1, 8), eighths, rtol=1e-9)


def test_the_octahedron_in_the_middle_is_cut_along_its_shortest_diagonal():
    """Of the three between middles of opposite edges; each is the shortest one at times."""
    cut = []
    for points in np.random.default_rng(1).normal(size=(20, 4, 3)):
        whole = Mesh(points, tetrahedra=[[0, 1, 2, 3]])
        assert split_edges(whole).tolist() == list(map(list, combinations(range(4), 2)))
        parts = split(whole)
        diagonals = [(4, 9), (5, 8), (6, 7)]
        edges = {tuple(sorted(pair)) for one in parts.tetrahedra for pair in combinations(one, 2)}
        (found,) = [k for k, pair in enumerate(diagonals) if pair in edges]
        ends = parts.positions[np.array(diagonals)]
        assert found == np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).argmin()
        cut.append(found)
    assert set(cut) == {0, 1, 2}


def test_parts_of_neighbours_meet_and_old_points_keep_their_numbers(box):
    """Each face belongs to two tetrahedra or to the surface, which has four times the faces."""
    positions, tetrahedra = box(2, 2, 3)
    parts = split(Mesh(positions, tetrahedra=tetrahedra))
    np.testing.assert_array_equal(parts.positions[: len(positions)], positions)
    _, before = faces_of_tetrahedra(tetrahedra)
    _, after = faces_of_tetrahedra(parts.tetrahedra)
    assert set(after) == {1, 2}
    assert (after == 1).sum() == 4 * (before == 1).sum()
    ends = split_edges(Mesh(positions, tetrahedra=tetrahedra))
    np.testing.assert_allclose(parts.positions[len(positions) :], positions[ends].mean(axis=1))


def test_triangles_and_edges_are_split_at_the_same_points():
    mesh = Mesh(np.eye(3), triangles=[[0, 1, 2]], edges=[[0, 1], [2, 1]])
    parts = split(mesh)
    x = parts.positions[parts.triangles]
    normals = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    whole = np.cross(np.eye(3)[1] - np.eye(3)[0], np.eye(3)[2] - np.eye(3)[0])
    np.testing.assert_allclose(normals, np.tile(whole / 4.0, (4, 1)))
    assert len(parts.positions) == 6 and parts.edges[:, [0, 1]].tolist()[1::2] == [
        [parts.edges[0, 1], 1],
        [parts.edges[2, 1], 1],
    ]


def test_hexahedra_and_quads_are_refused():
    cube = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)], dtype=float)
    with pytest.raises(MeshError, match="Only tetrahedra can be split in eight; the mesh has 1 h"):
        split(Mesh(cube, hexahedra=[[0, 1, 3, 2, 4, 5, 7, 6]]))
