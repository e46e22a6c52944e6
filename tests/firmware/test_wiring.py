"""The wiring diagrams are what their script draws, and name the pins of the firmware."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from tests.firmware.emulator import FIRMWARE

WIRING = FIRMWARE.parent / "wiring"
NAMES = sorted(path.stem for path in WIRING.glob("*.svg"))


def test_the_drawings_are_what_the_script_draws(tmp_path):
    subprocess.run([sys.executable, WIRING / "draw.py", tmp_path], check=True)
    drawn = {path.stem: path.read_text() for path in tmp_path.glob("*.svg")}
    assert sorted(drawn) == NAMES  # each is committed
    assert all((WIRING / f"{name}.svg").read_text() == drawn[name] for name in drawn)


@pytest.mark.parametrize("name", NAMES)
def test_a_drawing_is_well_formed_and_stays_on_its_page(name):
    root = ElementTree.parse(WIRING / f"{name}.svg").getroot()
    width, height = (float(root.get(side)) for side in ("width", "height"))
    corners = [
        tuple(map(float, pair.split(",")))
        for line in root.iter("{http://www.w3.org/2000/svg}polyline")
        for pair in line.get("points").split()
    ]
    assert len(corners) > 20
    assert all(0 < x < width and 0 < y < height for x, y in corners)


@pytest.mark.parametrize(
    ("name", "board", "pins"),
    [
        ("servo-arduino", "atmega328p", [f"D{n}" for n in (2, *range(4, 12))]),
        ("stepper-arduino", "atmega328p", [f"D{n}" for n in (2, *range(4, 13))]),
        ("servo-stm32", "stm32f405", "PA6 PA7 PB0 PB1 PB6 PB7 PB8 PB9 PC0".split()),
    ],
)
def test_the_pins_of_a_drawing_are_those_of_the_firmware(name, board, pins):
    """`board_config.h` says them in words, with ranges such as "D4 to D11"."""
    words = (FIRMWARE / "boards" / board / "board_config.h").read_text().split("*/")[0]
    known = set(re.findall(r"\b[DAP][ABC]?\d+\b", words))
    for first, last in re.findall(r"\bD(\d+) to D(\d+)\b", words):
        known |= {f"D{n}" for n in range(int(first), int(last) + 1)}
    drawing = (WIRING / f"{name}.svg").read_text()
    assert all(f">{pin}</text>" in drawing and pin in known for pin in pins)
