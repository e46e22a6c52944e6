"""The commands `softctl mesh`."""

from __future__ import annotations

import sys
from contextlib import ExitStack, redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from sofa_softctl.cli.files import exit_is_an_error, load_plugins, open_session
from sofa_softctl.cli.options import Json, Plugin, Scene, Set, print_json
from sofa_softctl.cli.root import app
from sofa_softctl.errors import MeshError, UsageError

if TYPE_CHECKING:
    from sofa_softctl.runtime.mesh.curved import CurvedMesh

ON_SURFACE = 0.05
"""Distance from the surface over the edge [-]: fTetWild leaves nodes a thousandth of the body off,
which is a few per cent of its edges."""

mesh_app = typer.Typer(help="Meshes of soft bodies.", no_args_is_help=True)
app.add_typer(mesh_app, name="mesh")


@mesh_app.command(
    epilog="Examples:\n\n  softctl mesh quadratic finger.vtk finger10.vtk\n\n"
    "  softctl mesh quadratic finger.vtk finger10.vtk --onto finger.stl\n\n"
    "  softctl mesh quadratic gmsh_of_order_2.msh finger10.vtk"
)
def quadratic(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="IN", help="Mesh of tetrahedra: VTK, VTU, Gmsh, another one of meshio's."
        ),
    ],
    target: Annotated[
        Path,
        typer.Argument(metavar="OUT.vtk", help="Legacy VTK 4.2, which SOFA reads too."),
    ],
    onto: Annotated[
        Path | None,
        typer.Option(
            metavar="SURFACE",
            help="Move new nodes in the middle of edges on the skin onto this surface: STL, OBJ.",
        ),
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option(
            min=0.0,
            metavar="FRACTION",
            help="Distance from SURFACE up to which the ends of an edge lie on it, over the edge.",
        ),
    ] = ON_SURFACE,
) -> None:
    """Write a mesh of 10-node tetrahedra, in eighths, for add_elasticity(quadratic=True).

    Each edge gets a node in its middle, unless the tetrahedra in IN have 10 nodes. The eighths are
    an ordinary mesh of 4-node tetrahedra for all else: mass, contacts, mappings, SOFA.
    """
    from sofa_softctl.base.files import check_writable
    from sofa_softctl.runtime.mesh import check_tetrahedra, read_mesh, require_tetrahedra
    from sofa_softctl.runtime.mesh.curved import curve, quadratic_mesh
    from sofa_softctl.runtime.mesh.formats.write import write_tetrahedra
    from sofa_softctl.runtime.mesh.split import split

    if target.suffix.lower() != ".vtk":
        raise UsageError(f"OUT: expected FILE.vtk, which SOFA reads too. Got: '{target}'.")
    for path in (source, onto):
        if path is not None and path.resolve() == target.resolve():
            raise UsageError(f"OUT would overwrite '{path}', which the command reads.")
    check_writable(target)
    linear = read_mesh(source)
    require_tetrahedra(linear, source)
    check_tetrahedra(linear, source)
    if onto is not None and (linear.middles >= 0).any():
        raise UsageError(
            f"--onto moves new nodes, and the tetrahedra in '{source}' have 10 already."
        )
    surface = None if onto is None else read_mesh(onto)
    lines = []
    try:
        mesh = quadratic_mesh(linear)
    except MeshError as error:
        raise MeshError(f"{source}: {error}") from error
    count = len(mesh.tetrahedra)
    if surface is not None:
        movable = np.arange(len(linear.positions), len(mesh.positions))
        try:
            curved = curve(mesh, surface, tolerance=tolerance, movable=movable)
        except MeshError as error:
            raise MeshError(f"{onto}: {error}") from error
        mesh, lines = curved.mesh, _describe_moves(curved, onto, tolerance)
    write_tetrahedra(split(mesh), target)
    kept = int((linear.middles[:, 0] >= 0).sum())
    typer.echo(
        f"{count} 10-node tetrahedra in {8 * count} eighths, "
        f"{len(mesh.positions)} nodes, {len(mesh.positions) - len(linear.positions)} of them new."
        + (f" The middle nodes of {kept} tetrahedra are those of '{source}'." if kept else "")
    )
    for line in lines:
        typer.echo(line)
    typer.echo(f"Written: {target}")


def _describe_moves(curved: CurvedMesh, onto: Path | None, tolerance: float) -> list[str]:
    """Return lines on the nodes that are on the surface, and on those that stay."""
    offset = f"{curved.offset_max:.1%} of the edge"
    lines = [f"{curved.moved} new nodes moved onto '{onto}', by {offset} at most."]
    if curved.distant:
        lines.append(
            f"{curved.distant} on the skin stay in the middle: an end of their edge is more than "
            f"{tolerance:.0%} of its length off the surface."
        )
    if curved.refused:
        lines.append(
            f"{curved.refused} stay in the middle: moved, they would fold an element or be more "
            "than a quarter of the edge from its middle."
        )
    return lines


@mesh_app.command(
    epilog="Examples:\n\n  softctl mesh error scenes/trunk.py\n\n"
    "  softctl mesh error my_robot.py --set mesh=finer.vtk --json"
)
def error(
    scene: Scene,
    set_: Set = None,
    plugin: Plugin = None,
    as_json: Json = False,
) -> None:
    """Estimate how much stiffer its mesh makes each body of a scene, and what would be better.

    Small displacements under its weight and each of its actuators are compared with those of finer
    meshes of elements that do not lock. It uses the embedded runtime, also for scenes of SOFA.
    """
    from sofa_softctl.scene.mesh_error.estimate import mesh_errors
    from sofa_softctl.view.terminal.mesh_error import show_mesh_errors
    from sofa_softctl.view.terminal.run import Terminal

    load_plugins(plugin, "embedded")
    with ExitStack() as stack:
        stack.enter_context(exit_is_an_error(scene))
        if as_json:  # what the scene prints would be in the JSON
            stack.enter_context(redirect_stdout(sys.stderr))
        session = stack.enter_context(open_session(scene, "embedded", set_, quiet=True))
        with Terminal(quiet=as_json).status("Refining the meshes ..."):
            estimates = mesh_errors(session.root)
        unit = "" if session.units is None else session.units.length
    if as_json:
        print_json({"scene": str(scene), "bodies": [_to_dict(e, unit) for e in estimates]})
    else:
        show_mesh_errors(estimates, unit)


def _to_dict(estimate: Any, unit: str) -> dict[str, Any]:
    return asdict(estimate) | {"text": estimate.sentence(unit)}
