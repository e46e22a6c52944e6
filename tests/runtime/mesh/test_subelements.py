import numpy as np

from sofa_softctl.runtime.mesh import Mesh, with_subelements

SPLIT_CUBE = [[0, 1, 3, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 6, 4, 7], [0, 4, 5, 7], [0, 5, 1, 7]]
CUBE = np.array([[i & 1, i >> 1 & 1, i >> 2] for i in range(8)], dtype=float)


def test_a_ball_of_tetrahedra_has_the_euler_characteristic_of_a_ball():
    mesh = with_subelements(Mesh(CUBE, tetrahedra=SPLIT_CUBE))
    n = [len(x) for x in (mesh.positions, mesh.edges, mesh.triangles, mesh.tetrahedra)]
    assert n == [8, 19, 18, 6]
    assert n[0] - n[1] + n[2] - n[3] == 1


def test_faces_of_a_hexahedron_point_outwards():
    order = [0, 1, 3, 2, 4, 5, 7, 6]
    mesh = with_subelements(Mesh(CUBE, hexahedra=[order]))
    assert len(mesh.quads) == 6
    assert len(mesh.edges) == 12
    a, b, _, d = np.moveaxis(CUBE[mesh.quads], 1, 0)
    normals = np.cross(b - a, d - a)
    outwards = CUBE[mesh.quads].mean(axis=1) - CUBE.mean(axis=0)
    assert (np.einsum("ki,ki->k", normals, outwards) > 0).all()


def test_faces_of_a_tetrahedron_point_outwards():
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    mesh = with_subelements(Mesh(points, tetrahedra=[[0, 1, 2, 3]]))
    a, b, c = np.moveaxis(points[mesh.triangles], 1, 0)
    outwards = (a + b + c) / 3 - points.mean(axis=0)
    assert (np.einsum("ki,ki->k", np.cross(b - a, c - a), outwards) > 0).all()


def test_what_the_mesh_has_stays_first_and_is_not_repeated():
    mesh = with_subelements(
        Mesh(CUBE, tetrahedra=[[0, 1, 2, 3]], triangles=[[1, 3, 0]], edges=[[3, 2], [5, 6]])
    )
    assert mesh.triangles.tolist() == [[1, 3, 0], [0, 2, 1], [0, 3, 2], [1, 2, 3]]
    assert mesh.edges.tolist() == [[3, 2], [5, 6], [3, 0], [0, 1], [1, 3], [2, 1], [0, 2]]


def test_new_triangles_come_in_the_order_of_their_tetrahedra():
    """SOFA's order, counted out face by face."""
    mesh = with_subelements(Mesh(CUBE, tetrahedra=SPLIT_CUBE))
    seen, expected = set(), []
    for t in SPLIT_CUBE:
        for corners in ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)):
            face = [t[c] for c in corners]
            if frozenset(face) not in seen:
                seen.add(frozenset(face))
                expected.append(face)
    assert mesh.triangles.tolist() == expected


def test_points_alone_have_no_parts():
    assert repr(with_subelements(Mesh(CUBE))) == "Mesh(8 positions)"
