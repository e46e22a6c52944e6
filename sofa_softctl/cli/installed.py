"""The commands `softctl components`, `plugins`, `doctor` and `warmup`: about the installation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sofa_softctl.cli.files import exit_is_an_error, load_plugins, open_session
from sofa_softctl.cli.options import Plugin, Quiet, Set, note_stop
from sofa_softctl.cli.root import app
from sofa_softctl.errors import SoftctlError, UsageError
from sofa_softctl.status import ExitStatus


@app.command(epilog="Examples:\n\n  softctl components\n\n  softctl components CableConstraint")
def components(
    name: Annotated[str | None, typer.Argument(help="Component to describe. Default: all.")] = None,
    plugin: Plugin = None,
) -> None:
    """List the components of the embedded runtime, or the Data of one of them."""
    from sofa_softctl.view.terminal import info as tables

    load_plugins(plugin, "embedded")
    tables.show_components(name)


@app.command()
def plugins(plugin: Plugin = None) -> None:
    """List the plugins and what they register: controllers, QP solvers, components."""
    from sofa_softctl.plugins import plugins as found
    from sofa_softctl.view.terminal import info as tables

    load_plugins(plugin, "auto")
    tables.show_plugins(found().names)


@app.command()
def doctor() -> None:
    """Show the backend that runs here, versions, and how to install what is missing.

    Ends with status 1 if there are faults.
    """
    from sofa_softctl.scene.backend import doctor as diagnosis
    from sofa_softctl.view.terminal import info as tables

    findings = diagnosis.diagnose()
    tables.show_diagnosis(findings)
    if not all(finding.good for finding in findings):
        raise typer.Exit(ExitStatus.FAILED)


@app.command(
    epilog="Examples:\n\n"
    "  softctl warmup                     # all that the scenes of this package call\n\n"
    "  softctl warmup my_robot.py         # all that one step of a scene calls\n\n"
    "  SOFTCTL_KERNEL_CACHE=/opt/kernels softctl warmup      # in a container, at build time"
)
def warmup(
    scenes: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[SCENE]...", help="Scenes to load and step once.", show_default=""),
    ] = None,
    set_: Set = None,
    plugin: Plugin = None,
    quiet: Quiet = False,
) -> None:
    """Compile kernels now, on all cores, so that first runs start immediately.

    Compiled kernels are kept in a folder of the user, or in SOFTCTL_KERNEL_CACHE. Without SCENE,
    what the scenes of this package call is compiled; kernels that are there already are kept.
    """
    from sofa_softctl.base.kernels.cache import CACHE, VARIABLE
    from sofa_softctl.base.kernels.compile_ahead import AHEAD

    if not scenes:
        if set_ or plugin:
            raise UsageError("--set and --plugin are for scenes: name one, 'softctl warmup SCENE'.")
        try:
            with note_stop("What was compiled is kept: the same command goes on with it."):
                ready, new, total = AHEAD.compile_all()
        except OSError as error:
            raise SoftctlError(
                f"Compiled kernels cannot be kept in {CACHE.folder} ({error.strerror or error}). "
                f"Set {VARIABLE} to a folder that can be written."
            ) from error
        if ready < total:
            raise SoftctlError(
                f"{ready} of {total} kernels are ready, {new} of them new; runs compile the others "
                f"when they need them. Is there space in {CACHE.folder}?"
            )
        if not quiet:
            typer.echo(f"{total} kernels are ready, {new} of them new.")
        return
    load_plugins(plugin, "embedded")
    for scene in scenes:
        with exit_is_an_error(scene), open_session(scene, "embedded", set_, quiet=True) as session:
            session.step()
        if not CACHE.is_usable:  # which has said why
            raise SoftctlError(f"{scene}: it runs, but its kernels are not kept.")
        if not quiet:
            typer.echo(f"{scene}: ready.")
