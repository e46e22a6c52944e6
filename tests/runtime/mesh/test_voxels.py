"""Cells that a surface meets or encloses."""

import numpy as np
import pytest

from sofa_softctl.runtime.mesh.voxels import BOUNDARY, INSIDE, OUTSIDE, VoxelGrid, voxelize

CORNERS = np.array([[x, y, z] for z in (0.0, 1.0) for y in (0.0, 1.0) for x in (0.0, 1.0)])
QUADS = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]
CUBE = np.array([[q[0], q[k], q[k + 1]] for q in QUADS for k in (1, 2)])


def grid(low, high, counts):
    low, counts = np.array(low, float), np.array(counts)
    return VoxelGrid(low, (np.array(high) - low) / counts, counts)


def test_of_a_cube_the_outer_cells_are_met_and_the_inner_ones_enclosed():
    """Five cells along each side, of which the cube reaches into all; 3^3 lie within."""
    kinds = voxelize(CORNERS, CUBE, grid([-0.05] * 3, [1.05] * 3, [5, 5, 5]))
    kinds = kinds.reshape(5, 5, 5)
    assert (kinds[1:-1, 1:-1, 1:-1] == INSIDE).all()
    assert (kinds == BOUNDARY).sum() == 5**3 - 3**3


def test_cells_around_the_surface_are_outside():
    kinds = voxelize(CORNERS, CUBE, grid([-1.0] * 3, [2.0] * 3, [9, 9, 9]))
    assert (kinds == OUTSIDE).sum() > 9**3 - 5**3
    assert (kinds == INSIDE).sum() >= 1


def test_through_a_hole_the_outside_enters():
    kinds = voxelize(CORNERS, CUBE[2:], grid([-0.05] * 3, [1.05] * 3, [5, 5, 5]))
    assert not (kinds == INSIDE).any()


def test_the_cells_of_a_sphere_bound_its_volume():
    """Enclosed cells lie in it, and with those that are met they cover it; the error of either is
    of the order of a cell's diagonal times the area."""
    u, v = np.meshgrid(np.linspace(0, 2 * np.pi, 61)[:-1], np.linspace(0, np.pi, 31))
    points = np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)], axis=2)
    number = np.arange(u.size).reshape(u.shape)
    a, b = number[:-1], np.roll(number[:-1], -1, axis=1)
    c, d = np.roll(number[1:], -1, axis=1), number[1:]
    triangles = np.concatenate([np.stack(t, axis=2).reshape(-1, 3) for t in ([a, b, c], [a, c, d])])
    cells = grid([-1.1] * 3, [1.1] * 3, [22, 22, 22])
    kinds = voxelize(points.reshape(-1, 3), triangles, cells)
    volume = float(np.prod(cells.size))
    inner, met = (kinds == INSIDE).sum() * volume, (kinds == BOUNDARY).sum() * volume
    assert inner < 4.0 / 3.0 * np.pi < inner + met
    assert met < 4.0 * np.pi * 2.0 * np.linalg.norm(cells.size)


@pytest.mark.parametrize("seed", range(3))
def test_triangles_touch_the_cells_in_which_they_have_points(seed):
    """Random triangles, sampled densely: every cell with a sample is met; those that are met and
    have none are few, as a triangle only grazes them."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1.0, 1.0, (3, 3))
    cells = grid([-1.0] * 3, [1.0] * 3, [7, 5, 6])
    found = voxelize(points, np.array([[0, 1, 2]]), cells) == BOUNDARY
    weights = rng.dirichlet([1.0, 1.0, 1.0], 200_000)
    places = np.floor(cells.steps(weights @ points)).astype(int)
    hit = np.zeros_like(found)
    hit[cells.numbers(np.clip(places, 0, cells.counts - 1))] = True
    assert not (hit & ~found).any()
    assert (found & ~hit).sum() <= 0.1 * found.sum()


def test_a_side_in_the_plane_between_cells_meets_those_above_it():
    """Where its vertices lie, as in SOFA: the cells below are not asked."""
    kinds = voxelize(CORNERS, CUBE, grid([-1.0] * 3, [2.0] * 3, [3, 3, 3])).reshape(3, 3, 3)
    assert (kinds[1:, 1:, 1:] == BOUNDARY).all()
    assert (kinds == BOUNDARY).sum() == 8
