"""The command `softctl check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sofa_softctl.cli.options import BackendName, Json, Plugin, Quiet, Set, parameters, print_json
from sofa_softctl.cli.root import app
from sofa_softctl.status import ExitStatus


@app.command(
    epilog="Examples:\n\n"
    "  softctl check my_robot.py\n\n"
    "  softctl check ~/robots --rank --workers 4\n\n"
    "  softctl check ~/robots --json > check.json"
)
def check(
    paths: Annotated[list[Path], typer.Argument(metavar="SCENE|FOLDER", help="Scenes, folders.")],
    steps: Annotated[int, typer.Option(help="Steps after the start.", min=0)] = 5,
    set_: Set = None,
    timeout: Annotated[float, typer.Option(help="Time limit of a scene in s.", min=1.0)] = 60.0,
    workers: Annotated[int, typer.Option(help="Number of simultaneous scenes.", min=1)] = 1,
    rank: Annotated[
        bool, typer.Option("--rank", help="List missing features by number of scenes.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="A scene with warnings does not pass.")
    ] = False,
    backend: BackendName = "embedded",
    plugin: Plugin = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Check whether scenes run here: missing components, warnings, contents.

    Each scene is loaded, started and stepped in a separate process. Placeholders replace missing
    components, so that all of them are found. Ends with status 1 if a scene does not run.
    """
    from sofa_softctl.check import check_scenes, scenes_in
    from sofa_softctl.check import rank as ranked
    from sofa_softctl.view.terminal import check as terminal

    scenes = scenes_in(paths)
    checks_in_progress = check_scenes(
        scenes,
        steps=steps,
        seconds=timeout,
        workers=workers,
        parameters=parameters(set_),
        plugins=plugin or (),
        backend=backend,
    )
    checks = list(terminal.with_progress(checks_in_progress, len(scenes), quiet=quiet or as_json))
    if as_json:
        ranks = {"rank": [vars(feature) for feature in ranked(checks)]} if rank else {}
        print_json({"scenes": [scene_check.to_dict() for scene_check in checks], **ranks})
    elif len(scenes) == 1 and not paths[0].is_dir():
        terminal.show_check(checks[0])
    else:
        terminal.show_checks(checks, quiet=quiet)
    if rank and not as_json:
        terminal.show_rank(ranked(checks))
    if not all(
        scene_check.runs and not (strict and scene_check.warnings) for scene_check in checks
    ):
        raise typer.Exit(ExitStatus.FAILED)
