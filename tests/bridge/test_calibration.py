"""Sign and zero from what a person saw."""

import numpy as np
import pytest

from sofa_softctl.bridge.calibration import QUESTIONS, calibrations_of, recalibrate
from sofa_softctl.bridge.config.file import parse_robot
from sofa_softctl.bridge.config.write import changed_text
from sofa_softctl.bridge.quantities import UNITS
from tests.bridge.config.robots import TEXT

pytest.importorskip("tomlkit")


@pytest.mark.parametrize("index", range(3))
@pytest.mark.parametrize("reversed_", [False, True])
@pytest.mark.parametrize("position", [0.0, 7.5])
def test_the_value_of_now_becomes_that_of_the_rest_pose(index, reversed_, position):
    """For spool, table and polynomial, at a rest pose that is not 0; and the direction is as seen.

    The curves hold for the positions that were measured, so a spool alone moves the same number of
    steps the other way round.
    """
    text = TEXT.replace("rest = 0.0", "rest = 5.0")
    robot = parse_robot(text, "robot.toml")
    actuator = robot.actuators[index]
    old = calibrations_of(robot)[actuator.name]
    found = recalibrate(actuator, old, position, reversed_=reversed_)
    changes = {actuator.name: {"sign": found.sign, "zero": found.zero}}
    again = parse_robot(changed_text(robot, changes), "robot.toml").actuators[index]
    here = actuator.map.to_device(np.array(position))
    span = np.abs(np.ptp(actuator.map.to_device(np.array([0.0, 45.0]))))
    assert again.map.to_device(np.array(5.0)) == pytest.approx(here, abs=1e-4 * span)
    steps = [
        float(np.diff(each.map.to_device(np.array([5.0, 6.0])))[0]) for each in (actuator, again)
    ]
    assert steps[1] == pytest.approx(-steps[0] if reversed_ else steps[0])


def test_signs_and_zeros_are_those_of_the_file():
    found = calibrations_of(parse_robot(TEXT, "robot.toml"))
    assert (found["left"].sign, found["left"].zero) == (-1, 1000.0)
    assert (found["right"].sign, found["right"].zero) == (1, 0.0)


def test_there_is_a_question_for_every_quantity():
    assert set(QUESTIONS) == set(UNITS)
