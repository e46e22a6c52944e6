"""Reads the text of a robot's configuration file."""

from __future__ import annotations

from functools import partial

from sofa_softctl.base.toml import text
from sofa_softctl.base.toml.faults import FileKind
from sofa_softctl.errors import ConfigError

ROBOT = FileKind(
    "configuration file",
    ConfigError,
    tables=("stream", "safety"),
    named=("devices", "actuators", "sensors"),
)
"""For messages."""
read_text = partial(text.read_text, kind=ROBOT)
parse_toml = partial(text.parse_toml, kind=ROBOT)
