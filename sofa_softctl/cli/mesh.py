"""The command `softctl mesh error`."""

from __future__ import annotations

import sys
from contextlib import ExitStack, redirect_stdout
from dataclasses import asdict
from typing import Any

import typer

from sofa_softctl.cli.files import exit_is_an_error, load_plugins, open_session
from sofa_softctl.cli.options import Json, Plugin, Scene, Set, print_json
from sofa_softctl.cli.root import app

mesh_app = typer.Typer(help="Meshes of bodies that bend as they should.", no_args_is_help=True)
app.add_typer(mesh_app, name="mesh")


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
