"""The trunk tilts the cup and does not drop it, as near to its goal as in the paper."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from benchmarks.success_rates.pose_error import pose_error
from sofa_softctl import InverseController, add_constraint_solver, add_effector
from sofa_softctl.scene.session.session import Session

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


@pytest.mark.soak
@pytest.mark.parametrize("contacts", ["coulomb", "sticking"])
def test_the_cup_follows_its_path_as_well_as_in_the_paper(contacts, tmp_path):
    """Table I, means. Target against simulation: 1.34 mm and 2.21 degrees, over a path of at least
    60 mm and 40 degrees, and the cup is never dropped. Simulation against reality: 8.69 mm and 5.79
    degrees; reality is a plant with another mesh, 8 % stiffer, with less friction, that gets the
    displacements of the cables in open loop. With `sticking` only the first 1.6 s of the motion,
    without the plant; `python -m benchmarks.inverse --transfer` has the whole."""
    steps = STEPS if contacts == "coulomb" else HELD + 160
    session = Session(SCENE, parameters={"contacts": contacts})
    assert session.dof_count() == 2160 + 3888
    inverse, cup = session.root.inverse, session.root.cup.dofs
    goals, simulated, places, turns = [], [], [], []
    with session.recording(tmp_path / "held.mcap"):
        for step in range(steps):
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
    assert inverse.grasps[0].dropped_at is None
    if contacts == "sticking":
        return
    assert np.linalg.norm(np.diff(places, axis=0), axis=1).sum() >= 60.0
    assert np.max(turns) >= 40.0

    plant = Session(SCENE, parameters={"commands": str(tmp_path / "held.mcap"), **PLANT})
    real = []
    for step in range(STEPS):
        plant.step()
        if step >= HELD:
            real.append(points_of(plant))
    offset, angle = apart(simulated, np.array(real))
    assert offset <= 8.69
    assert angle <= 5.79


def empty_hook(root, shift):
    """The arm of the scene alone: nine points along the hook are led by a shift, without a turn."""
    spec = importlib.util.spec_from_file_location("trunk_cup", SCENE)
    scene = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scene)
    root.dt = 0.01
    root.gravity = [0.0, -9810.0, 0.0]
    root.addObject("FreeMotionAnimationLoop")
    add_constraint_solver(root, maxIterations=50, tolerance=1e-6)
    cables = scene.add_trunk(root, "gripper_trunk.vtk", 2600.0, controlled=True)
    places = scene.along_trunk(np.linspace(scene.ARM_SHARE + 0.04, 0.98, 9))
    effectors = []
    for k, place in enumerate(places):
        node = root.trunk.addChild(f"point_{k}")
        node.addObject("MechanicalObject", name="dofs", position=[place.tolist()])
        effectors.append(add_effector(node))
        node.addObject("BarycentricMapping")
    root.addObject(
        InverseController(
            name="inverse",
            root=root,
            actuators=cables,
            effectors=effectors,
            goal=lambda time: places + min(time / 2.0, 1.0) * np.array(shift),
            energy=1e-6,
        )
    )


@pytest.mark.soak
@pytest.mark.parametrize(
    ("shift", "offset", "angle"),
    [((0.0, 0.0, 20.0), 10.0, 3.0), ((0.0, 0.0, -20.0), 0.0, 6.0), ((0.0, 30.0, 0.0), 6.0, 25.0)],
)
def test_not_even_the_empty_hook_reaches_what_the_cup_misses(shift, offset, angle):
    """To the sides and straight up the cup misses the paper's 1.34 mm or 2.21 degrees. The hook
    alone, without contacts, does too, and its problem is convex: no other efforts do better. An arm
    that bends turns what it holds."""
    session = Session(empty_hook, parameters={"shift": shift})
    inverse = session.root.inverse
    for _ in range(400):
        session.step()
        assert inverse.solution.status.name == "SOLVED"
    error = pose_error(inverse.tip.value, inverse.goal.value)
    assert error.position >= offset
    assert error.angle >= angle
