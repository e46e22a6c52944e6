"""The command `softctl bridge stop`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sofa_softctl.cli.bridge.group import Config, bridge


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
    from sofa_softctl.base.files import writing
    from sofa_softctl.bridge.config.text import stop_file_of
    from sofa_softctl.errors import ConfigError

    file: Path = stop_file_of(config)
    with writing(file, ConfigError):
        there = file.exists()
        if clear:
            file.unlink(missing_ok=True)
        else:
            file.touch()
    if clear:
        done = "Removed" if there else "Nothing to remove, there is no file"
        typer.echo(f"{done}: {file}. The robot may move again.")
    else:
        typer.echo(
            f"Emergency stop: {file} is there. The robot stays where it is. "
            f"`softctl bridge stop {config} --clear` removes the file."
        )
