import numpy as np
import pytest

from sofa_softctl.view.movie.animation import AnimatedPoint, AnimatedSurface, Animation, frames_at
from sofa_softctl.view.movie.surface import surface_triangles

CUBE = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)], dtype=float)
KUHN = np.array(
    [[0, 1, 3, 7], [0, 5, 1, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 4, 5, 7], [0, 6, 4, 7]]
)
"""Six tetrahedra of positive volume that fill a cube."""


def test_the_surface_of_a_cube_is_twelve_triangles():
    assert surface_triangles(KUHN).shape == (12, 3)


def test_the_surface_is_seen_from_outside():
    """The divergence theorem: the volume under outward faces is the cube's, 1, to rounding."""
    a, b, c = (CUBE[surface_triangles(KUHN)][:, i] for i in range(3))
    volume = np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0
    assert volume == pytest.approx(1.0, abs=1e-14)


def test_inverted_tetrahedra_are_turned_when_positions_are_known():
    turned = KUHN[:, [0, 2, 1, 3]]
    faces = surface_triangles(turned, CUBE)
    a, b, c = (CUBE[faces][:, i] for i in range(3))
    volume = np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0
    assert volume == pytest.approx(1.0, abs=1e-14)


def test_frames_play_in_real_time_and_include_the_last():
    time = np.arange(1, 201) * 0.01
    frames = frames_at(time, 20.0)
    assert len(frames) == 41  # 1.99 s at 20 frames a second, and the first
    assert frames[0] == 0
    assert frames[-1] == 199
    assert np.abs(np.diff(time[frames[:-1]]) - 0.05).max() < 0.0101  # a step of the simulation


def test_bounds_hold_everything_that_is_ever_shown():
    animation = Animation(
        np.array([0.0, 1.0]),
        [AnimatedSurface("b", np.stack([CUBE, CUBE + 1.0]), surface_triangles(KUHN))],
        markers=[AnimatedPoint("m", np.array([[5.0, 0.0, 0.0], [0.0, -3.0, 0.0]]))],
    )
    low, high = animation.bounds()
    assert low.tolist() == [0.0, -3.0, 0.0]
    assert high.tolist() == [5.0, 2.0, 2.0]
