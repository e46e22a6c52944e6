"""Runs a fault: the whole chain of `softctl run`, device process, line and board."""

import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.bridge.faults import of_processes, of_the_line, of_the_scene
from tests.bridge.faults.boards import EmulatedBoard, RealBoard
from tests.bridge.faults.fault import WATCHDOG, check_end, check_wire
from tests.bridge.faults.programs import Program, Recorder, Talker
from tests.bridge.faults.relay import Relay
from tests.bridge.faults.trial import Trial
from tests.firmware.emulator import build

SECTIONS = {
    "The line and the board": of_the_line.FAULTS,
    "Processes, signals, emergency stops": of_processes.FAULTS,
    "The scene, the disk, the robot's file": of_the_scene.FAULTS,
}
FAULTS = {fault.name: fault for faults in SECTIONS.values() for fault in faults}
BUSY = (
    "its watchdog stopped it",
    "a period took",
    "acknowledged no command",
    "did not acknowledge STOP",
    "held up the loop",
    "nothing came from",
)
"""What a machine that is too busy does to a robot."""


class Disturbed(Exception):
    """The machine was too busy for what was to be shown."""


def built(folder):
    """The folder with firmware and emulator; None: they cannot be built here, with the reason."""
    try:
        return build(Path(folder), "atmega328p-servo", "emulator"), ""
    except pytest.skip.Exception as reason:
        return None, str(reason)


def make_board(fault, firmware, folder):
    """The wire side of a fault."""
    if fault.board == "udp":
        return Program()
    if fault.board == "text":
        return Talker(folder)
    if fault.board not in ("board", "real", "emulated"):
        return Recorder(folder, fault.board)
    real = fault.board != "emulated" and firmware is not None
    made = (RealBoard if real else EmulatedBoard)(firmware, folder, **fault.board_options)
    return Relay(made, folder) if fault.relay else made


def run(fault, server, firmware):
    """Inject a fault and check what came of it; the time to standstill [s], None: no such time.

    What the machine itself disturbed is repeated: it was safe, but showed another fault.
    """
    for attempt in range(4):
        folder = tempfile.mkdtemp()
        try:
            return _once(fault, server, firmware, folder, last=attempt == 3)
        except Disturbed:
            continue
        finally:
            shutil.rmtree(folder)
    raise AssertionError


def _once(fault, server, firmware, folder, last):
    with ExitStack() as stack:
        board = make_board(fault, firmware, folder)
        trial = Trial(server, board, folder, **fault.trial)
        stack.callback(trial.close)
        trial.until_moving()
        if fault.inject is not None and not trial.host.ended():
            trial.inject(fault.inject)
        status = trial.end()
        if fault.bound is WATCHDOG:
            board.settle()
        check_wire(fault, trial)
        disturbed = board.disturbed() or any(word in trial.host.words for word in BUSY)
        try:
            time = check_end(fault, trial, status)
            if fault.after is not None:
                fault.after(trial)
                check_wire(fault, trial)
            return time
        except AssertionError as error:
            disturbed = disturbed or any(word in str(error) for word in BUSY)
            if disturbed and not last:
                raise Disturbed from error
            raise
