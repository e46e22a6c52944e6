"""Writes the results of a calibration to a robot's configuration file."""

from __future__ import annotations

import os
import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sofa_softctl.base.files import raise_write_errors, replace_atomically
from sofa_softctl.bridge.config.file import parse_robot
from sofa_softctl.bridge.config.robot import RobotConfig
from sofa_softctl.bridge.config.text import read_text
from sofa_softctl.errors import ConfigError, DeviceUnavailableError

COPIES_MAX = 9999
"""Greatest number of copies of a file."""


def write_back(robot: RobotConfig, changes: Mapping[str, Mapping[str, Any]]) -> Path:
    """Replace values of actuators in the file of a robot; comments and formatting stay.

    The file is replaced completely or not at all; its old content goes to FILE.toml.1, .2, ...

    Args:
        robot: Result of `read_robot`.
        changes: New values by actuator and key, such as {"left": {"zero": 1480.0, "sign": -1}}.

    Returns:
        The copy of the old file.

    Raises:
        ConfigError: The file has changed since it was read or cannot be written, or the new values
            make no valid configuration. Nothing is written then.
        DeviceUnavailableError: tomlkit is not installed.
    """
    new = changed_text(robot, changes)
    path = Path(os.path.realpath(robot.path))
    check_unchanged(robot)
    copy = _keep_copy(path)
    with replace_atomically(path, ConfigError) as file:
        file.write_bytes(new.encode())
        check_unchanged(robot)
        mode = path.stat().st_mode
    path.chmod(mode)
    return copy


def changed_text(robot: RobotConfig, changes: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the checked text of a robot's file with other values of actuators.

    Raises:
        ConfigError: The configuration would be invalid.
        DeviceUnavailableError: tomlkit is not installed.
    """
    try:
        import tomlkit
    except ImportError as error:
        from sofa_softctl.base.extras import install_command

        raise DeviceUnavailableError(
            "tomlkit, which writes a calibration back, is not installed: "
            f"{install_command('hardware')}"
        ) from error
    expected = tomllib.loads(robot.text)
    try:
        document = tomlkit.parse(robot.text)
        for name, values in changes.items():
            table: Any = document["actuators"][name]  # type: ignore[index]
            for key, value in values.items():
                table[key] = expected["actuators"][name][key] = value
        text = tomlkit.dumps(document)
    except (ValueError, KeyError) as error:  # tomlkit's own errors are among them
        raise ConfigError(f"{robot.path}: cannot be rewritten: {error}. {_BY_HAND}") from error
    if "\r\n" in robot.text:
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    parse_robot(text, robot.path)
    if tomllib.loads(text) != expected:
        raise ConfigError(f"{robot.path}: cannot be rewritten without other changes. {_BY_HAND}")
    return text


_BY_HAND = "Nothing was written: enter the new values by hand."


def check_unchanged(robot: RobotConfig) -> None:
    """Check that a robot's file has not changed since it was read.

    Raises:
        ConfigError: The file has changed.
    """
    if read_text(robot.path) != robot.text:
        raise ConfigError(
            f"{robot.path}: has changed since it was read, nothing was written. Calibrate again "
            "with the new file."
        )


def _keep_copy(path: Path) -> Path:
    """Copy a file to the first of FILE.1, FILE.2, ... that does not exist yet."""
    with raise_write_errors(path, ConfigError):
        for number in range(1, COPIES_MAX + 1):
            copy = path.with_name(f"{path.name}.{number}")
            try:
                with path.open("rb") as old, copy.open("xb") as new:
                    shutil.copyfileobj(old, new)
            except FileExistsError:
                continue
            shutil.copystat(path, copy)
            return copy
    raise ConfigError(f"{path}: has {COPIES_MAX} copies already. Remove old ones.")
