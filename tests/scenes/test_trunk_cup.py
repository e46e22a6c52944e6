"""The trunk tilts the cup and does not drop it, as near to its goal as in the paper."""

from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.scene.session import Session

SCENE = Path(__file__).parents[2] / "scenes" / "trunk_cup.py"
HELD = 90
"""Step from which on the cup is moved."""
STEPS = 490
PLANT = {"trunk_mesh": "gripper_trunk_coarse.vtk", "trunk_modulus": 2800.0, "friction": 0.8}
"""Another plant than the one that the commands are for."""


def angle_between(before, after):
    """Turn about z that takes one set of points best to the other [degree]."""
    a, b = before - before.mean(axis=0), after - after.mean(axis=0)
    return np.degrees(np.arctan2(np.cross(a, b)[:, 2].sum(), (a * b)[:, :2].sum()))


def apart(paths, others):
    """Mean distance and mean angle between two paths of sets of points."""
    offset = np.linalg.norm(paths.mean(axis=1) - others.mean(axis=1), axis=1)
    angle = [abs(angle_between(a, b)) for a, b in zip(paths, others, strict=True)]
    return offset.mean(), np.mean(angle)


def points_of(session):
    """The controlled points of the cup, shape (4, 3)."""
    return np.concatenate([session.root.cup[f"point_{k}"].dofs.position.value for k in range(4)])


@pytest.mark.parametrize("contacts", ["coulomb", "sticking"])
def test_the_cup_follows_its_path_as_well_as_in_the_paper(contacts, tmp_path):
    """Table I, means. Target against simulation: 1.34 mm and 2.21 degrees, over a path of at least
    60 mm and 40 degrees, and the cup is never dropped. Simulation against reality: 8.69 mm and 5.79
    degrees; reality is a plant with another mesh, 8 % stiffer, with less friction, that gets the
    displacements of the cables in open loop."""
    session = Session(SCENE, parameters={"contacts": contacts})
    assert session.dof_count() == 2160 + 3888
    inverse, cup = session.root.inverse, session.root.cup.dofs
    goals, simulated, places, turns = [], [], [], []
    with session.recording(tmp_path / "held.mcap"):
        for step in range(STEPS):
            session.step()
            if step < HELD:
                start = cup.position.value.copy()
                continue
            goals.append(inverse.goal.value.copy())
            simulated.append(points_of(session))
            places.append(cup.position.value.mean(axis=0))
            turns.append(angle_between(start, cup.position.value))
            assert inverse.contact_normal.value.max() > 0.0
    simulated = np.array(simulated)
    offset, angle = apart(np.array(goals), simulated)
    assert offset <= 1.34
    assert angle <= 2.21
    assert np.linalg.norm(np.diff(places, axis=0), axis=1).sum() >= 60.0
    assert np.max(turns) >= 40.0
    assert inverse.grasps[0].dropped_at is None

    plant = Session(SCENE, parameters={"commands": str(tmp_path / "held.mcap"), **PLANT})
    real = []
    for step in range(STEPS):
        plant.step()
        if step >= HELD:
            real.append(points_of(plant))
    offset, angle = apart(simulated, np.array(real))
    assert offset <= 8.69
    assert angle <= 5.79
