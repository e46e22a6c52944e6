"""Firmware that is built once for all tests of a worker."""

import pytest

from tests.firmware.emulator import Emulator, build


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """A function: builds targets once, and returns the folder of all that was built."""
    folder = tmp_path_factory.mktemp("firmware")
    done = set()

    def once(*targets):
        build(folder, *(target for target in targets if target not in done))
        done.update(targets)
        return folder

    return once


@pytest.fixture
def servo(built):
    """A running board with servos."""
    folder = built("atmega328p-servo", "emulator")
    with Emulator(folder / "atmega328p-servo.elf", folder) as board:
        yield board


@pytest.fixture
def stepper(built):
    """A running board with stepper drivers."""
    folder = built("atmega328p-stepper", "emulator")
    with Emulator(folder / "atmega328p-stepper.elf", folder) as board:
        yield board
