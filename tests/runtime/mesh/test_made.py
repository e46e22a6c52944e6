"""Meshes that are made where SOFA's file is missing."""

import numpy as np
import pytest

from sofa_softctl.runtime.mesh.made import made_mesh
from sofa_softctl.runtime.mesh.skin import measure_skin


@pytest.mark.parametrize(
    ("name", "side", "points", "triangles"),
    [("mesh/cube.obj", 2.0, 8, 12), ("mesh/smCube27.obj", 7.0, 27, 48)],
)
def test_cubes_are_closed_and_wound_outwards(name, side, points, triangles):
    """1e-5: a corner of SOFA's cube is off by 1e-6."""
    mesh = made_mesh(name)
    skin = measure_skin(mesh.positions, mesh.triangles)
    assert skin.is_closed
    assert skin.volume == pytest.approx(side**3, rel=1e-5)
    assert (len(mesh.positions), len(mesh.triangles)) == (points, triangles)


def test_diagonals_of_the_cube_are_those_of_sofa():
    """Recorded from SOFA's share/mesh/smCube27.obj: a triangle of each side, counted from 0."""
    found = {frozenset(triangle) for triangle in made_mesh("mesh/smCube27.obj").triangles.tolist()}
    sides = [(3, 1, 4), (23, 19, 22), (11, 1, 10), (7, 17, 16), (21, 9, 12), (11, 14, 5)]
    assert {frozenset(side) for side in sides} <= found


def test_the_floor_is_one_quad_seen_from_above():
    mesh = made_mesh("mesh/floorFlat.obj")
    a, b, c, _ = mesh.positions[mesh.quads[0]]
    assert np.cross(b - a, c - b).tolist() == [0.0, 1600.0, 0.0]


def test_other_meshes_are_not_made():
    assert made_mesh("mesh/dragon.obj") is None and made_mesh("cube.obj") is None
