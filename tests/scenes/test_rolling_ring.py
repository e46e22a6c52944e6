"""The ring rolls, climbs, and holds; its mesh is as symmetric as its physics."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.scene.session.session import Session
from sofa_softctl.status import Status

SCENES = Path(__file__).parents[2] / "scenes"
WEIGHT = 0.0059 * 9810.0  # [mN]


def rolled(steps, **parameters):
    """Offsets of the centre to its goal after the settling time (n, 3), and the session."""
    session = Session(SCENES / "rolling_ring.py", parameters=parameters)
    inverse = session.root.inverse
    offsets = []
    for step in range(steps):
        session.step()
        if step >= 35:
            offsets.append((inverse.tip.value - inverse.goal.value)[0])
    return np.array(offsets), session


@pytest.mark.parametrize(("contacts", "tolerance"), [("coulomb", 0.1), ("sticking", 0.5)])
def test_it_rolls_on_flat_ground(contacts, tolerance):
    """24 mm in 1.2 s, without slipping: it turns by distance over radius (21 mm less the sag of a
    millimetre or two), and the ground carries its weight."""
    offsets, session = rolled(150, contacts=contacts)
    assert np.abs(offsets).max() < tolerance
    x = session.root.ring.dofs.position.value
    start = session.root.ring.loader.position.value
    centred, before = x - x.mean(axis=0), start - start.mean(axis=0)
    turn = np.arctan2(*(np.cross(before, centred)[:, 2].sum(), (before * centred).sum()))
    travel = x.mean(axis=0)[0] - start.mean(axis=0)[0]
    assert travel == pytest.approx(24.0, abs=tolerance)
    assert -turn == pytest.approx(travel / 20.0, rel=0.1)
    if contacts == "coulomb":
        assert session.root.inverse.contact_normal.value.sum() == pytest.approx(WEIGHT, rel=0.05)


@pytest.mark.soak
@pytest.mark.parametrize(("slope", "steps"), [(5.0, 235), (-5.0, 110)])
def test_it_rolls_up_and_down_five_degrees(slope, steps):
    """40 mm up the slope, or 15 down; uphill the cables change over with less than a millimetre of
    error. Every step is solved, so that no limit is exceeded, and no cable is left slack at the
    end."""
    offsets, session = rolled(steps, slope=slope)
    inverse = session.root.inverse
    assert np.abs(offsets).max() < 1.0
    assert np.abs(offsets).mean() < 0.15
    assert inverse.step_counts.statuses == dict.fromkeys(Status, 0) | {Status.SOLVED: steps}
    assert inverse.slack.until.max() == -np.inf  # no cable ever was slack


def test_its_start_angle_turns_mesh_skin_and_cables_about_its_axis():
    """Nothing but turned: to a ten-millionth of a millimetre, more than shapes are perturbed by."""
    straight, turned = (
        Session(SCENES / "rolling_ring.py", parameters={"start": start}).root.ring
        for start in (0.0, 20.0)
    )
    a = np.radians(20.0)
    turn = np.array([[np.cos(a), -np.sin(a), 0.0], [np.sin(a), np.cos(a), 0.0], [0.0, 0.0, 1.0]])
    centre = np.array([0.0, 21.0, 5.0])
    for child in ("", "skin", "cable_0", "cable_45", "cable_90", "cable_135"):
        before, after = (
            (ring.getChild(child) if child else ring).dofs.position.value
            for ring in (straight, turned)
        )
        assert after - centre == pytest.approx((before - centre) @ turn.T, abs=1e-7)


@pytest.mark.soak
def test_it_rolls_backwards_from_another_cable():
    """By 45 degrees the ring turns into itself, with the next cable where the first was: led
    backwards, it keeps to its goal as it does forwards."""
    offsets, session = rolled(110, start=45.0, speed=-20.0)
    assert np.abs(offsets).max() < 0.1
    travel = session.root.ring.dofs.position.value - session.root.ring.loader.position.value
    assert travel.mean(axis=0)[0] == pytest.approx(-16.0, abs=0.1)


@pytest.mark.parametrize("speed", [20.0, -20.0])
def test_its_goal_stops_after_the_distance_and_the_ground_goes_on(speed):
    """On after the distance by more than the ring is wide."""
    parameters = {"speed": speed, "distance": 60.0}
    root = Session(SCENES / "rolling_ring.py", parameters=parameters).root
    goal, side = root.inverse.goals.function, np.sign(speed)
    assert goal(2.3)[0] == pytest.approx(side * 40.0) and goal(9.0)[0] == side * 60.0
    assert (side * root.ground.dofs.position.value[:, 0]).max() > 60.0 + 2.0 * 20.0


@pytest.mark.soak
def test_it_holds_on_ten_degrees():
    offsets, _ = rolled(150, slope=10.0, speed=0.0)
    assert np.abs(offsets).max() < 0.1


@pytest.mark.soak
@pytest.mark.parametrize(("slope", "speed"), [(10.0, 10.0), (13.0, 5.0)])
def test_it_climbs(slope, speed):
    """Slowly, for 1.2 s; 13 degrees are the steepest slope that it climbs."""
    offsets, session = rolled(150, slope=slope, speed=speed)
    assert np.abs(offsets).mean() < 0.5
    along = np.array([np.cos(np.radians(slope)), np.sin(np.radians(slope)), 0.0])
    start = session.root.ring.loader.position.value.mean(axis=0)
    travel = (session.root.ring.dofs.position.value.mean(axis=0) - start) @ along
    assert travel == pytest.approx(1.2 * speed, abs=1.0)


@pytest.mark.soak
def test_it_rolls_on_ground_that_tilts_meanwhile():
    """The platform turns by 5 degrees to both sides in 2 s; along x the ring keeps to its goal."""
    offsets, _ = rolled(235, ground="tilting", slope=5.0)
    assert np.abs(offsets[:, 0]).mean() < 0.5


def test_the_mesh_is_its_own_mirror_image_and_turns_into_itself():
    sys.path.insert(0, str(SCENES / "meshes"))
    spec = importlib.util.spec_from_file_location("ring_mesh", SCENES / "meshes" / "ring.py")
    ring = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(ring)
    sys.path.pop(0)
    mesh = ring.ring_mesh()
    assert 3 * len(mesh.points) == 2160

    def elements(points):
        """The tetrahedra as sets of rounded points."""
        rounded = [tuple(p) for p in np.round(points, 6) + 0.0]
        return {frozenset(rounded[i] for i in element) for element in mesh.tetrahedra}

    a = np.pi / 12.0  # two cells: the split repeats every second one
    turn = np.array([[np.cos(a), -np.sin(a), 0.0], [np.sin(a), np.cos(a), 0.0], [0.0, 0.0, 1.0]])
    mirror = mesh.points * [1.0, 1.0, -1.0] + [0.0, 0.0, 10.0]
    assert elements(mesh.points) == elements(mesh.points @ turn.T)
    assert elements(mesh.points) == elements(mirror)
    points, triangles = ring.ring_skin()
    a, b, c = (points[triangles[:, k]] for k in range(3))
    volume = np.einsum("ij,ij->i", np.cross(a, b), c).sum() / 6.0
    polygon = 48 / 2 * np.sin(2 * np.pi / 48) * (20.0**2 - 15.0**2) * 10.0
    assert volume == pytest.approx(polygon, rel=1e-9)
