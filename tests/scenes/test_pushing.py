"""The box is pushed to a place and an angle, and stays there."""

from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.scene.session.session import Session

SCENE = Path(__file__).parents[2] / "scenes" / "pushing.py"
WEIGHT = 0.03 * 9810.0  # [mN]
GOAL = 20.0 * np.array([np.cos(np.radians(15.0)), -np.sin(np.radians(15.0))])


def pose(root):
    """Place along x and z, and angle about y in degrees."""
    x, _, z, _, qy, _, qw = root.box.dofs.position.value[0]
    return np.array([x, z, np.degrees(2.0 * np.arctan2(qy, qw))])


@pytest.mark.soak
@pytest.mark.parametrize(
    "parameters",
    [
        {"friction": 0.8, "finger_friction": 0.3},
        {"friction": 0.3, "finger_friction": 0.8, "aside": 2.0, "askew": -3.0},
    ],
)
def test_the_box_is_pushed_to_its_place_and_angle_and_stays_there(parameters):
    """20 mm and 30 degrees, to half a millimetre and two degrees (what the issue's table asks; it
    comes ten times nearer). On its way its three feet slide, so that the floor resists with
    friction times weight in all, and the fingers only push; once they have left nothing moves it,
    to the micrometre that the solver's tolerance gives."""
    session = Session(SCENE, parameters=parameters)
    root, mu = session.root, parameters["friction"]
    inverse = root.inverse
    for step in range(300):
        session.step()
        if step == 130:  # the middle of the way, at full speed
            mode, normal = inverse.contact_mode.value[-3:], inverse.contact_normal.value
            assert mode.tolist() == [2, 2, 2]
            assert normal.min() >= 0.0
            assert normal[-3:].sum() == pytest.approx(WEIGHT, rel=0.02)  # fingers rub on its face
            force = np.array(inverse.contact_force.value)[-3:]
            along = np.linalg.norm(force[:, [0, 2]], axis=1)
            assert along == pytest.approx(mu * normal[-3:], rel=1e-3)
        if step == 275:  # both fingers are back
            left = pose(root)
    end = pose(root)
    assert end[:2] == pytest.approx(GOAL, abs=0.5)
    assert end[2] == pytest.approx(30.0, abs=2.0)
    assert end == pytest.approx(left, abs=1e-3)
    assert len(inverse.contact_normal.value) == 3  # its feet


@pytest.mark.soak
def test_without_friction_on_the_floor_it_does_not_stay():
    """What the floor's friction is for: pushed off, the box slides on when the fingers leave."""
    session = Session(SCENE, parameters={"friction": 0.0})
    session.step(300)
    off = pose(session.root) - [*GOAL, 30.0]
    assert np.hypot(off[0], off[1]) > 0.5 or abs(off[2]) > 2.0


@pytest.mark.parametrize("turn", [-30.0, 0.0, 45.0])
def test_its_path_is_an_arc_along_which_the_box_never_drifts_sideways(turn):
    """It starts along x, ends at the given distance, and its centre moves where the box faces."""
    root = Session(SCENE, parameters={"turn": turn}).root
    goal = root.inverse.goals.function
    times = np.linspace(0.3, 2.3, 2001)
    points = np.array([goal(time)[:3] for time in times])
    centre = points.mean(axis=1)
    assert np.hypot(*(centre[-1] - centre[0])[[0, 2]]) == pytest.approx(20.0)
    ahead = points[:, 0] - centre
    moved, facing = np.diff(centre, axis=0), 0.5 * (ahead[1:] + ahead[:-1])
    assert np.cross(moved, facing)[:, 1] == pytest.approx(0.0, abs=1e-6)
    first, last = ahead[0], ahead[-1]
    angle = np.degrees(np.arctan2(np.cross(first, last)[1], first @ last))
    assert angle == pytest.approx(turn)
