"""Measures of the studies in this folder: errors, and whether they meet the criterion of the robot.

The criteria are those of docs/reference/success-rates.md, where the robot is in its table; for the
other scenes the goal must be reached at the end within the controller's goal_tolerance.
"""

from pathlib import Path

import numpy as np

from benchmarks.success_rates.cases import ROBOTS
from benchmarks.success_rates.run_measures import inverse_controller_of, motion_errors, touches

CRITERIA = {robot.scene: robot for robot in ROBOTS.values()}
"""Criterion of each robot of the table, by the name of its scene file."""


def ratio(session, summary, record):
    """Error by its limit, the largest of the robot's criteria [-]: up to 1 the goal is reached.

    Infinite where the controlled body is out of reach of all contacts at the end.
    """
    robot = _robot(session)
    if robot is None:
        return summary.inverse[0].error_last / summary.inverse[0].goal.tolerance
    if _lost(session, robot):
        return float("inf")
    found = _errors(session, record, robot)
    return max(found[name] / limit for name, limit in robot.limits.items())


def reached(session, summary, record):
    """Whether the goal is reached by the robot's criterion."""
    return bool(ratio(session, summary, record) <= 1.0)


def position(session, summary, record):
    """Distance of the mean of the controlled points to that of their goals at the end [length].

    Outside the table of robots: the controller's own error, of what its weight counts.
    """
    robot = _robot(session)
    return (
        summary.inverse[0].error_last
        if robot is None
        else _errors(session, record, robot)["position end"]
    )


def angle(session, record):
    """Angle between the controlled points and their goals at the end [degree]."""
    return _errors(session, record, _robot(session))["angle end"]


def effort(record):
    """Greatest effort of all actuators over the run [force, or pressure]."""
    return float(np.abs(record.channels["inverse.effort"]).max())


def held(summary):
    """Steps in which the controller found no trustworthy answer, and held the efforts."""
    return summary.inverse[0].statuses.get("HELD", 0)


def why(session, summary, record):
    """Criteria that are missed, and what the controller says of its goal at the end."""
    robot, said = _robot(session), list(summary.inverse[0].goal.reasons)
    if robot is None:
        return "; ".join(said)
    found = _errors(session, record, robot)
    missed = [
        f"{name} {found[name]:.3g} above {limit:g}"
        for name, limit in robot.limits.items()
        if not found[name] <= limit
    ]
    return "; ".join([*missed, *(["left all contacts"] if _lost(session, robot) else []), *said])


def _robot(session):
    """The robot's entry in the table; None: it has none."""
    return CRITERIA.get(Path(session.name).name)


def _lost(session, robot):
    """Whether the controlled body is out of reach of all contacts."""
    controller = inverse_controller_of(session)
    return not touches(controller, {*_points(session, robot.place), *_points(session, robot.turn)})


def _points(session, some):
    """Numbers of effectors; None: all."""
    return list(range(len(inverse_controller_of(session).effectors)) if some is None else some)


def _errors(session, record, robot):
    """Errors since the goal began to move, as in `benchmarks.success_rates`."""
    since = record.time > robot.begin
    tips, goals = (record.channels[name][since] for name in ("inverse.tip", "inverse.goal"))
    return motion_errors(tips, goals, _points(session, robot.place), _points(session, robot.turn))
