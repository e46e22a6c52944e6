"""The file whose existence stops a robot, found even where the rest of its configuration is bad."""

from __future__ import annotations

import os
from pathlib import Path

from sofa_softctl.bridge.config.text import parse_toml, read_text
from sofa_softctl.errors import ConfigError


def stop_file_of(path: str | os.PathLike[str]) -> Path:
    """The `stop_file` of a configuration, which may have been damaged since the robot started.

    Raises:
        ConfigError: It names none, or cannot be read.
    """
    safety = parse_toml(read_text(path), os.fspath(path)).get("safety", {})
    name = safety.get("stop_file", "") if isinstance(safety, dict) else ""
    if not isinstance(name, str) or not name or "\0" in name:
        raise ConfigError(
            f"{path}: [safety] has no stop_file, by which another process could stop the robot. "
            "Press Ctrl-C where it runs, or switch off its power. For next time, add: "
            'stop_file = "stop"'
        )
    return beside(path, name)


def beside(path: str | os.PathLike[str], name: str) -> Path:
    """A file that a configuration names; relative names are relative to its folder."""
    return Path(path).absolute().parent / name
