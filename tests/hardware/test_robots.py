"""The robots in the folder `hardware` fit the scenes whose actuators they name."""

from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.bridge.config.file import read_robot
from sofa_softctl.bridge.config.fit import fit
from sofa_softctl.bridge.config.scene_actuators import actuators_of
from sofa_softctl.bridge.config.setup import channels
from sofa_softctl.bridge.quantities import scene_factor
from sofa_softctl.scene.session.session import Session

ROOT = Path(__file__).parents[2]
ROBOTS = {
    # file: scene, actuators, least and greatest value that the hardware takes [device unit], rate
    "trunk_servos": ("trunk", 8, (500, 2400), np.inf),
    "trunk_dynamixel": ("trunk", 8, (0, 4095), 46 * 4096 / 60),  # within one turn; at 12 V
    "finger_stepper": ("finger", 1, (-1e9, 1e9), 15_000),
    "pneumatic_syringe": ("pneumatic_finger", 1, (0, 10 * 9690), 15_000),  # 10 ml
    "pneumatic_regulator": ("pneumatic_finger", 1, (0, 50_000), np.inf),
}


def test_every_robot_is_checked_here():
    assert {path.stem for path in (ROOT / "hardware").glob("*.toml")} == set(ROBOTS)


@pytest.mark.parametrize("name", ROBOTS)
def test_limits_are_within_what_the_hardware_takes(name):
    _, count, (low, high), rate = ROBOTS[name]
    (setups,) = channels(read_robot(ROOT / "hardware" / f"{name}.toml")).values()
    assert len(setups) == count
    for setup in setups:
        assert low <= setup.low < setup.high <= high
        assert setup.rate <= rate


@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_fits_its_scene(name):
    """A cable that is pulled needs no least displacement, so there is nothing to warn of."""
    scene = ROBOTS[name][0]
    robot = read_robot(ROOT / "hardware" / f"{name}.toml")
    with Session(ROOT / "scenes" / f"{scene}.py", backend="embedded") as session:
        found = fit(robot, actuators_of(session.root), session.units, session.dt)
    assert found.errors == []
    assert list(found.warnings) == []
    for match, actuator in zip(found.matches, robot.actuators, strict=True):
        assert match.actuator is actuator
        assert match.high == pytest.approx(actuator.position_max)  # the whole range of the scene


@pytest.mark.parametrize("name", ["trunk_servos", "finger_stepper", "pneumatic_syringe"])
def test_what_a_scene_asks_for_is_within_the_robots_limits(name):
    robot = read_robot(ROOT / "hardware" / f"{name}.toml")
    with Session(ROOT / "scenes" / f"{ROBOTS[name][0]}.py", backend="embedded") as session:
        (inverse,) = [each for each in session.controllers if hasattr(each, "driven")]
        targets = [np.zeros(len(robot.actuators))]
        for _ in range(60):
            session.step()
            targets.append(np.array(inverse.outputs["displacement"].value))
        units = session.units
    for actuator, column in zip(robot.actuators, np.transpose(targets), strict=True):
        column = column * scene_factor(actuator.quantity, actuator.unit, units)
        assert actuator.position_min <= column.min() <= column.max() <= actuator.position_max
        assert np.abs(np.diff(column)).max() <= actuator.jump
