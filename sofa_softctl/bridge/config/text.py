"""Text of a robot's configuration file, and its stop file even if other parts are wrong."""

from __future__ import annotations

import os
import re
import tomllib
from functools import partial
from pathlib import Path

from sofa_softctl.base.toml import text
from sofa_softctl.base.toml.faults import FileKind
from sofa_softctl.errors import ConfigError

ROBOT = FileKind(
    "configuration file",
    ConfigError,
    tables=("stream", "safety"),
    named=("devices", "actuators", "sensors"),
)
"""Kind of file, for messages."""
read_text = partial(text.read_text, kind=ROBOT)
parse_toml = partial(text.parse_toml, kind=ROBOT)


_LINE = re.compile(r"""^[^#\n]*\bstop_file\s*=\s*("[^"\n]*"|'[^'\n]*')""", re.MULTILINE)
_OTHERWISE = (
    "Press Ctrl-C or space where it runs, or switch off its power. `pkill -USR1 -f "
    "sofa_softctl.bridge.stream.process` stops all robots that this computer moves"
)


def stop_file_of(path: str | os.PathLike[str]) -> Path:
    """The `stop_file` of a configuration, which may have been damaged since the robot started.

    In a file with errors of TOML, as while somebody edits it, the first line with a name counts.

    Raises:
        ConfigError: The file names none, or cannot be read.
    """
    text = read_text(path)
    try:
        safety = parse_toml(text, os.fspath(path)).get("safety", {})
    except ConfigError as error:
        name = _stop_file_in(text)
        if not name:
            raise ConfigError(f"{error} No line names a stop_file. {_OTHERWISE}.") from error
    else:
        name = safety.get("stop_file", "") if isinstance(safety, dict) else ""
    if not isinstance(name, str) or not name or "\0" in name:
        raise ConfigError(
            f"{path}: [safety] has no stop_file, by which another process could stop the robot. "
            f'{_OTHERWISE}. For next time, add: stop_file = "stop"'
        )
    return path_beside(path, name)


def _stop_file_in(text: str) -> str:
    match = _LINE.search(text)
    try:
        return str(tomllib.loads(f"name = {match[1]}")["name"]) if match else ""
    except tomllib.TOMLDecodeError:
        return ""


def unreachable_reason(path: str) -> str:
    """Return the reason why a file cannot be created or read, or ""."""
    try:
        os.stat(path)
    except FileNotFoundError:
        folder = os.path.dirname(os.path.realpath(path))  # a link leads to where it is to be made
        return "" if os.path.isdir(folder) else f"there is no folder '{folder}'"
    except OSError as error:
        return str(error.strerror)
    return ""


def path_beside(path: str | os.PathLike[str], name: str) -> Path:
    """Return the path of a file named in a configuration, relative to its folder."""
    return Path(path).absolute().parent / name
