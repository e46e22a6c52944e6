"""The command `softctl mesh info`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from sofa_softctl.cli.options import Json, print_json
from sofa_softctl.cli.root import app
from sofa_softctl.status import ExitStatus

mesh = typer.Typer(
    help="Meshes: what is in a file, and is it fit for a scene?", no_args_is_help=True
)
app.add_typer(mesh, name="mesh")


@mesh.command(
    epilog="Examples:\n\n  softctl mesh info finger.stl\n\n  softctl mesh info finger.vtk --json"
)
def info(
    file: Annotated[
        Path, typer.Argument(help="Mesh file: VTK, Gmsh, STL, OBJ, or another one of meshio's.")
    ],
    as_json: Json = False,
) -> None:
    """Print size, volume and element quality of a mesh, and what is wrong with it.

    A surface is checked for what a mesher needs. Ends with status 1 when something is an error.
    """
    from sofa_softctl.runtime.mesh import describe, read_mesh
    from sofa_softctl.runtime.mesh.findings import findings, likely_unit
    from sofa_softctl.view.terminal.mesh import show_mesh

    described = describe(read_mesh(file), file)
    found = findings(described)
    if as_json:
        numbers = asdict(described)
        numbers["skin"]["triangles"] = len(described.skin.triangles)
        numbers["likely_unit"] = likely_unit(described)
        print_json({"file": str(file), **numbers, "findings": [asdict(one) for one in found]})
    else:
        show_mesh(str(file), described, likely_unit(described), found)
    if any(one.level == "error" for one in found):
        raise typer.Exit(ExitStatus.FAILED)
