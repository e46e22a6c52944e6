"""Meshes of ellipsoids, and what is refused of users' meshes."""

import math
import re

import numpy as np
import pytest
from softctl_swimmer import (
    Flow,
    FlowInertia,
    Link,
    Swimmer,
    checked_surface,
    ellipsoid_surface,
)
from softctl_swimmer.flow.layers import layer_potentials

from sofa_softctl.errors import MeshError

AXES = (0.1, 0.03, 0.05)


def refused(message, vertices, triangles):
    with pytest.raises(MeshError, match=re.escape(message)):
        checked_surface(vertices, triangles, name="skin.obj")


@pytest.mark.parametrize("count", [*range(6, 40), 98, 353, 706])
def test_an_ellipsoid_has_as_many_vertices_as_asked_for_and_its_volume(count):
    skin = ellipsoid_surface(AXES, count)
    assert len(skin.vertices) == count
    assert len(skin.triangles) == 2 * count - 4  # Euler's formula of a closed surface
    assert skin.volume == pytest.approx(4 / 3 * math.pi * np.prod(AXES), rel=1e-12)


@pytest.mark.parametrize("count", [20, 21, 22, 23, 353])
def test_a_mesh_is_its_own_mirror_image_in_y_and_z_to_the_last_digit(count):
    skin = ellipsoid_surface(AXES, count)

    def triangles(vertices):
        return {frozenset(map(tuple, corners)) for corners in (vertices + 0.0)[skin.triangles]}

    for axis in (1, 2):
        mirror = np.ones(3)
        mirror[axis] = -1
        assert triangles(skin.vertices * mirror) == triangles(skin.vertices)


def test_the_same_volume_scaling_vanishes_with_the_second_order():
    """Inscribed polyhedra lack a volume of the order h^2, or 1 / count: slope -1, 0.1 for ends."""
    counts = [100, 400, 1600]
    missing = [
        1 - ellipsoid_surface(AXES, n, same_volume=False).volume / ellipsoid_surface(AXES, n).volume
        for n in counts
    ]
    slope = np.polyfit(np.log(counts), np.log(missing), 1)[0]
    assert slope == pytest.approx(-1, abs=0.1)


def test_solid_angles_of_a_closed_surface_sum_to_the_full_sphere_inside_and_to_zero_outside():
    """To rounding: the closed form is exact for polyhedra, which is why constants need no care."""
    skin = ellipsoid_surface(AXES, 100)
    points = np.array([[0, 0, 0], [0.05, 0.01, 0.02], [0.2, 0, 0], [0.0, 0.04, 0.0]])
    _, double = layer_potentials(skin.tables, points, skin.twist_velocities)
    assert double.sum(axis=1) == pytest.approx([-1, -1, 0, 0], abs=1e-13)


def test_no_rigid_motion_lets_fluid_through():
    """The flux of each unit twist through a closed surface is zero, to rounding."""
    skin = ellipsoid_surface(AXES, 100)
    assert np.abs(skin.twist_fluxes.sum(axis=0)).max() < 1e-16


def test_an_ellipsoid_refuses_too_few_vertices_and_wrong_semi_axes():
    with pytest.raises(MeshError, match="has 5 vertices; expected an integer >= 6"):
        ellipsoid_surface(AXES, 5)
    with pytest.raises(MeshError, match="expected three positive numbers"):
        ellipsoid_surface((0.1, -0.1, 0.1))


def test_an_open_mesh_is_refused_with_an_edge_of_the_hole():
    skin = ellipsoid_surface(AXES, 30)
    a, b, c = skin.triangles[4]
    open_mesh = np.delete(skin.triangles, 4, axis=0)
    with pytest.raises(MeshError, match=r"skin.obj is open: edge \[\d+, \d+\].*1 triangles") as got:
        checked_surface(skin.vertices, open_mesh, name="skin.obj")
    edge = {int(text) for text in re.findall(r"\d+", str(got.value))[:2]}
    assert edge < {a, b, c}
    assert "expected 2 (3 such edges)" in str(got.value)


def test_an_edge_of_three_triangles_is_refused():
    skin = ellipsoid_surface(AXES, 30)
    a, b, _ = skin.triangles[0]
    vertices = np.vstack([skin.vertices, [[1, 1, 1]]])
    refused("is not a surface", vertices, np.vstack([skin.triangles, [[a, b, 30], [b, a, 30]]]))


def test_flipped_triangles_are_named():
    skin = ellipsoid_surface(AXES, 30)
    triangles = skin.triangles.copy()
    triangles[[5, 17]] = triangles[[5, 17]][:, ::-1]
    refused("triangles 5, 17 (2 in all) are flipped", skin.vertices, triangles)


def test_a_mesh_turned_inside_out_is_refused():
    skin = ellipsoid_surface(AXES, 30)
    refused("all 56 triangles are flipped", skin.vertices, skin.triangles[:, ::-1])


def test_a_degenerate_triangle_is_named():
    skin = ellipsoid_surface(AXES, 30)
    vertices = skin.vertices.copy()
    a, b, c = skin.triangles[7]
    vertices[a] = (vertices[b] + vertices[c]) / 2
    refused("triangle 7 is degenerate", vertices, skin.triangles)


def test_wrong_arrays_are_refused():
    skin = ellipsoid_surface(AXES, 30)
    refused("vertices have shape (30, 2)", skin.vertices[:, :2], skin.triangles)
    refused("expected (T, 3) and integers", skin.vertices, skin.triangles * 1.0)
    refused("there are 20, numbered from 0", skin.vertices[:20], skin.triangles)
    refused("1 vertices belong to no", np.vstack([skin.vertices, [[0, 0, 0]]]), skin.triangles)
    bad = skin.vertices.copy()
    bad[4, 1] = np.nan
    refused("vertex 4 is", bad, skin.triangles)


def test_a_skin_within_a_skin_is_refused():
    skin = ellipsoid_surface(AXES, 40)
    points = np.vstack((skin.vertices, 0.5 * skin.vertices))
    refused("has 2 separate parts", points, np.vstack((skin.triangles, skin.triangles + 40)))
    refused("has no triangles", np.zeros((0, 3)), np.zeros((0, 3), dtype=int))


def test_a_skin_that_intersects_itself_is_noticed_by_its_added_mass():
    """A vertex is pulled through the far side: closed, and its volume is positive."""
    whole = ellipsoid_surface(AXES, 98)
    body = Swimmer((Link(AXES),))
    points = whole.vertices.copy()
    points[points[:, 0].argmax(), 0] = -0.3
    skin = checked_surface(points, whole.triangles)
    with pytest.raises(MeshError, match="not positive.* Does a skin intersect itself"):
        FlowInertia(Flow.from_swimmer(body, skins=[skin])).at(np.zeros(0))
    FlowInertia(Flow.from_swimmer(body, skins=[whole])).at(np.zeros(0))
