"""The rasteriser: each sample once, the nearest in front, areas and opacities."""

import numpy as np
import pytest

from sofa_softctl.view.movie.raster import BAND_SAMPLES, paint

WHITE = np.ones(4)
RED, BLUE = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


def painted(
    size=(40, 30), samples=2, triangles=(), segments=(), trails=(), background=WHITE, opaque=None
):
    """A picture of triangles (corners, color, opacity), segments and trails in pixels."""
    scale = np.array([samples, samples, 1.0])
    corners = np.array([np.array(t[0], float) * scale for t in triangles]).reshape(-1, 3, 3)
    ends = np.array([np.array(s[0], float) * scale for s in segments]).reshape(-1, 2, 3)
    points = [np.array(t[0], float) * [samples, samples, 1.0, 1.0] for t in trails]
    channels = 4 if background[3] < 1.0 else 3
    picture = np.empty((size[1], size[0], channels), dtype=np.uint8)
    paint(
        picture,
        samples,
        np.array(background, float),
        corners,
        np.array([[t[1]] * 3 for t in triangles], float).reshape(-1, 3, 3),
        np.array([t[2] for t in triangles], float),
        sum(t[2] == 1.0 for t in triangles) if opaque is None else opaque,
        ends,
        np.array([s[1] for s in segments], float).reshape(-1, 3),
        np.array([0.5 * samples * s[2] for s in segments], float),
        np.zeros(len(segments), dtype=bool),
        np.concatenate([np.empty((0, 4)), *points]),
        np.cumsum([0, *(len(path) for path in points)]),
        np.array([t[1] for t in trails], float).reshape(-1, 3),
        np.array([0.5 * samples * t[2] for t in trails], float),
        0.5,
    )
    return picture


def fan(seed, size=(40, 30)):
    """Triangles that fill the picture, around a random point inside."""
    rng = np.random.default_rng(seed)
    width, height = size
    x, y = rng.uniform(0.2, 0.8, 2) * size
    border = [(0, 0), (rng.uniform(1, width - 1), 0), (width, 0), (width, rng.uniform(1, 29))]
    border += [(width, height), (rng.uniform(1, width - 1), height), (0, height)]
    ends = zip(border, [*border[1:], border[0]], strict=True)
    return [[(x, y, 1.0), (*a, 1.0), (*b, 1.0)] for a, b in ends]


@pytest.mark.parametrize("seed", range(10))
def test_edges_of_a_veil_are_painted_once(seed):
    """Half of black over white is 128 (127.5 rounded) in all pixels, none twice or left out."""
    veils = [(corners, (0.0, 0.0, 0.0), 0.5) for corners in fan(seed)]
    assert set(painted(triangles=veils).ravel()) == {128}


def test_a_triangle_covers_its_area():
    """The mean darkness is area / pixels; 4 by 4 samples err by less than a row along its edges."""
    corners = [(3.3, 2.1, 1.0), (36.2, 9.7, 1.0), (15.4, 27.9, 1.0)]
    (ax, ay, _), (bx, by, _), (cx, cy, _) = corners
    area = 0.5 * abs((bx - ax) * (cy - ay) - (cx - ax) * (by - ay))
    picture = painted(samples=4, triangles=[(corners, (0.0, 0.0, 0.0), 1.0)])
    assert (255 - picture[..., 0].astype(int)).sum() / 255 == pytest.approx(area, rel=0.005)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_nearer_triangle_is_in_front_whatever_their_order(order):
    far = ([(0, 0, 0.5), (80, 0, 0.5), (0, 60, 0.5)], RED, 1.0)
    near = ([(0, 0, 1.0), (40, 0, 1.0), (0, 30, 1.0)], BLUE, 1.0)
    picture = painted(triangles=[(far, near)[k] for k in order])
    assert tuple(picture[2, 2]) == (0, 0, 255)
    assert tuple(picture[28, 30]) == (255, 0, 0)


def test_triangles_that_cut_each_other_meet_where_they_are_equally_far():
    """1 / distance of one falls along x from 1 to 0.5, of the other it rises: they meet midway."""
    one = [[(0, 0, 1.0), (40, 0, 0.5), (0, 30, 1.0)], [(40, 0, 0.5), (40, 30, 0.5), (0, 30, 1.0)]]
    two = [[(x, y, 1.5 - w) for x, y, w in corners] for corners in one]
    triangles = [(corners, RED, 1.0) for corners in one] + [(corners, BLUE, 1.0) for corners in two]
    picture = painted(triangles=triangles)
    assert (picture[:, :19, 0] == 255).all() and (picture[:, 21:, 2] == 255).all()
    assert not picture[:, :19, 2].any() and not picture[:, 21:, 0].any()


def test_what_reaches_beyond_the_picture_is_cut():
    huge = [(-1e7, -1e7, 1.0), (3e7, -1e7, 1.0), (-1e7, 3e7, 1.0)]
    line = ([(-1e6, 15.0, 2.0), (1e6, 15.0, 2.0)], BLUE, 4.0)
    picture = painted(triangles=[(huge, RED, 1.0)], segments=[line])
    assert (picture[15] == [0, 0, 255]).all() and (picture[5] == [255, 0, 0]).all()


def test_bands_leave_no_seam():
    """A picture of several bands is the same as parts of it: rows of a gradient without jumps."""
    size = (600, 400)
    assert size[0] * size[1] * 4 > 3 * BAND_SAMPLES
    veils = [(c, (0.0, 0.0, 0.0), 0.5) for c in fan(0, size)]
    trail = np.array([(5, 5, 2.0, 0.6), (595, 395, 2.0, 0.6)])
    picture = painted(size, triangles=veils, trails=[(trail, RED, 6.0)])
    clear = np.abs(np.subtract.outer(np.arange(400) * 590 / 390, np.arange(600) * 1.0)) > 20.0
    assert set(picture[clear].ravel()) == {128}
    middle = picture[np.arange(20, 380), (5 + (np.arange(20, 380) - 4.5) * 590 / 390).astype(int)]
    assert len(np.unique(middle, axis=0)) == 1


@pytest.mark.parametrize("width", [1.0, 3.0, 7.5])
def test_a_line_has_its_width(width):
    """Across a line, darkness sums to the width, to a sample's edge (a quarter of a pixel)."""
    line = ([(-10.0, 11.3, 1.0), (60.0, 17.9, 1.0)], (0.0, 0.0, 0.0), width)
    picture = painted(samples=4, segments=[line])
    slope = np.hypot(70.0, 6.6) / 70.0
    darkness = (255 - picture[:, 10:30, 0].astype(int)).sum(axis=0).mean() / 255
    assert darkness / slope == pytest.approx(width, abs=0.25)


def test_a_trail_that_covers_itself_counts_once():
    """There and back: 0.4 of red over white is (255, 153, 153), not 0.64 of it."""
    there = [(x, 15.0, 1.0, 0.4) for x in (5.0, 20.0, 35.0, 20.0, 5.0)]
    picture = painted(trails=[(there, RED, 8.0)])
    assert tuple(picture[15, 20]) == (255, 153, 153)


def test_a_veil_dims_the_trail_behind_it_and_a_body_hides_it():
    path = [(0.0, 15.0, 1.0, 1.0), (40.0, 15.0, 1.0, 1.0)]
    veil = ([(0, 0, 2.0), (20, 0, 2.0), (0, 60, 2.0)], (1.0, 1.0, 1.0), 0.5)
    body = ([(40, 0, 2.0), (40, 30, 2.0), (24, 15, 2.0)], BLUE, 1.0)
    picture = painted(triangles=[body, veil], trails=[(path, RED, 6.0)])
    assert tuple(picture[15, 5]) == (255, 128, 128)
    assert tuple(picture[15, 22]) == (255, 0, 0)
    assert tuple(picture[15, 35]) == (0, 0, 255)


def test_without_a_background_colors_are_those_of_the_bodies():
    """Half of red over nothing: the color is red, the opacity 128."""
    veil = ([(0, 0, 1.0), (40, 0, 1.0), (0, 30, 1.0)], RED, 0.5)
    picture = painted(triangles=[veil], background=np.zeros(4))
    assert tuple(picture[3, 3]) == (255, 0, 0, 128)
    assert tuple(picture[28, 38]) == (0, 0, 0, 0)
    edge = picture[(picture[..., 3] > 0) & (picture[..., 3] < 128)]
    assert len(edge) and (edge[:, 0] == 255).all()


def test_triangles_without_area_and_lines_without_length_paint_no_wrong_pixels():
    flat = ([(5, 5, 1.0), (20, 5, 1.0), (35, 5, 1.0)], RED, 1.0)
    point = ([(30.0, 20.0, 1.0), (30.0, 20.0, 1.0)], BLUE, 4.0)
    picture = painted(triangles=[flat], segments=[point])
    assert (picture[5] == 255).all()
    assert tuple(picture[20, 30]) == (0, 0, 255) and tuple(picture[20, 36]) == (255, 255, 255)
