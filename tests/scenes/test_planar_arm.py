"""The planar arm: what its symmetry, its plane and its two materials ask for, and its plan."""

from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.scene.copies.equilibrium import equilibrium_map
from sofa_softctl.scene.session.session import Session
from sofa_softctl.surrogate.scene.plan_scene import plan_scene

SCENE = Path(__file__).parents[2] / "scenes" / "planar_arm.py"
FORCE = 600.0


def arm(**parameters):
    return equilibrium_map(SCENE, scale=FORCE, points=["/arm/tip"], parameters=parameters)


def tilts(found, rest):
    """Rotation of the joints' middle 20 mm at each row of nodes, from the frame down [degrees]."""
    angles = []
    for z in np.unique(rest[:, 2])[::-1]:
        row = np.isclose(rest[:, 2], z) & (abs(rest[:, 0]) < 10.1)
        across = np.polyfit(rest[row, 0], found.x[row][:, [0, 2]], 1)[0]
        angles.append(np.degrees(np.arctan2(across[1], across[0])))
    return np.array(angles)


def test_equal_tensions_keep_it_straight_and_mirrored_ones_mirror_it():
    """The mesh is its own mirror image, so both hold to what Newton's method leaves."""
    robot = arm()
    straight = robot(np.array([0.8, 0.8]))
    assert straight.stable
    assert straight.points[0, 0] == pytest.approx(0.0, abs=1e-6)
    assert straight.points[0, 2] > -63.5  # of 65: both lines shorten the joints
    left, right = (robot(np.array(u)).points[0] for u in ((0.6, 0.1), (0.1, 0.6)))
    assert right[0] > 10.0  # towards the line that pulls
    assert left == pytest.approx(right * [-1.0, 1.0, 1.0], abs=1e-6)


def test_it_stays_in_its_plane():
    """At rest and while it moves."""
    robot = arm()
    bent = robot(np.array([0.1, 0.6]))
    assert np.array_equal(bent.x[:, 1], robot.rest[:, 1])
    assert not bent.x_u[:, 1].any()
    session = Session(SCENE)
    dofs, line = session.root.arm.dofs, session.root.arm.right.line
    line.value.value = [0.01 * 300.0]  # 300 mN in steps of 10 ms
    session.step(10)
    assert abs(session.root.arm.tip.dofs.position.value[0, 0]) > 2.0
    assert np.array_equal(dofs.position.value[:, 1], robot.rest[:, 1])


def test_the_joints_carry_the_bending():
    """Plates are a third of the arm. Of one material they take 29 % of its bending, for they are
    loaded at their rims; fifteen times stiffer, 4 %."""
    shares = []
    for stiff in (1500.0, 100.0):
        robot = arm(stiff_modulus=stiff)
        bend = np.diff(tilts(robot(np.array([0.0, 0.3])), robot.rest))  # plate, joint, joint, plate
        shares.append(bend[::3].sum() / bend.sum())
    assert shares == pytest.approx([0.04, 0.29], abs=0.01)


def test_the_plan_bends_the_arm_and_the_full_arm_follows_it(tmp_path):
    """16 mm aside are some 30 degrees. The plan leaves out shapes that the arm has only while it
    swings: it may be 0.5 mm off on the way, 3 % of the motion, a tenth of that in the end, and
    stays there for as long again."""
    found = plan_scene(SCENE, "reach", instants=60)
    assert found.status.ok
    assert found.spot[-1] == pytest.approx([16.0, 0.0, -61.0], abs=0.05)
    assert found.robot.evaluations < 60  # 2 lines, 60 instants
    found.write(tmp_path / "reach.mcap")
    session = Session(SCENE, parameters={"plan": str(tmp_path / "reach.mcap")})
    spots = []
    session.step(found.delay)
    for _ in range(120):
        session.step()
        spots.append(session.root.arm.tip.dofs.position.value[0].copy())
    error = np.linalg.norm(spots - np.vstack([found.spot[1:], *[found.spot[-1:]] * 61]), axis=1)
    assert error.max() < 0.5
    assert error[58:].max() < 0.05
