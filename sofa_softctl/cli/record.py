"""The command `softctl record export`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sofa_softctl.cli.options import PictureTime, Size, Transparent, View
from sofa_softctl.cli.root import app
from sofa_softctl.errors import RecordError, UsageError

if TYPE_CHECKING:
    from sofa_softctl.cli.shots import Shots
    from sofa_softctl.record.record import Record

WIDE_TABLE = 500
"""Columns above which a table of all channels is said to be wide."""

record_app = typer.Typer(help="Recordings of runs and plans.", no_args_is_help=True)
app.add_typer(record_app, name="record")


@record_app.command(
    epilog="Examples:\n\n  softctl record export out/trunk.mcap --to trunk.csv\n\n"
    "  softctl record export out/trunk.mcap --to trunk.csv --channel 'inverse.*' --every 10\n\n"
    "  softctl record export out/trunk.mcap --to trunk.npz\n\n"
    "  softctl record export out/trunk.mcap --to trunk.pvd --every 10\n\n"
    "  softctl record export out/trunk.mcap --to trunk.png --size 2400x1800 --transparent\n\n"
    "  softctl record export out/trunk.mcap --to trunk.mp4 --camera front\n\n"
    "  softctl record export out/run.mcap --stream bridge.robot.command --to commands.csv"
)
def export(
    record: Annotated[Path, typer.Argument(help="FILE.mcap, or FILE.mcap.part of a killed run.")],
    to: Annotated[
        Path,
        typer.Option(
            metavar="FILE.csv|npz|pvd|png|jpg|gif|mp4",
            help="Table, arrays for numpy.load, meshes and stresses for ParaView, a picture or "
            "a movie.",
        ),
    ],
    stream: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Export a stream instead of the steps; may be repeated."),
    ] = None,
    channel: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="Export these channels only, such as 'inverse.*'; may be repeated.",
        ),
    ] = None,
    every: Annotated[
        int, typer.Option(min=1, metavar="N", help="Export every N-th step, and the last one.")
    ] = 1,
    picture_time: PictureTime = None,
    camera: View = "auto",
    size: Size = None,
    transparent: Transparent = False,
) -> None:
    """Write a recording for others: tables, arrays, meshes for ParaView, a picture or a movie."""
    from sofa_softctl.base.files import check_writable
    from sofa_softctl.cli.shots import shots_of
    from sofa_softctl.record.export import export_csv, export_npz, export_streams, select
    from sofa_softctl.record.record import read_record
    from sofa_softctl.view.browser.standalone import SUFFIXES as MOVIES
    from sofa_softctl.view.movie.picture import SUFFIXES as PICTURES

    movie, picture = (to if to.suffix in suffixes else None for suffixes in (MOVIES, PICTURES))
    shots = shots_of(
        *(movie, picture),
        camera=camera,
        size=size,
        time=picture_time,
        transparent=transparent,
        names="--to FILE.png or FILE.mp4",
    )
    if shots is not None:
        _export_shots(record, shots, is_part=bool(channel or stream or every != 1))
        return
    writers: dict[str, Callable[[Record, Path], None]] = {
        ".csv": export_csv,
        ".npz": export_npz,
        ".pvd": partial(_export_pvd, interval=every),
    }
    write = writers.get(to.suffix.lower())
    if write is None:
        kinds = ".csv, .npz, .pvd, .png, .jpg, .gif or .mp4"
        raise RecordError(f"--to: expected a name in {kinds}. Got: '{to}'.")
    if channel and to.suffix.lower() == ".pvd":
        raise UsageError("--channel is for tables and arrays: FILE.pvd has meshes and stresses.")
    if channel and stream:
        raise UsageError(
            "Give either --channel, for the steps, or --stream, whose rows are others."
        )
    check_writable(to)
    recording = read_record(record)
    chosen = recording
    if to.suffix.lower() != ".pvd":
        chosen = select(recording, channel or (), every)
    if stream and write is export_csv:
        export_streams(chosen, stream, to)
    elif write is export_csv and channel and not chosen.channels:
        raise UsageError(
            f"--channel matches the streams {', '.join(chosen.streams)} only: give --stream NAME."
        )
    else:
        write(chosen, to)
    if not recording.complete:
        typer.echo(
            f"{record} is not complete ({recording.status}): {len(recording.time)} steps.", err=True
        )
    if channel and len(recording.channels) == len(chosen.channels) > 1:
        typer.echo(f"--channel matches all {len(chosen.channels)} channels.")
    columns = sum(values[0].size for values in chosen.channels.values() if len(values))
    if not channel and not stream and write is export_csv and columns > WIDE_TABLE:
        typer.echo(
            f"It has {columns} columns of {len(chosen.time)} rows: --channel PATTERN takes some of "
            "them, such as 'inverse.*', and --every N fewer rows."
        )
    if recording.streams and not stream and not channel and write is export_csv:
        names = ", ".join(recording.streams)
        typer.echo(f"Not in it are the streams, whose rows have times of their own: {names}.")
    typer.echo(f"Written: {to}")


def _export_shots(path: Path, shots: Shots, *, is_part: bool) -> None:
    """Write the picture or movie of a recording."""
    from sofa_softctl.cli.files import check_outputs
    from sofa_softctl.record.record import read_record
    from sofa_softctl.view.movie.window import animation_of
    from sofa_softctl.view.terminal.run import Terminal

    if is_part:
        raise UsageError("A picture or movie shows all: leave out --channel, --stream and --every.")
    check_outputs(reads=[path], movie=shots.movie, to=shots.picture, can_be_page=True)
    recording = read_record(path)
    save = shots.save_movie if shots.movie is not None else shots.save_picture
    save(lambda: animation_of(recording), Terminal())


def _export_pvd(record: Record, to: Path, interval: int) -> None:
    """Export with a progress bar, and print the names of the parts."""
    from sofa_softctl.view.paraview.collection import export_pvd
    from sofa_softctl.view.terminal.run import Terminal

    with Terminal().bar("Exporting", len(record.time)) as progress:
        parts = export_pvd(record, to, interval=interval, progress=progress)
    typer.echo(f"Parts, with a file for each step in {to.with_suffix('')}: {', '.join(parts)}")
