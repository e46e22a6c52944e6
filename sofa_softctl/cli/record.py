"""The command `softctl record export`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sofa_softctl.cli.root import app
from sofa_softctl.errors import RecordError, UsageError

if TYPE_CHECKING:
    from sofa_softctl.record.record import Record

record_app = typer.Typer(help="Recordings of runs and plans.", no_args_is_help=True)
app.add_typer(record_app, name="record")


@record_app.command(
    epilog="Examples:\n\n  softctl record export out/trunk.mcap --to trunk.csv\n\n"
    "  softctl record export out/trunk.mcap --to trunk.npz\n\n"
    "  softctl record export out/trunk.mcap --to trunk.pvd --every 10\n\n"
    "  softctl record export out/run.mcap --stream bridge.robot.command --to commands.csv"
)
def export(
    record: Annotated[Path, typer.Argument(help="FILE.mcap, or FILE.mcap.part of a killed run.")],
    to: Annotated[
        Path,
        typer.Option(
            metavar="FILE.csv|npz|pvd",
            help="Table, arrays for numpy.load, or meshes and stresses for ParaView.",
        ),
    ],
    stream: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Export a stream instead of the steps; may be repeated."),
    ] = None,
    every: Annotated[
        int, typer.Option(min=1, metavar="N", help="ParaView: every N-th step, and the last one.")
    ] = 1,
) -> None:
    """Write a recording for other programs: tables, arrays, or meshes for ParaView."""
    from sofa_softctl.base.files import check_writable
    from sofa_softctl.record.export import export_csv, export_npz, export_streams
    from sofa_softctl.record.record import read_record

    writers: dict[str, Callable[[Record, Path], None]] = {
        ".csv": export_csv,
        ".npz": export_npz,
        ".pvd": partial(_export_pvd, interval=every),
    }
    write = writers.get(to.suffix.lower())
    if write is None:
        raise RecordError(f"--to: expected FILE.csv, FILE.npz or FILE.pvd. Got: '{to}'.")
    if every > 1 and to.suffix.lower() != ".pvd":
        raise UsageError("--every is for FILE.pvd: tables and arrays have all steps.")
    check_writable(to)
    recording = read_record(record)
    if stream and write is export_csv:
        export_streams(recording, stream, to)
    else:
        write(recording, to)
    if not recording.complete:
        typer.echo(
            f"{record} is not complete ({recording.status}): {len(recording.time)} steps.", err=True
        )
    if recording.streams and not stream and write is export_csv:
        names = ", ".join(recording.streams)
        typer.echo(f"Not in it are the streams, whose rows have times of their own: {names}.")
    typer.echo(f"Written: {to}")


def _export_pvd(record: Record, to: Path, interval: int) -> None:
    """Export with a progress bar, and print the names of the parts."""
    from sofa_softctl.view.paraview.collection import export_pvd
    from sofa_softctl.view.terminal.run import Terminal

    with Terminal().bar("Exporting", len(record.time)) as progress:
        parts = export_pvd(record, to, interval=interval, progress=progress)
    typer.echo(f"Parts, with a file for each step in {to.with_suffix('')}: {', '.join(parts)}")
