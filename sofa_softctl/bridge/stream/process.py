"""The device process, `python -m sofa_softctl.bridge.stream.process SOCKET PARENT`.

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
from sofa_softctl.bridge.link.homes import load_device_class
from sofa_softctl.bridge.link.link import MessageSocket
from sofa_softctl.bridge.link.log import print_stderr
from sofa_softctl.bridge.stream import realtime
from sofa_softctl.bridge.stream.fleet import DeviceSet
from sofa_softctl.bridge.stream.loop import Loop
from sofa_softctl.bridge.stream.realtime import Signals
from sofa_softctl.bridge.stream.watch import StopConditions
from sofa_softctl.errors import ConfigError

SEND_TIMEOUT = 2.0
"""Timeout of the last messages, to a scene that does not read [s]."""
DRY_RUN = "dry run: nothing moves; loopback devices stand in for the robot's."


def main() -> int:
    """Open, run and close the devices; return the exit status."""
    signals = Signals()
    link = MessageSocket(socket.socket(fileno=int(sys.argv[1])))
    classes: dict[str, type[Device]] = {}
    try:
        homes = pickle.load(sys.stdin.buffer)
        classes = {kind: load_device_class(home, kind) for kind, home in homes.items()}
        robot, dry_run = pickle.load(sys.stdin.buffer)
        devices = DeviceSet(robot, _devices(robot, classes, dry_run))
        capabilities = devices.open()
    except Exception as error:  # the scene's process raises it
        kind, text = messages.describe_error(error)
        if kind is None:
            print_stderr(traceback.format_exc())
        link.send(messages.pack_pickle(messages.ERROR, (kind and kind.__name__, text)))
        link.flush_within(SEND_TIMEOUT)
        return 1
    notes = [*([DRY_RUN] if dry_run else []), *devices.lock_notes()]
    for name, device in capabilities.items():
        label = f"device '{name}'"
        notes += [note if label in note else f"{label}: {note}" for note in device.notes]
        if device.moves and not device.measures:
            notes.append(
                f"{label} does not say where its motors are before the first command: "
                "motion begins at the rest pose."
            )
        if device.measures_effort is False and not dry_run:
            notes += effort_note(name, [a for a in robot.actuators if a.device == name])
        if device.moves and device.watchdog is None:
            notes.append(
                f"{label} has no watchdog: it keeps its last command if this process or "
                "the computer fails. Have an emergency stop at hand."
            )
    notes += realtime.apply_settings(robot.stream.realtime)
    link.send(messages.pack_pickle(messages.OPENED, (capabilities, tuple(notes))))
    watch = StopConditions(robot.safety, 1.0 / robot.stream.rate, int(sys.argv[2]))
    return _run(Loop(robot, devices, link, signals, watch), notes)


def _run(loop: Loop, notes: list[str]) -> int:
    status = 0
    try:
        loop.run()
    except BaseException as error:  # an error of ours: nothing moves on
        for problem in loop.devices.stop():
            print_stderr(problem)
        print_stderr(traceback.format_exc())
        content = (
            StreamState.STOPPED,
            f"the device process failed: {error!r}",
            "DeviceFailedError",
        )
        loop.link.send(messages.pack_pickle(messages.REASON, content))
        status = 1
    for problem in loop.devices.close():
        print_stderr(problem)
    state = loop.supervisor.state
    if loop.supervisor.reason:
        print_stderr(
            f"robot '{loop.robot.name}' {state.name}: {loop.supervisor.reason}. Devices closed."
        )
    statistics = loop.statistics(tuple(notes))
    loop.link.send(messages.pack_pickle(messages.STATISTICS, (state, statistics)))
    loop.link.flush_within(SEND_TIMEOUT)
    return status


def _devices(
    robot: RobotConfig, classes: Mapping[str, type[Device]], dry_run: bool
) -> dict[str, Device]:
    if dry_run:
        return {device.name: LoopbackDevice(device.name) for device in robot.devices}
    devices = {}
    for device in robot.devices:
        try:
            devices[device.name] = classes[device.type](device.name, **device.options)
        except (TypeError, ValueError) as error:
            raise ConfigError(
                f"'{robot.path}', line {device.line}: device '{device.name}' of type "
                f"'{device.type}' cannot be made with its options: {error}"
            ) from error
    return devices


if __name__ == "__main__":
    sys.exit(main())
