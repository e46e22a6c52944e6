"""The command `softctl info`: the kind of a file is known by its beginning, or by its suffix."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from sofa_softctl.base.files import wrong_file
from sofa_softctl.base.suggestions import files_like
from sofa_softctl.cli.files import check_outputs
from sofa_softctl.cli.options import Json, print_json
from sofa_softctl.cli.root import app
from sofa_softctl.errors import SoftctlError, UsageError
from sofa_softctl.status import ExitStatus

RECORDING, LIBRARY, STORE = "recording", "library of motions", "store of equilibria"
KINDS = {".mcap": RECORDING, ".part": RECORDING, ".library": LIBRARY, ".corners": STORE}
"""Kinds of files by suffix, except meshes, see `runtime.mesh`."""
APPLICATIONS = {b"libr": LIBRARY, b"soft": STORE}
"""Kind of an SQLite file by its application_id, the bytes from 68 on."""
COMMANDS = {".py": "check", ".pyscn": "check", ".scn": "check", ".study": "batch show"}
"""Commands for other files by suffix."""


@app.command(
    epilog="Examples:\n\n"
    "  softctl info out/trunk.mcap\n\n"
    "  softctl info finger.stl\n\n"
    "  softctl info finger.vtk --json\n\n"
    "  softctl info arm.library --plot coverage.png\n\n"
    "  softctl info arm.corners"
)
def info(
    file: Annotated[
        Path,
        typer.Argument(
            help="Recording (FILE.mcap, or the FILE.mcap.part that a killed run left), library of "
            "motions, store of equilibria, or mesh: VTK, Gmsh, STL, OBJ, another one of meshio's."
        ),
    ],
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE.png", help="Plot the parameters of all entries."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the contents of a recording, a library of motions, a store of equilibria or a mesh.

    A mesh is checked for scenes and meshers. Ends with status 1 if it has errors.
    """
    kind = kind_of(file)
    if plot is not None and kind != LIBRARY:
        raise UsageError(f"--plot is for a library of motions, and {file} is a {kind}.")
    check_outputs(reads=[file], plot=plot)
    if kind == LIBRARY:
        _show_library(file, plot, as_json)
    else:
        show = {RECORDING: _show_recording, STORE: _show_store}.get(kind, _show_mesh)
        show(file, as_json)


def kind_of(file: Path) -> str:
    """Return "mesh" or a value of `KINDS`, by the beginning of a file, or else by its suffix.

    A damaged or missing file has the kind of its suffix: who reads it says what is wrong.

    Raises:
        SoftctlError: It is none of these.
    """
    from sofa_softctl.runtime.mesh.formats.foreign import foreign_suffixes
    from sofa_softctl.runtime.mesh.formats.read import CAD, SUFFIXES

    suffix, meshes = file.suffix.lower(), {*SUFFIXES, *CAD, *foreign_suffixes()}
    by_suffix = KINDS.get(suffix, "mesh" if suffix in meshes else "")
    try:
        with open(file, "rb") as stream:
            start = stream.read(1024)
        content = f"a file that begins with {start[:16]!r}" if start else "an empty file"
    except OSError as error:
        start, content = b"", f"nothing that can be read ({error.strerror})"
    if start.startswith(b"\x89MCAP"):
        return RECORDING
    if start.startswith(b"SQLite format 3\0") and (kind := APPLICATIONS.get(start[68:72])):
        return kind
    if wrong := wrong_file(start):
        raise SoftctlError(f"{file}: this {wrong}.")
    if by_suffix:
        return by_suffix
    similar = [] if file.exists() else files_like(file, [*KINDS, *meshes])
    hint = f" Did you mean {' or '.join(map(repr, similar))}?" if similar else ""
    if suffix in COMMANDS:
        hint = f" 'softctl {COMMANDS[suffix]}' says what is in such a file."
    raise SoftctlError(
        f"{file}: expected a recording (.mcap, .mcap.part), a library of motions (.library), a "
        f"store of equilibria (.corners) or a mesh ({', '.join(SUFFIXES)}, those of meshio). "
        f"Got {content}.{hint}"
    )


def _show_recording(file: Path, as_json: bool) -> None:
    from sofa_softctl.record.record import read_record
    from sofa_softctl.view.terminal import record as tables

    record = read_record(file)
    if as_json:
        print_json(tables.record_to_dict(record))
    else:
        tables.show_record(record)


def _show_library(file: Path, plot: Path | None, as_json: bool) -> None:
    from sofa_softctl.library.motions.storage import LibraryFile
    from sofa_softctl.view.plots import library as plots
    from sofa_softctl.view.terminal import library as tables

    with LibraryFile(file) as library:
        tables.show_info(library, as_json=as_json)
        if plot is not None:
            plots.save_coverage_plot(plot, library.library())


def _show_store(file: Path, as_json: bool) -> None:
    from sofa_softctl.surrogate.grid.store import Store, models_in
    from sofa_softctl.view.terminal import plan as tables

    models = []
    for model in models_in(file):
        with Store(file, model) as store:
            models.append(store.info())
    if as_json:
        print_json([tables.stored_row(model)._asdict() for model in models])
    else:
        tables.show_stores(models)


def _show_mesh(file: Path, as_json: bool) -> None:
    from sofa_softctl.runtime.mesh import describe, read_mesh
    from sofa_softctl.runtime.mesh.findings import findings, likely_unit
    from sofa_softctl.runtime.mesh.quality import measures
    from sofa_softctl.view.terminal.mesh import show_mesh

    mesh = describe(read_mesh(file), file)
    wrong = findings(mesh)
    if as_json:
        numbers = asdict(mesh)
        numbers["skin"]["triangles"] = len(mesh.skin.triangles)
        numbers["likely_unit"] = likely_unit(mesh)
        graded = measures(mesh).items()
        numbers["quality"] = {name: asdict(m) | {"grade": m.grade} for name, m in graded}
        print_json({"file": str(file), **numbers, "findings": list(map(asdict, wrong))})
    else:
        show_mesh(str(file), mesh, likely_unit(mesh), wrong)
    if any(finding.level == "error" for finding in wrong):
        raise typer.Exit(ExitStatus.FAILED)
