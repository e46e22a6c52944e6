"""The command `softctl run`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sofa_softctl.base.processes import ended_by_signals
from sofa_softctl.cli.files import (
    chain_additions,
    check_name,
    check_outputs,
    exit_is_an_error,
    key_addition,
    load_plugins,
    open_session,
    unpressed_keys,
)
from sofa_softctl.cli.options import (
    BackendName,
    Force,
    Json,
    PictureTime,
    Plugin,
    Quiet,
    Scene,
    Set,
    Size,
    Steps,
    Strict,
    Transparent,
    View,
    print_json,
)
from sofa_softctl.cli.root import app
from sofa_softctl.errors import UsageError
from sofa_softctl.status import ExitStatus

if TYPE_CHECKING:
    from sofa_softctl.record.file import RecordFile
    from sofa_softctl.scene.session.session import Session
    from sofa_softctl.scene.session.summary import RunSummary
    from sofa_softctl.view.terminal.run import Terminal

Duration = Annotated[float | None, typer.Option(help="Simulated time, instead of steps.")]


@app.command(
    epilog="Examples:\n\n"
    "  softctl run scenes/trunk.py\n\n"
    "  softctl run scenes/trunk.py --set path=eight --duration 8 --movie trunk.gif\n\n"
    "  softctl run scenes/trunk.py --picture trunk.png --size 2400x1800 --transparent\n\n"
    "  softctl run scenes/finger.py --steps 200 --record finger.mcap --json\n\n"
    "  softctl run tutorial.py --key t=0.5:+ --key t=1:up --duration 2\n\n"
    "  softctl run scenes/trunk.py --bridge hardware/trunk_servos.toml --dry-run"
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
        Path | None, typer.Option(metavar="FILE.png|svg|pdf", help="Plot of errors and efforts.")
    ] = None,
    movie: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.gif|mp4|html", help="Movie of the robot, or a page to turn and replay it."
        ),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE.png|jpg", help="Picture of the robot.")
    ] = None,
    picture_time: PictureTime = None,
    camera: View = "auto",
    size: Size = None,
    transparent: Transparent = False,
    bridge: Annotated[
        Path | None,
        typer.Option(metavar="CONFIG", help="Move the robot of this file as the scene moves."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Use simulated devices: no motor moves.")
    ] = False,
    key: Annotated[
        list[str] | None,
        typer.Option(metavar="t=TIME:KEY", help="Press a key as in a window; may be repeated."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="First print the plan of a step, without SOFA.")
    ] = False,
    plugin: Plugin = None,
    strict: Strict = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run a scene: follow the goal, and report the result.

    Ctrl-C, SIGTERM and SIGHUP end it after the present step: what was done is recorded, drawn and
    shown.
    """
    from sofa_softctl.scene.session.run import DEFAULT_DURATION, step_count, with_mesh_estimates
    from sofa_softctl.scene.session.run import run as run_steps
    from sofa_softctl.view.terminal.run import Terminal

    if explain and (quiet or as_json):
        raise UsageError("--explain prints: leave out --quiet and --json.")
    if steps is not None and duration is not None:
        raise UsageError("Give either steps or a duration, not both.")
    shots = None
    if movie or picture or size or transparent or picture_time is not None or camera != "auto":
        from sofa_softctl.cli.shots import shots_of

        shots = shots_of(
            *(movie, picture),
            camera=camera,
            size=size,
            time=picture_time,
            transparent=transparent,
        )
    reads = [scene] if bridge is None else [scene, bridge]
    check_outputs(
        reads=reads, plot=plot, movie=movie, picture=picture, record=record, can_be_page=True
    )
    _check_record(record)
    load_plugins(plugin, backend)
    show = Terminal(quiet=quiet or as_json)
    with ExitStack() as stack:
        stack.enter_context(ended_by_signals())
        stack.enter_context(exit_is_an_error(scene))
        if as_json:  # what the scene prints would be in the JSON
            stack.enter_context(redirect_stdout(sys.stderr))
        if dry_run:
            stack.enter_context(_mark_dry_run())
        file = None
        if record is not None:  # before the work: another run may record there
            from sofa_softctl.record.file import RecordFile

            file = stack.enter_context(RecordFile(record, overwrite=force))
        add = key_addition(key)
        if bridge is not None or dry_run:
            from sofa_softctl.cli.bridge.in_scene import adding_bridge

            add = chain_additions(add, adding_bridge(bridge, dry_run))
        silent = quiet or as_json
        session = stack.enter_context(open_session(scene, backend, set_, quiet=silent, add=add))
        if explain:
            _show_plan(session, show)
        if not key and (hint := unpressed_keys(session)):
            show.console.print(hint, soft_wrap=True)
        if "sofa_softctl.bridge.controller" in sys.modules:  # the scene may have a bridge
            from sofa_softctl.cli.bridge.in_scene import stopped_by_key

            stack.enter_context(stopped_by_key(session, show))
        total = step_count(session, steps, duration, session.duration or DEFAULT_DURATION)
        if plot is not None:
            from sofa_softctl.view.plots.run import check_plot

            check_plot(session.controllers)
        observers = [show.progress(total)]
        if shots is not None:
            from sofa_softctl.view.movie.capture import Camera

            film = Camera(session)
            observers.insert(0, film)
        with ExitStack() as running:  # motors stop before pictures are drawn
            if file is not None:  # it ends after the session, whose motors go to rest
                running.enter_context(session.recording(file))
            running.enter_context(session)
            summary = run_steps(session, total, observers, close=True)
        if summary.interrupted:
            _tell_stop(summary, total, file)
        summary = with_mesh_estimates(summary, session)
        show.show(summary)
        if file is not None:
            show.show_file("Record", file.path)
        with ExitStack() as pictures:  # if one of them fails, the other one is made all the same
            if shots is not None and movie is not None:
                pictures.callback(shots.save_movie, film.animation, show)
            if shots is not None and picture is not None:
                pictures.callback(shots.save_picture, film.animation, show)
            if plot is not None:
                pictures.callback(show.save_plot, plot, summary)
    if as_json:
        print_json(summary.to_dict())
    if summary.interrupted:
        raise typer.Exit(ExitStatus.of_stop(summary.stopped_by))
    if summary.verdict is not None:
        raise typer.Exit(summary.verdict.exit_status)


def _show_plan(session: Session, show: Terminal) -> None:
    """Print the actions of a step, in their order."""
    if session.backend.name != "embedded":
        raise UsageError("--explain is for the embedded runtime: add --backend embedded.")
    from sofa_softctl.runtime.simulation.step_plan import plan_step
    from sofa_softctl.view.terminal.bench import show_plan

    show_plan(plan_step(session.root), show.console)


def _check_record(path: Path | None) -> None:
    """Refuse a recording with a wrong suffix."""
    if path is not None:
        from sofa_softctl.record.file import check_suffix

        check_name(check_suffix, path)


@contextmanager
def _mark_dry_run() -> Iterator[None]:
    """Mark lines and recordings in the block as a dry run, in which no motor moves."""
    from sofa_softctl.bridge.dry_run import DRY_RUN, annotate_errors
    from sofa_softctl.view.words import prefix_output

    with prefix_output(f"{DRY_RUN} | "), annotate_errors(DRY_RUN):
        yield


def _tell_stop(summary: RunSummary, steps: int, file: RecordFile | None) -> None:
    """Print what stopped a run before the end of its steps."""
    text = f"Stopped by {summary.stopped_by} after {summary.steps} of {steps} steps."
    if file is not None:
        text += f" They are recorded in '{file.path}'."
    print(text, file=sys.stderr)
