import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sofa_softctl.runtime.mesh import Mesh, rotation_zyx

POINTS = np.array([[1.0, 2.0, 3.0], [-4.0, 0.5, 0.1], [0.3, -0.7, 11.0]])


def test_a_mesh_is_scaled_then_rotated_then_translated():
    """1e-14: a few roundings of coordinates of size 20; any other order differs by more than 1."""
    scale, degrees, shift = (2.0, 0.5, -1.0), (30.0, -50.0, 110.0), (1.0, 20.0, 3.0)
    turned = Rotation.from_euler("xyz", degrees, degrees=True)  # about fixed x, then y, then z
    expected = turned.apply(POINTS * scale) + shift
    assert Mesh(POINTS).transformed(scale, degrees, shift).positions == pytest.approx(
        expected, abs=1e-14 * 20
    )


def test_the_first_angle_turns_about_x_before_the_others():
    """90 degrees about x and z: y goes to z first, which then stays. 1e-15: cos(90) is 6e-17."""
    assert rotation_zyx((90.0, 0.0, 90.0)) @ [0.0, 1.0, 0.0] == pytest.approx(
        [0.0, 0.0, 1.0], abs=1e-15
    )


def test_a_neutral_transformation_keeps_every_bit():
    points = np.array([[0.1, 1 / 3, 1e-310], [np.pi, -1e300, 5e-324]])
    assert Mesh(points).transformed().positions.tobytes() == points.tobytes()


def test_a_transformation_keeps_the_elements():
    mesh = Mesh(POINTS, triangles=[[0, 1, 2]], edges=[[2, 0]]).transformed((-1, 1, 1))
    assert mesh.triangles.tolist() == [[0, 1, 2]]
    assert mesh.edges.tolist() == [[2, 0]]


def test_the_arrays_are_copies_that_cannot_be_written():
    points = POINTS.copy()
    mesh = Mesh(points)
    points[0, 0] = 99.0
    assert mesh.positions[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        mesh.positions[0, 0] = 5.0


def test_elements_of_the_wrong_size_are_refused():
    with pytest.raises(ValueError, match=r"tetrahedra of a mesh must have shape \(k, 4\)"):
        Mesh(POINTS, tetrahedra=[[0, 1, 2]])


def test_a_mesh_says_how_much_of_what_it_has():
    assert repr(Mesh(POINTS, edges=[[0, 1]])) == "Mesh(3 positions, 1 edges)"
