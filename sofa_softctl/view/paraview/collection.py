"""Recordings as PVD collections: a VTU file for each part and step, and the list of their times."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import quoteattr

from sofa_softctl.base.files import replace_atomically
from sofa_softctl.errors import RecordError
from sofa_softctl.record.record import Record
from sofa_softctl.view.paraview.pieces import Grid, Piece, pieces_of

SUFFIX = ".pvd"


def export_pvd(
    record: Record,
    path: str | os.PathLike[str],
    *,
    interval: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[str]:
    """Write a recording for ParaView: NAME.pvd, and a folder NAME with the files that it lists.

    Bodies have the point data `displacement` and the cell data `von_mises`, if their material is
    known (with the moduli at the start of the recording); cables `force` and `displacement`;
    contacts `force`; goals `error`. The list is written last, when the export is complete. Files of
    an earlier export are replaced.

    Args:
        record: The recording.
        path: The list to write.
        interval: Number of steps between written ones; the last step is always written.
        progress: Called with the number of written steps and of all steps.

    Returns:
        Names of the parts: bodies by their state, `cables`, contacts and goals.

    Raises:
        RecordError: `interval` is below 1; the recording has no steps or meshes; or a file cannot
            be written.
    """
    path = Path(path)
    count = len(record.time)
    if interval < 1:
        raise RecordError(f"Every which step? Expected 1 or more. Got: {interval}.")
    if not count:
        raise RecordError("There is nothing to export: the recording has no steps.")
    parts = pieces_of(record)
    steps = range((count - 1) % interval, count, interval)
    digits = max(4, len(str(len(steps) - 1)))
    lines = []
    for number, step in enumerate(steps):
        for part, piece in enumerate(parts):
            file = f"{_file_name(piece)}_{number:0{digits}}.vtu"
            write_vtu(piece.grid(step), path.with_suffix("") / file)
            location = quoteattr(f"{path.stem}/{file}")
            time, name = quoteattr(repr(float(record.time[step]))), quoteattr(piece.name)
            lines.append(f'<DataSet timestep={time} part="{part}" name={name} file={location}/>\n')
        if progress is not None:
            progress(number + 1, len(steps))
    with replace_atomically(path, RecordError) as temporary:
        temporary.write_text(
            '<?xml version="1.0"?>\n<VTKFile type="Collection" version="0.1">\n<Collection>\n'
            + "".join(lines)
            + "</Collection>\n</VTKFile>\n",
            encoding="utf-8",
        )
    return [piece.name for piece in parts]


def write_vtu(grid: Grid, path: Path) -> None:
    """Write points and cells as a VTU file, which appears when complete."""
    import meshio

    mesh = meshio.Mesh(
        grid.points,
        [(grid.kind, grid.cells)],
        point_data=grid.point_data,
        cell_data={name: [values] for name, values in grid.cell_data.items()},
    )
    with replace_atomically(path, RecordError) as temporary:
        meshio.write(temporary, mesh, file_format="vtu")


def _file_name(piece: Piece) -> str:
    return piece.name.replace("/", ".")
