"""Coarser meshes for the page."""

import numpy as np
import pytest

from sofa_softctl.view.browser.reduction import reduce_triangles


def torus(count):
    """A torus with radii 3 and 1: points (count^2, 3), triangles."""
    angle = np.linspace(0.0, 2.0 * np.pi, count, endpoint=False)
    u, v = np.meshgrid(angle, angle, indexing="ij")
    radius = 3.0 + np.cos(v)
    points = np.stack([radius * np.cos(u), radius * np.sin(u), np.sin(v)], axis=-1)
    a = np.arange(count**2).reshape(count, count)
    b, d = np.roll(a, -1, axis=0), np.roll(a, -1, axis=1)
    c = np.roll(b, -1, axis=1)
    triangles = np.concatenate([np.stack([a, b, c], axis=-1), np.stack([a, c, d], axis=-1)])
    return points.reshape(-1, 3), triangles.reshape(-1, 3)


def area(points, triangles):
    a, b, c = points[triangles].transpose(1, 0, 2)
    return 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum()


@pytest.mark.quick
@pytest.mark.parametrize("count_max", [10_000, 3_000, 500])
def test_fewer_triangles_keep_the_shape(count_max):
    points, triangles = torus(120)
    nodes, coarse = reduce_triangles(points, triangles, count_max)
    assert count_max / 4 < len(coarse) <= count_max
    assert area(points[nodes], coarse) == pytest.approx(area(points, triangles), rel=0.15)
    assert coarse.max() < len(nodes)


def test_a_small_mesh_stays_and_loses_its_unused_nodes():
    points, triangles = torus(20)
    points = np.concatenate([[[9.0, 9.0, 9.0]], points])
    nodes, same = reduce_triangles(points, triangles + 1, 10_000)
    assert np.array_equal(nodes[same], triangles + 1)
    assert len(nodes) == len(points) - 1


@pytest.mark.parametrize("triangles", [np.empty((0, 3), int), np.zeros((50, 3), int)])
def test_meshes_without_area(triangles):
    nodes, coarse = reduce_triangles(np.zeros((3, 3)), triangles, 10)
    assert len(coarse) <= 10
    assert coarse.size == 0 or coarse.max() < len(nodes)
