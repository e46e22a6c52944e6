"""The group `softctl bridge`, and what its commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sofa_softctl.cli.root import app

if TYPE_CHECKING:
    from sofa_softctl.bridge.config.robot import RobotConfig

bridge = typer.Typer(
    help="The hardware bridge: motors and pumps of a robot, described by a TOML file.",
    no_args_is_help=True,
)
app.add_typer(bridge, name="bridge")

Config = Annotated[
    Path,
    typer.Argument(help="Configuration file of the robot, such as hardware/trunk_servos.toml."),
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Loopback devices stand in for all devices: nothing moves."),
]


def load_robot(config: Path, plugin: list[Path] | None = None) -> RobotConfig:
    """Return the robot of a file, with devices of plugins."""
    from sofa_softctl.bridge.config.file import read_robot
    from sofa_softctl.cli.files import load_plugins

    load_plugins(plugin, "auto")
    return read_robot(config)
