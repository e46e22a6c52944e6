"""softctl bridge devices and stop."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from sofa_softctl.cli.bridge.group import Config, bridge
from sofa_softctl.cli.files import load_plugins
from sofa_softctl.cli.options import Json, Plugin, print_json


@bridge.command(
    name="list", epilog="Examples:\n\n  softctl bridge list\n\n  softctl bridge list --json"
)
def list_devices(plugin: Plugin = None, as_json: Json = False) -> None:
    """List the devices that a configuration file may name, their options, and what they need."""
    from sofa_softctl.bridge.config.about import describe_devices
    from sofa_softctl.view.terminal import bridge as tables

    load_plugins(plugin, "auto")
    devices = describe_devices()
    if as_json:
        print_json([asdict(device) for device in devices])
    else:
        tables.show_devices(devices)


@bridge.command(
    epilog="Examples:\n\n  softctl bridge stop hardware/trunk_servos.toml\n\n"
    "  softctl bridge stop hardware/trunk_servos.toml --clear"
)
def stop(
    config: Config,
    clear: Annotated[
        bool, typer.Option("--clear", help="Remove the file, so that the robot may move again.")
    ] = False,
) -> None:
    """Stop a running robot at once, from another terminal: make the file `stop_file`.

    Its device process looks for that file in every period. Nothing moves while it exists.
    """
    from sofa_softctl.base.files import raise_write_errors
    from sofa_softctl.bridge.config.text import stop_file_of
    from sofa_softctl.errors import ConfigError

    file: Path = stop_file_of(config)
    with raise_write_errors(file, ConfigError):
        existed = file.exists()
        if clear:
            file.unlink(missing_ok=True)
        else:
            file.touch()
    if clear:
        outcome = "Removed" if existed else "Nothing to remove, there is no file"
        typer.echo(f"{outcome}: {file}. The robot may move again.")
    else:
        typer.echo(
            f"Emergency stop: {file} is there. The robot stays where it is. "
            f"`softctl bridge stop {config} --clear` removes the file."
        )
