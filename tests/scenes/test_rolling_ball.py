"""The ball rolls to its target by stiffening and softening its cells."""

from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.scene.session import Session

SCENES = Path(__file__).parents[2] / "scenes"
WEIGHT = 0.184 * 9810.0  # [mN]


def test_it_rolls_to_its_target():
    """25 mm at 10 mm/s: at the end the centre is within 3 mm of the target, the ball has turned by
    about distance over radius, and nothing went beyond the cells' and the pressure's limits."""
    session = Session(SCENES / "rolling_ball.py", parameters={"target": 25.0})
    inverse, ball = session.root.inverse, session.root.ball
    rest = ball.loader.position.value
    assert rest.size == 3024
    moduli, pressures = [], []
    for _ in range(330):
        session.step()
        moduli.append([cell.youngModulus.value for cell in inverse.actuators[1:]])
        pressures.append(inverse.effort.value[0])
    x = ball.dofs.position.value
    assert x.mean(axis=0)[0] == pytest.approx(25.0, abs=3.0)
    centred = x - x.mean(axis=0)
    turn = np.arctan2(np.cross(rest, centred)[:, 2].sum(), (rest * centred)[:, :2].sum())
    assert -turn == pytest.approx(25.0 / 40.0, rel=0.3)
    assert np.min(moduli) >= 25.0 - 1e-9 and np.max(moduli) <= 400.0 + 1e-9
    assert np.min(pressures) >= -1e-9 and np.max(pressures) <= 4.0 + 1e-9
    assert inverse.contact_normal.value.sum() == pytest.approx(WEIGHT, rel=0.2)


@pytest.mark.parametrize("heading", [0.0, 60.0, 90.0, 180.0, 225.0])
def test_its_goals_are_those_of_a_ball_that_rolls_in_the_direction_of_its_heading(heading):
    """Half a turn: the point on top comes to the ground below the centre, the one in front to the
    back, and the ground goes on beyond by more than the ball's radius."""
    half_turn = 40.0 * np.pi
    session = Session(
        SCENES / "rolling_ball.py",
        parameters={"heading": heading, "target": half_turn, "speed": 1000.0},
    )
    inverse, h = session.root.inverse, np.radians(heading)
    ahead = np.array([np.cos(h), 0.0, np.sin(h)])
    before, after = (np.array(inverse.goal_function(time)) for time in (0.0, 10.0))
    assert before == pytest.approx(np.array([0.0 * ahead, [0.0, 40.0, 0.0], 40.0 * ahead]))
    below, behind = [0.0, -40.0, 0.0], -40.0 * ahead
    expected = half_turn * ahead + np.array([0.0 * ahead, below, behind])
    assert after == pytest.approx(expected, abs=1e-9)
    session.step()
    assert inverse.tip.value == pytest.approx(before, abs=1.0)  # the points are where they say
    corners = session.root.ground.dofs.position.value[:, [0, 2]]
    assert (corners.min(axis=0) < -100.0).all() and (corners.max(axis=0) > 100.0).all()


def test_the_mesh_follows_the_twenty_cells():
    """As many tetrahedra in each cell, of the same volume; shells of the icosahedron's faces."""
    from sofa_softctl.runtime.mesh.read import read_mesh

    mesh = read_mesh(SCENES / "meshes" / "ball.vtk")
    cells = np.loadtxt(SCENES / "meshes" / "ball_cells.txt", dtype=int)
    assert np.bincount(cells).tolist() == [225] * 20
    a, b, c, d = (mesh.positions[mesh.tetrahedra[:, k]] for k in range(4))
    volumes = np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6.0
    assert volumes.min() > 0.0
    by_cell = np.bincount(cells, weights=volumes)
    assert np.ptp(by_cell) < 1e-3 * by_cell.mean()  # coordinates are written to 1e-4 mm
