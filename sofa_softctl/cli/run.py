"""The command `softctl run`."""

from __future__ import annotations

import sys
from contextlib import ExitStack, redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from sofa_softctl._internal.interrupt import ended_by_signals
from sofa_softctl.cli.files import check_name, check_outputs
from sofa_softctl.cli.options import (
    BackendName,
    Force,
    Json,
    Plugin,
    Quiet,
    Scene,
    Set,
    Steps,
    Strict,
    View,
    print_json,
    view_of,
)
from sofa_softctl.cli.root import app
from sofa_softctl.cli.scenes import exit_is_an_error, load_plugins, open_session
from sofa_softctl.errors import UsageError
from sofa_softctl.status import ExitStatus

Duration = Annotated[float | None, typer.Option(help="Simulated time, instead of steps.")]


@app.command(
    epilog="Examples:\n\n"
    "  softctl run scenes/trunk.py\n\n"
    "  softctl run scenes/trunk.py --set path=eight --duration 8 --movie trunk.gif\n\n"
    "  softctl run scenes/finger.py --steps 200 --record finger.mcap --json"
)
def run(
    scene: Scene,
    steps: Steps = None,
    duration: Duration = None,
    set_: Set = None,
    backend: BackendName = "auto",
    record: Annotated[
        Path | None, typer.Option(metavar="FILE.mcap", help="Record every step.")
    ] = None,
    force: Force = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Plot of errors and efforts.")
    ] = None,
    movie: Annotated[
        Path | None, typer.Option(metavar="FILE.gif|mp4", help="Movie of the robot.")
    ] = None,
    camera: View = "auto",
    plugin: Plugin = None,
    strict: Strict = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run a scene: follow the goal, and say how well that went.

    Ctrl-C, SIGTERM and SIGHUP end it after the present step: what was done is recorded, drawn and
    shown.
    """
    from sofa_softctl.record.file import RecordFile, check_suffix
    from sofa_softctl.view.terminal import run as terminal

    if steps is not None and duration is not None:
        raise UsageError("Give either steps or a duration, not both.")
    view = view_of(camera, movie)
    check_outputs(reads=[scene], plot=plot, movie=movie, record=record)
    if record is not None:
        check_name(check_suffix, record)
    load_plugins(plugin, backend)
    show = terminal.Terminal(quiet=quiet or as_json)
    with ExitStack() as stack:
        stack.enter_context(ended_by_signals())
        stack.enter_context(exit_is_an_error(scene))
        if as_json:  # what the scene prints would be in the JSON
            stack.enter_context(redirect_stdout(sys.stderr))
        file = None
        if record is not None:  # before the work: another run may record there
            file = stack.enter_context(RecordFile(record, overwrite=force))
        session = stack.enter_context(open_session(scene, backend, set_, quiet=quiet or as_json))
        summary = show.run(session, steps, duration, record=file, plot=plot, movie=movie, view=view)
    if as_json:
        print_json(summary.to_dict())
    if summary.interrupted:
        raise typer.Exit(ExitStatus.of_stop(summary.stopped_by))
    if summary.verdict is not None:
        raise typer.Exit(summary.verdict.exit_status)
