"""The command `softctl view`."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from sofa_softctl.base.processes import ended_by_signals
from sofa_softctl.cli.files import exit_is_an_error, load_plugins
from sofa_softctl.cli.options import BackendName, Plugin, Set, Strict, parameters
from sofa_softctl.cli.root import app
from sofa_softctl.errors import UsageError
from sofa_softctl.view.browser.server import LOOPBACK


@app.command(
    epilog="Examples:\n\n"
    "  softctl view scenes/trunk.py\n\n"
    "  softctl view scenes/trunk.py --set path=point --paused\n\n"
    "  softctl view out/trunk.mcap\n\n"
    "  softctl view scenes/finger.py --host 0.0.0.0 --port 9000\n\n"
    "On another computer, over ssh: ssh -L 8080:localhost:8080 COMPUTER, and open "
    "http://localhost:8080 here."
)
def view(
    source: Annotated[Path, typer.Argument(help="Scene file, or recording (FILE.mcap).")],
    set_: Set = None,
    backend: BackendName = "auto",
    host: Annotated[
        str, typer.Option(help="Address to listen at; with another than localhost, a token.")
    ] = "localhost",
    port: Annotated[
        int | None, typer.Option(help="Port; the first free one from 8080 by default.")
    ] = None,
    paused: Annotated[bool, typer.Option("--paused", help="Wait for Play.")] = False,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
    plugin: Plugin = None,
    strict: Strict = False,
) -> None:
    """Show a scene or a recording in the browser: play it, pull its goal, change it.

    Ctrl-C ends it.
    """
    from sofa_softctl.view.browser.view import RECORDINGS, open_view

    is_recording = source.suffix.lower() in RECORDINGS
    if is_recording and set_:
        raise UsageError("--set is for scenes: what was recorded cannot be changed.")
    if not is_recording:
        load_plugins(plugin, backend)
    with ended_by_signals(), exit_is_an_error(source):
        page = open_view(
            source,
            parameters=parameters(set_),
            backend=backend,
            host=host,
            port=port,
            playing=not paused,
        )
        try:
            with page:
                _announce(page.address, host, browser)
                page.run()
        except KeyboardInterrupt:
            typer.echo("The view is closed.")
        finally:
            page.close_session()


def _announce(address: str, host: str, browser: bool) -> None:
    """Print the address of a page, and open it if there is a screen."""
    typer.echo(f"View: {address}   (Ctrl-C ends it)")
    if host not in LOOPBACK:
        typer.echo("Whoever has this address can move the robot: give it to nobody else.")
    if browser and _has_screen():
        webbrowser.open(address)
    elif browser:
        typer.echo("There is no screen here: open the address in your browser.")


def _has_screen() -> bool:
    """Return True if a browser would have a window, and not take over the terminal."""
    if sys.platform != "linux":
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
