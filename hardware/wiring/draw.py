"""Draws the wiring diagrams beside this file.

python hardware/wiring/draw.py [FOLDER]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from drawing import Drawing, Part, Point

STOP_NOTE = (
    " The stop has two contacts, both closed at rest: one opens the input of the board, so that a"
    " broken wire stops, too; the other cuts the power of what moves, whatever any processor does."
)


def add_servos(d: Drawing, signals: Sequence[Point], supply: Point, ground: Point, turn: float):
    """Eight servos at the right edge, with rails for their supply and ground."""
    servos = [
        d.part(f"Servo {i}, channel {i}", 720, 100 + 108 * i, 200, ["signal", "+", "-"])
        for i in range(8)
    ]
    d.fan("signal", signals, [servo.pins["signal"] for servo in servos], turn)
    d.rail("supply", 660, [supply, *(servo.pins["+"] for servo in servos)])
    d.rail("ground", 690, [ground, *(servo.pins["-"] for servo in servos)])


def add_stop(d: Drawing, x: float, y: float, board: Part, pin: str, ground: str, load: str) -> Part:
    """The switch of the emergency stop; its first contact is wired to the board."""
    stop = d.part("Emergency stop", x, y, 180, ["contact 1", " contact 1"], ["contact 2", load])
    d.wire("stop", board.pins[pin], stop.pins["contact 1"], via=x - 16)
    d.wire("ground", board.pins[ground], stop.pins[" contact 1"], via=x - 32)
    return stop


def join_ground(d: Drawing, board: Point, x: float, supply: Point, rail: float, y: float):
    """Wire the grounds of a board and of the supply, below everything else."""
    at_board, at_supply = (x, board[1]), (rail, supply[1])
    d.path("ground", [at_board, (x, y), (rail, y), at_supply])
    d.joint("ground", at_board)
    d.joint("ground", at_supply)


def servo_arduino() -> Drawing:
    """Eight servos on an Arduino Uno."""
    d = Drawing("Eight servos on an Arduino Uno", 960, 1030)
    d.note(
        "The servos have a supply of their own, not the Arduino's 5 V: together they may draw"
        " 10 A. All grounds are joined." + STOP_NOTE,
        width=88,
    )
    pins = [f"D{4 + i}" for i in range(8)]
    pc = d.part("Computer", 70, 190, 190, ["USB"])
    uno = d.part("Arduino Uno", 70, 340, 190, ["USB", "A0", "A1", "GND|2"], [*pins, "D2", "GND"])
    d.wire("data", pc.pins["USB"], uno.pins["USB"], via=46)
    sensors = d.part("Sensors, 0 to 5 V", 70, 660, 190, ["out 0", "out 1", "GND"])
    for i in range(2):
        d.wire("signal", uno.pins[f"A{i}"], sensors.pins[f"out {i}"], via=52 - 12 * i)
    d.wire("ground", uno.pins["GND|2"], sensors.pins["GND"], via=26)
    stop = add_stop(d, 325, 605, uno, "D2", "GND", "to servos")
    supply = d.part("Supply, 5 to 6 V, 10 A", 325, 770, 180, (), ["+", "-"])
    d.wire("supply", supply.pins["+"], stop.pins["contact 2"], via=525)
    add_servos(d, [uno.pins[pin] for pin in pins], stop.pins["to servos"], supply.pins["-"], 545)
    join_ground(d, uno.pins["GND"], 293, supply.pins["-"], 690, 968)
    return d


def servo_stm32() -> Drawing:
    """Eight servos on an STM32F405."""
    d = Drawing("Eight servos on an STM32F405 (here the Olimex STM32-H405)", 960, 1030)
    d.note(
        "Its outputs have 3.3 V, which most servos take; others need a level shifter (74HCT245 at"
        " 5 V). All grounds are joined." + STOP_NOTE,
        width=88,
    )
    pins = ["PA6", "PA7", "PB0", "PB1", "PB6", "PB7", "PB8", "PB9"]
    pc = d.part("Computer", 70, 160, 190, ["USB"])
    adapter = d.part("USB to UART, 3.3 V", 70, 250, 190, ["USB", "RXD", "TXD", "GND"])
    d.wire("data", pc.pins["USB"], adapter.pins["USB"], via=46)
    left = ["PA9 (TX)", "PA10 (RX)", "GND|3", "PA1", "PA2", "GND|2"]
    board = d.part("STM32F405", 70, 400, 190, left, [*pins, "PC0", "GND"])
    d.wire("data", adapter.pins["RXD"], board.pins["PA9 (TX)"], via=22)
    d.wire("data", adapter.pins["TXD"], board.pins["PA10 (RX)"], via=34)
    d.wire("ground", adapter.pins["GND"], board.pins["GND|3"], via=46)
    sensors = d.part("Sensors, 0 to 3.3 V", 70, 720, 190, ["out 1", "out 2", "GND"])
    for i in (1, 2):
        d.wire("signal", board.pins[f"PA{i}"], sensors.pins[f"out {i}"], via=58 - 12 * i)
    d.wire("ground", board.pins["GND|2"], sensors.pins["GND"], via=22)
    stop = add_stop(d, 325, 670, board, "PC0", "GND", "to servos")
    supply = d.part("Supply, 5 to 6 V, 10 A", 325, 810, 180, (), ["+", "-"])
    d.wire("supply", supply.pins["+"], stop.pins["contact 2"], via=525)
    add_servos(d, [board.pins[pin] for pin in pins], stop.pins["to servos"], supply.pins["-"], 545)
    join_ground(d, board.pins["GND"], 293, supply.pins["-"], 690, 968)
    return d


def stepper_arduino() -> Drawing:
    """Four stepper drivers on an Arduino Uno."""
    d = Drawing("Four stepper drivers on an Arduino Uno", 1130, 960)
    d.note(
        "Drivers with STEP, DIR and EN, such as A4988, DRV8825 or TMC2209: DIR low is forwards,"
        " EN low is on. EN goes low with the first command, and stays low at a stop: motors hold"
        " their load. Each driver has a capacitor of 100 uF between VMOT and GND, close to it."
        + STOP_NOTE
    )
    right = ["5V", *(f"D{4 + i}" for i in range(8)), "D12", "D2", "GND"]
    pc = d.part("Computer", 60, 200, 190, ["USB"])
    uno = d.part("Arduino Uno", 60, 310, 190, ["USB"], right)
    d.wire("data", pc.pins["USB"], uno.pins["USB"], via=36)
    left = ["VDD", "STEP", "DIR", "EN", "GND", "VMOT"]
    drivers = [
        d.part(f"Driver {i}, channel {i}", 720, 150 + 185 * i, 180, left, ["coil A", "coil B"])
        for i in range(4)
    ]
    for i, driver in enumerate(drivers):
        motor = d.part(f"Motor {i}", 960, 150 + 185 * i, 130, ["A", "B"])
        for coil in "AB":
            d.wire("motor", driver.pins[f"coil {coil}"], motor.pins[coil])
    for kind, first, pin, x in (("signal", 4, "STEP", 565), ("direction", 8, "DIR", 505)):
        starts = [uno.pins[f"D{first + i}"] for i in range(4)]
        d.fan(kind, starts, [driver.pins[pin] for driver in drivers], x)
    stop = add_stop(d, 300, 690, uno, "D2", "GND", "to drivers")
    supply = d.part("Supply, 12 to 24 V", 300, 800, 180, (), ["+", "-"])
    d.wire("supply", supply.pins["+"], stop.pins["contact 2"], via=493)
    for kind, x, source, pin in (
        ("5 V", 622, uno.pins["5V"], "VDD"),
        ("enable", 644, uno.pins["D12"], "EN"),
        ("ground", 666, supply.pins["-"], "GND"),
        ("supply", 688, stop.pins["to drivers"], "VMOT"),
    ):
        d.rail(kind, x, [source, *(driver.pins[pin] for driver in drivers)])
    join_ground(d, uno.pins["GND"], 268, supply.pins["-"], 666, 905)
    return d


def syringe_pump() -> Drawing:
    """A soft chamber that a syringe pump fills."""
    d = Drawing("Syringe pump with a pressure sensor and a valve that vents", 1060, 800)
    d.note(
        "One channel of the stepper drawing, which has the rest of its wires: a lead screw pushes"
        " the syringe. The valve is open without current: the emergency stop, or a loss of power,"
        " vents the chamber. The relief valve opens by itself before the chamber bursts: set it by"
        " hand, and test it."
    )
    uno = d.part("Arduino Uno", 60, 160, 180, (), ["D4", "D8", "D12", "A0", "5V", "GND", "D2"])
    driver = d.part(
        "Driver, channel 0", 400, 130, 170, ["STEP", "DIR", "EN", "GND", "VMOT"], ["coils"]
    )
    d.wire("signal", uno.pins["D4"], driver.pins["STEP"], via=300)
    d.wire("direction", uno.pins["D8"], driver.pins["DIR"], via=312)
    d.wire("enable", uno.pins["D12"], driver.pins["EN"], via=324)
    pump = d.part("Motor, screw, syringe", 700, 130, 180, ["coils"], ["outlet"])
    d.wire("motor", driver.pins["coils"], pump.pins["coils"])
    sensor = d.part("Pressure sensor", 700, 270, 180, ["out", "5 V", "GND"], ["port"])
    valve = d.part("Valve, open at rest", 700, 400, 180, ["+", "-"], ["inlet"])
    relief = d.part("Relief valve", 700, 510, 180, (), ["inlet"])
    chamber = d.part("Soft chamber", 700, 610, 180, (), ["inlet"])
    points = [pump.pins["outlet"], sensor.pins["port"]]
    d.rail("air", 940, points + [part.pins["inlet"] for part in (valve, relief, chamber)])
    d.wire("signal", uno.pins["A0"], sensor.pins["out"], via=345)
    d.wire("5 V", uno.pins["5V"], sensor.pins["5 V"], via=330)
    d.wire("ground", uno.pins["GND"], sensor.pins["GND"], via=315)
    stop = add_stop(d, 300, 500, uno, "D2", "GND", "to the load")
    supply = d.part("Supply, 12 or 24 V", 300, 620, 180, (), ["+", "-"])
    d.wire("supply", supply.pins["+"], stop.pins["contact 2"], via=500)
    vmot, ground = driver.pins["VMOT"], driver.pins["GND"]
    below = valve.pins["+"][1]
    d.path("supply", [vmot, (384, vmot[1]), (384, below), (600, below)])
    d.rail("supply", 600, [stop.pins["to the load"], valve.pins["+"]])
    d.path("ground", [ground, (368, ground[1]), (368, below + 22), (640, below + 22)])
    d.rail("ground", 640, [supply.pins["-"], valve.pins["-"]])
    join_ground(d, uno.pins["GND"], 268, supply.pins["-"], 640, 730)
    d.text(60, 660, "Sensor such as MPX5100DP:")
    d.text(60, 678, "0.2 to 4.7 V for 0 to 100 kPa")
    return d


def pressure_regulator() -> Drawing:
    """A chamber behind a proportional regulator that takes a voltage."""
    d = Drawing("Pressure regulator behind a controller of your own", 1060, 560)
    d.note(
        "The controller takes pressures over UDP, ZeroMQ, CAN or the serial protocol with unit 2"
        " (pascal), and sets a voltage; whatever it is, it needs a watchdog of its own. The dump"
        " valve is open without current."
    )
    pc = d.part("Computer", 50, 160, 150, (), ["network"])
    controller = d.part("Controller", 290, 160, 180, ["network"], ["0 to 10 V", "input", "GND"])
    d.wire("data", pc.pins["network"], controller.pins["network"])
    regulator = d.part(
        "Regulator, 0 to 100 kPa",
        610,
        160,
        190,
        ["set point", "monitor", "GND", "24 V"],
        ["supply of air", "out"],
    )
    for a, b, kind in (
        ("0 to 10 V", "set point", "signal"),
        ("input", "monitor", "signal"),
        ("GND", "GND", "ground"),
    ):
        d.wire(kind, controller.pins[a], regulator.pins[b])
    air = d.part("Compressor, filter", 860, 90, 170, ["air"])
    d.wire("air", regulator.pins["supply of air"], air.pins["air"], via=835)
    valve = d.part("Dump valve, open at rest", 610, 330, 190, ["24 V", "0 V"], ["inlet"])
    chamber = d.part("Soft chamber", 860, 420, 170, ["inlet"])
    d.rail("air", 830, [regulator.pins["out"], valve.pins["inlet"], chamber.pins["inlet"]])
    stop = d.part("Emergency stop", 290, 330, 180, ["from supply"], ["to the load"])
    supply = d.part("Supply, 24 V", 50, 330, 150, (), ["+", "-"])
    d.wire("supply", supply.pins["+"], stop.pins["from supply"])
    d.rail("supply", 560, [stop.pins["to the load"], valve.pins["24 V"], regulator.pins["24 V"]])
    d.wire("ground", supply.pins["-"], (540, 450), via=230)
    d.rail("ground", 540, [(540, 450), valve.pins["0 V"], regulator.pins["GND"]])
    return d


def dynamixel() -> Drawing:
    """A chain of Dynamixel motors behind a U2D2."""
    d = Drawing("Dynamixel motors of the X series on a U2D2", 1060, 470)
    d.note(
        "One bus, three wires: ground, power, data. Each motor has an id of its own, all the same"
        " baud rate. The U2D2 gives no power. Motors without power go limp: where a load would"
        " fall, leave the power on, and let the bridge stop them."
    )
    pc = d.part("Computer", 40, 150, 140, (), ["USB"])
    u2d2 = d.part("U2D2", 260, 150, 150, ["USB"], ["TTL: GND, DATA"])
    d.wire("data", pc.pins["USB"], u2d2.pins["USB"])
    hub = d.part("U2D2 power hub", 500, 150, 190, ["TTL in", "12 V", "0 V"], ["TTL out"])
    d.wire("data", u2d2.pins["TTL: GND, DATA"], hub.pins["TTL in"])
    supply = d.part("Supply, 12 V, 5 A", 40, 270, 140, (), ["+", "-"])
    stop = d.part("Emergency stop", 260, 270, 150, ["from supply"], ["to the hub"])
    d.wire("supply", supply.pins["+"], stop.pins["from supply"])
    d.wire("supply", stop.pins["to the hub"], hub.pins["12 V"], via=440)
    d.wire("ground", supply.pins["-"], (460, 370), via=220)
    d.wire("ground", (460, 370), hub.pins["0 V"], via=460)
    out = hub.pins["TTL out"]
    for i in range(3):
        name = f"Motor, id {i + 1}" if i < 2 else "and so on, to id 8"
        motor = d.part(name, 800, 100 + 110 * i, 180, ["in"], ["out"])
        input_pin = motor.pins["in"]
        if i == 0:
            d.wire("bus", out, input_pin, via=745)
        else:
            middle = (out[1] + input_pin[1]) / 2
            corners = [(1010, out[1]), (1010, middle), (770, middle), (770, input_pin[1])]
            d.path("bus", [out, *corners, input_pin])
        out = motor.pins["out"]
    return d


DRAWINGS: dict[str, Callable[[], Drawing]] = {
    "servo-arduino": servo_arduino,
    "servo-stm32": servo_stm32,
    "stepper-arduino": stepper_arduino,
    "syringe-pump": syringe_pump,
    "pressure-regulator": pressure_regulator,
    "dynamixel": dynamixel,
}


def main() -> None:
    """Write every drawing."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for name, draw in DRAWINGS.items():
        (folder / f"{name}.svg").write_text(draw().svg())


if __name__ == "__main__":
    main()
