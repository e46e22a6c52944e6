import numpy as np
import pytest

from sofa_softctl.view.movie.surface import balls, surface_triangles

CUBE = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)], dtype=float)
KUHN = np.array(
    [[0, 1, 3, 7], [0, 5, 1, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 4, 5, 7], [0, 6, 4, 7]]
)
"""Six tetrahedra of positive volume that fill a cube."""


def enclosed_volume(positions, triangles):
    """The divergence theorem: a sixth of the sum of a . (b x c), if all faces look outwards."""
    a, b, c = (positions[triangles][:, i] for i in range(3))
    return np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0


def test_the_surface_of_a_cube_is_twelve_triangles_on_its_sides():
    triangles = surface_triangles(KUHN)
    assert triangles.shape == (12, 3)
    flat = np.ptp(CUBE[triangles], axis=1).min(axis=1)  # a face of a cube is flat along one axis
    assert flat.tolist() == [0.0] * 12


def test_the_surface_encloses_the_volume_of_its_tetrahedra():
    """1, to rounding; the cube is moved away from the origin so that no term vanishes."""
    assert enclosed_volume(CUBE + 0.3, surface_triangles(KUHN)) == pytest.approx(1.0, abs=1e-14)


def test_every_edge_of_a_surface_is_walked_once_in_each_direction():
    triangles = surface_triangles(KUHN)
    edges = {(int(t[i]), int(t[(i + 1) % 3])) for t in triangles for i in range(3)}
    assert len(edges) == 36
    assert {(b, a) for a, b in edges} == edges


def test_with_positions_inverted_tetrahedra_look_outwards_too():
    mixed = KUHN.copy()
    mixed[1::2] = mixed[1::2][:, [1, 0, 2, 3]]
    volumes = [enclosed_volume(CUBE, surface_triangles(mixed, p)) for p in (CUBE, None)]
    assert volumes[0] == pytest.approx(1.0, abs=1e-14)
    assert volumes[1] < 0.9  # without positions, half of them look inwards


def test_the_given_tetrahedra_are_left_as_they_are():
    mirrored = KUHN[:, [1, 0, 2, 3]].copy()
    before = mirrored.copy()
    surface_triangles(mirrored, CUBE)
    assert (mirrored == before).all()


def test_no_tetrahedra_have_no_surface():
    assert surface_triangles(np.empty((0, 4), dtype=int), CUBE).shape == (0, 3)


def test_what_are_not_tetrahedra_are_refused():
    with pytest.raises(ValueError, match=r"must have shape \(m, 4\). Got: \(2, 3\)"):
        surface_triangles(np.zeros((2, 3), dtype=int))


def test_a_vertex_without_a_position_is_refused():
    with pytest.raises(ValueError, match="name vertices 0 to 7, but there are 5 positions"):
        surface_triangles(KUHN, CUBE[:5])


def test_balls_are_round_closed_and_where_they_are():
    """Two balls over three frames: every vertex at its radius; the volume of the inscribed solid
    with 320 faces is 3.3 % below that of the ball."""
    centres = np.arange(18.0).reshape(3, 2, 3)
    points, triangles = balls(centres, np.array([1.0, 2.0]))
    half = points.shape[1] // 2
    for ball, radius in ((slice(0, half), 1.0), (slice(half, None), 2.0)):
        offset = points[:, ball] - centres[:, [0 if radius == 1.0 else 1]]
        assert np.linalg.norm(offset, axis=2) == pytest.approx(radius)
    a, b, c = (points[0][triangles[:, k]] - centres[0].mean(axis=0) for k in range(3))
    volume = np.einsum("ij,ij->i", np.cross(a, b), c).sum() / 6.0
    assert volume == pytest.approx(4.0 / 3.0 * np.pi * (1.0 + 8.0), rel=0.04)
