"""The commands `softctl components`, `plugins` and `doctor`."""

from __future__ import annotations

from typing import Annotated

import typer

from sofa_softctl.cli.files import load_plugins
from sofa_softctl.cli.options import Plugin
from sofa_softctl.cli.root import app
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
