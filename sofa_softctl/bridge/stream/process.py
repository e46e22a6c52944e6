"""The device process: `python -m sofa_softctl.bridge.stream.process SOCKET PARENT`.

It imports neither a scene nor Sofa. Whatever ends the scene's process, or asks this one to end, it
brings the robot to rest, stops and closes the devices, and exits.
"""

from __future__ import annotations

import pickle
import socket
import sys
import traceback
from collections.abc import Mapping

from sofa_softctl.bridge.config.robot import RobotConfig
from sofa_softctl.bridge.course.checks import effort_note
from sofa_softctl.bridge.course.state import StreamState
from sofa_softctl.bridge.device import Device
from sofa_softctl.bridge.devices.loopback import LoopbackDevice
from sofa_softctl.bridge.link import messages
from sofa_softctl.bridge.link.homes import load
from sofa_softctl.bridge.link.link import Link
from sofa_softctl.bridge.link.log import say
from sofa_softctl.bridge.stream import realtime
from sofa_softctl.bridge.stream.fleet import Fleet
from sofa_softctl.bridge.stream.loop import Loop
from sofa_softctl.bridge.stream.realtime import Signals
from sofa_softctl.bridge.stream.watch import Watch
from sofa_softctl.errors import ConfigError

SENDS_WITHIN = 2.0
"""Time after which the last messages to a scene that does not read are given up [s]."""
DRY_RUN = "dry run: nothing moves; loopback devices stand in for the robot's."


def main() -> int:
    """Open, run, close; the exit status."""
    signals = Signals()
    link = Link(socket.socket(fileno=int(sys.argv[1])))
    classes: dict[str, type[Device]] = {}
    try:
        homes = pickle.load(sys.stdin.buffer)
        classes = {kind: load(home, kind) for kind, home in homes.items()}
        robot, dry_run = pickle.load(sys.stdin.buffer)
        fleet = Fleet(robot, _devices(robot, classes, dry_run))
        capabilities = fleet.open()
    except Exception as error:  # the scene's process raises it
        kind, text = messages.described(error)
        if kind is None:
            say(traceback.format_exc())
        link.send(messages.pickled(messages.ERROR, (kind and kind.__name__, text)))
        link.flush_within(SENDS_WITHIN)
        return 1
    notes = [*([DRY_RUN] if dry_run else []), *fleet.lock_notes()]
    for name, found in capabilities.items():
        where = f"device '{name}'"
        notes += [note if where in note else f"{where}: {note}" for note in found.notes]
        if found.moves and not found.measures:
            notes.append(
                f"{where} does not say where its motors are before the first command: "
                "motion begins at the rest pose."
            )
        if found.measures_effort is False and not dry_run:
            notes += effort_note(name, [one for one in robot.actuators if one.device == name])
        if found.moves and found.watchdog is None:
            notes.append(
                f"{where} has no watchdog: it keeps its last command if this process or "
                "the computer fails. Have an emergency stop at hand."
            )
    notes += realtime.ask(robot.stream.realtime)
    link.send(messages.pickled(messages.OPENED, (capabilities, tuple(notes))))
    watch = Watch(robot.safety, 1.0 / robot.stream.rate, int(sys.argv[2]))
    return _run(Loop(robot, fleet, link, signals, watch), notes)


def _run(loop: Loop, notes: list[str]) -> int:
    status = 0
    try:
        loop.run()
    except BaseException as error:  # an error of ours: nothing moves on
        for problem in loop.fleet.stop():
            say(problem)
        say(traceback.format_exc())
        content = (
            StreamState.STOPPED,
            f"the device process failed: {error!r}",
            "DeviceFailedError",
        )
        loop.link.send(messages.pickled(messages.REASON, content))
        status = 1
    for problem in loop.fleet.close():
        say(problem)
    state = loop.supervisor.state
    if loop.supervisor.reason:
        say(f"robot '{loop.robot.name}' {state.name}: {loop.supervisor.reason}. Devices closed.")
    statistics = loop.statistics(tuple(notes))
    loop.link.send(messages.pickled(messages.STATISTICS, (state, statistics)))
    loop.link.flush_within(SENDS_WITHIN)
    return status


def _devices(
    robot: RobotConfig, classes: Mapping[str, type[Device]], dry_run: bool
) -> dict[str, Device]:
    if dry_run:
        return {device.name: LoopbackDevice(device.name) for device in robot.devices}
    found = {}
    for device in robot.devices:
        try:
            found[device.name] = classes[device.type](device.name, **device.options)
        except (TypeError, ValueError) as error:
            raise ConfigError(
                f"'{robot.path}', line {device.line}: device '{device.name}' of type "
                f"'{device.type}' cannot be made with its options: {error}"
            ) from error
    return found


if __name__ == "__main__":
    sys.exit(main())
