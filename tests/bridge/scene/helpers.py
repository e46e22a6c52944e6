"""What the tests here share beside fixtures."""

import numpy as np


def wave(time):
    """How far the cables are pulled in [mm]."""
    return 4.0 * np.sin(10.0 * time) ** 2, 20.0 * time


def bridge_of(session):
    """The controller named 'bridge'."""
    return next(one for one in session.controllers if one.getName() == "bridge")


def states_of(record):
    """States of the device process as they followed each other, but for those of waiting."""
    found = record.streams["bridge.robot.state"].values.tolist()
    found = [state for state in found if state not in ("READY", "WAITING")]
    return [a for a, b in zip(found, [*found[1:], ""], strict=True) if a != b]
