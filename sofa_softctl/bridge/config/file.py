"""Reads and checks the configuration file of a robot."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from sofa_softctl.base.suggestions import did_you_mean
from sofa_softctl.base.toml.faults import Faults
from sofa_softctl.base.toml.fields import Fields
from sofa_softctl.base.toml.locate import locate
from sofa_softctl.bridge.config.actuator_tables import read_actuator, read_sensor
from sofa_softctl.bridge.config.device_tables import read_device
from sofa_softctl.bridge.config.robot import (
    RobotConfig,
    SafetyConfig,
    StreamConfig,
)
from sofa_softctl.bridge.config.text import ROBOT, parse_toml, path_beside, read_text

TABLES = ("robot", "stream", "safety", "devices", "actuators", "sensors")
"""Top-level keys of a file."""
TableEntry = TypeVar("TableEntry")
RATE_RANGE = (1.0, 1000.0)
"""Least and greatest rate of a stream [Hz]."""


def read_robot(path: str | os.PathLike[str]) -> RobotConfig:
    """Read the configuration file of a robot, see docs/reference/bridge-configuration.md.

    Raises:
        ConfigError: The file cannot be read, or is wrong: up to ten errors, one a line,
            each with the line of the file.
    """
    return parse_robot(read_text(path), os.fspath(path))


def parse_robot(text: str, path: str) -> RobotConfig:
    """Read a robot from a file's text.

    Args:
        text: Content of the file.
        path: Path of the file, for messages; `stop_file` and `dead_man_file` are relative to it.

    Raises:
        ConfigError: The text is wrong, see `read_robot`.
    """
    data = parse_toml(text, path)
    faults = Faults(path, locate(text), ROBOT)
    for key in data:
        if key not in TABLES:
            hint = did_you_mean(key, TABLES).strip() or "Remove it."
            faults.add((key,), f"expected {', '.join(TABLES)}; got '{key}'. {hint}")
    root = Fields(faults, (), data)
    name = root.text("robot", "the robot's name", default=Path(path).stem)
    stream = _stream(Fields(faults, ("stream",), data.get("stream", {})))
    safety = _safety(Fields(faults, ("safety",), data.get("safety", {})), stream.rate, path)
    devices = {
        table_name: read_device(faults, table_name, values)
        for table_name, values in _tables(faults, data, "devices", required=True)
    }
    actuators = [
        read_actuator(faults, table_name, values, devices)
        for table_name, values in _tables(faults, data, "actuators", required=True)
    ]
    sensors = [
        read_sensor(faults, table_name, values, devices)
        for table_name, values in _tables(faults, data, "sensors")
    ]
    _check_channels(faults, data.get("actuators"))
    faults.raise_any()
    return RobotConfig(
        path=path,
        text=text,
        name=name,
        devices=_require_entries(devices.values()),
        actuators=_require_entries(actuators),
        sensors=_require_entries(sensors),
        stream=stream,
        safety=safety,
    )


def _require_entries(items: Iterable[TableEntry | None]) -> tuple[TableEntry, ...]:
    """Return all entries; wrong ones have raised errors before."""
    entries = tuple(items)
    assert None not in entries, "an entry was left out without an error"
    return entries  # type: ignore[return-value]


def _tables(
    faults: Faults, data: dict[str, Any], key: str, *, required: bool = False
) -> Iterator[tuple[str, Any]]:
    """Return names and values of the tables [key.NAME]."""
    tables = data.get(key, {})
    if not isinstance(tables, dict):
        faults.wrong((key,), f"tables [{key}.NAME]", tables, "Write one for each.")
        return
    if required and not tables:
        faults.add((key,), f"expected at least one table [{key}.NAME], got none. Add one.")
    for name, values in tables.items():
        if not name.strip() or not name.isprintable():
            faults.add((key, name), f"expected a name, got {name!r}. Write a readable one.")
        yield name, values


def _check_channels(faults: Faults, tables: Any) -> None:
    """Report two actuators on one channel, even if their tables have other faults."""
    owner: dict[tuple[Any, ...], str] = {}
    for name, values in tables.items() if isinstance(tables, dict) else ():
        device, channel = (
            values.get(key) if isinstance(values, dict) else None for key in ("device", "channel")
        )
        if not isinstance(device, str) or type(channel) is not int:
            continue
        if (first_name := owner.setdefault((device, channel), name)) != name:
            line = faults.line(("actuators", first_name, "channel"))
            faults.add(
                ("actuators", name, "channel"),
                f"expected an unused channel, got {channel} of '{device}', which is used by "
                f"'{first_name}' in line {line}. Give each actuator its own.",
            )


def _stream(fields: Fields) -> StreamConfig:
    defaults = StreamConfig()
    stream = StreamConfig(
        rate=fields.number(
            "rate",
            f"a number from {RATE_RANGE[0]:g} to {RATE_RANGE[1]:g}: commands a second [Hz]",
            "Usual are 50 to 200.",
            fits=lambda value: RATE_RANGE[0] <= value <= RATE_RANGE[1],
            default=defaults.rate,
        ),
        interpolation=fields.text(
            "interpolation", "one of", known=("linear", "hold"), default=defaults.interpolation
        ),
        lookahead=fields.whole(
            "lookahead",
            "a whole number from 1 to 1000: commands that wait to be sent",
            "Usual are 2 to 5.",
            fits=lambda value: 1 <= value <= 1000,
            default=defaults.lookahead,
        ),
        slow_scene=fields.text(
            "slow_scene", "one of", known=("wait", "refuse"), default=defaults.slow_scene
        ),
        realtime=fields.flag(
            "realtime", "whether to ask for real-time priority", default=defaults.realtime
        ),
    )
    fields.close("the stream")
    return stream


def _safety(fields: Fields, rate: float, path: str) -> SafetyConfig:
    defaults = SafetyConfig()
    period = 1.0 / rate

    def timeout(key: str, default: float) -> float:
        return fields.number(
            key,
            f"a time of at least one period of the stream, {period:g} s, and at most 60 s",
            "Write a longer time, or a higher rate in [stream].",
            fits=lambda value: not value < period and 0.0 < value <= 60.0,
            default=max(default, 2.0 * period) if period == period else default,
        )

    def file(key: str) -> str:
        name = fields.text(key, "a file's name", default="")
        if "\0" in name:
            fields.wrong(key, "a file's name", "Remove the character 0.")
        return str(path_beside(path, name)) if name else ""

    safety = SafetyConfig(
        command_timeout=timeout("command_timeout", defaults.command_timeout),
        feedback_timeout=timeout("feedback_timeout", defaults.feedback_timeout),
        hold=fields.number(
            "hold",
            "a time from 0 to 60 s",
            "Write how long a fault holds the robot before it goes to rest.",
            fits=lambda value: 0.0 <= value <= 60.0,
            default=defaults.hold,
        ),
        clock_jump=timeout("clock_jump", defaults.clock_jump),
        stop_file=file("stop_file"),
        dead_man_file=file("dead_man_file"),
    )
    fields.close("safety")
    return safety
