"""The robot of the faults: two cables on channels 1 and 4 of a board, and its file."""

import json

PERIOD, SPEED, RATE = 0.01, 25.0, 60.0
"""Of commands [s]; of the scene's motion, and what the robot may [mm/s]."""
ACCELERATION, FARTHEST = 1500.0, 10.0
"""[mm/s2], [mm]."""
HOLD, COMMAND_TIMEOUT, FEEDBACK_TIMEOUT, CLOCK_JUMP = 0.1, 0.5, 0.25, 0.25
"""[s]."""
CHANNELS, SLOPE, ZERO, LOW, HIGH = (1, 4), 20.0, 1400.0, -5.0, 25.0
"""Channels in use; device units a mm, at 0 mm; range of positions [mm]."""
RETURN = FARTHEST / RATE + RATE / ACCELERATION
"""Time of the way from the farthest position to rest [s]."""

HEAD = f"""
robot = "Bar"

[stream]
rate = {1.0 / PERIOD:g}
realtime = false
SLOW

[safety]
command_timeout = {COMMAND_TIMEOUT}
feedback_timeout = {FEEDBACK_TIMEOUT}
clock_jump = {CLOCK_JUMP}
hold = {HOLD}
stop_file = "stop"
"""
ACTUATOR = """
[actuators.cable_{index}]
device = "{device}"
channel = {channel}
quantity = "length"
unit = "mm"
map = {{ type = "linear", factor = {slope} }}
zero = {zero}
position = [{low}, {high}]
rate = {rate}
acceleration = {acceleration}
jump = 3.0
rest = 0.0
soft_start = 0.05
"""


def text(tables, *, slow=""):
    """The file.

    Args:
        tables: Options of each device by its name; cables are shared among them.
        slow: A line on slow scenes.
    """
    names = [name for name in tables for _ in range(len(CHANNELS) // len(tables))]
    found = [HEAD.replace("SLOW", slow)]
    for name, options in tables.items():
        lines = [f"{key} = {json.dumps(value)}" for key, value in options.items()]
        found.append("\n".join([f"[devices.{name}]", *lines]))
    for index, (name, channel) in enumerate(zip(names, CHANNELS, strict=True)):
        found.append(
            ACTUATOR.format(
                index=index,
                device=name,
                channel=channel,
                slope=SLOPE,
                zero=ZERO,
                low=LOW,
                high=HIGH,
                rate=RATE,
                acceleration=ACCELERATION,
            )
        )
    return "\n".join(found)
