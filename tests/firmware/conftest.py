"""Firmware that is built once for all tests of a worker."""

import pytest

from tests.firmware.emulator import SteppedEmulator, build


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
    """A running board with servos, stepped; the bytes of its line are recorded, too."""
    folder = built("atmega328p-servo", "emulator")
    with SteppedEmulator(folder / "atmega328p-servo.elf", folder, wire=True) as board:
        yield board


@pytest.fixture
def stepper(built):
    """The same with stepper drivers."""
    folder = built("atmega328p-stepper", "emulator")
    with SteppedEmulator(folder / "atmega328p-stepper.elf", folder, wire=True) as board:
        yield board
