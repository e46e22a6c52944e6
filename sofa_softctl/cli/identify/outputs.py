"""Outputs of `softctl identify` in addition to its report: template, command of the scene."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from sofa_softctl.errors import SoftctlError

if TYPE_CHECKING:
    from sofa_softctl.identification.design.design import Design
    from sofa_softctl.identification.model.parameter import Parameter
    from sofa_softctl.identification.model.problem import Problem
    from sofa_softctl.identification.report.report import Report


def write_results(
    made: Report,
    designed: Design | None,
    design: Path | None,
    folder: Path | None,
    problem: Problem,
    parameters: Sequence[Parameter],
    progress: Callable[[str], None],
) -> None:
    """Write the designed motion and the report, if they were requested.

    Args:
        made: Report of the identification.
        designed: Designed motion, or None.
        design: File of the designed motion, or None.
        folder: Folder of the report, or None.
        problem: Identified problem.
        parameters: Parameters of the problem.
        progress: Called with a description of the work.
    """
    from sofa_softctl.view.terminal import identification as view

    if designed is not None and design is not None:
        view.write_motion(design, problem, designed, parameters)
    if folder is not None:
        progress("writing the report")
        view.write(folder, made)


def show_further_commands(report: Report, problem: Problem) -> None:
    """Print the command of a search for causes that was not made, and of the calibrated scene."""
    if report.causes.postponed:
        _show_search(report.causes.postponed)
    if problem.scene is not None:
        show_scene(problem, report.estimate.rho, doubted=bool(report.distrust))


def show_scene(problem: Problem, rho: np.ndarray, *, doubted: bool = False) -> None:
    """Print the command that runs the scene with the estimate, and missing parameters."""
    mark = " (\u2717 not to be trusted)" if doubted else ""
    values, missing = problem.scene_values(rho), problem.not_in_scene
    if not isinstance(problem.scene, str | Path):
        return
    if values:
        options = " ".join(f"--set {name}={_text(value)}" for name, value in values.items())
        typer.echo(f"The scene with what was found{mark}: softctl run {problem.scene} {options}")
    if missing:
        typer.echo(
            f"{', '.join(missing)}: no parameter of the scene. Where it has one, "
            "`scene_parameter` in the problem says which."
        )


def _show_search(seconds: float) -> None:
    """Print the command that also searches for causes, with its expected time [s]."""
    from sofa_softctl.view.words import duration

    command = shlex.join(["softctl", *sys.argv[1:], "--causes"])
    typer.echo(
        f"With a search for what the model may leave out, {duration(seconds)} more: {command}"
    )


def _text(value: Any) -> str:
    """Return a value in the format of --set."""
    if isinstance(value, list | tuple):
        return ",".join(_text(item) for item in value)
    return f"{value:.6g}" if isinstance(value, float) else shlex.quote(str(value))


def write_template(path: Path, problem: Problem, *, quiet: bool) -> None:
    """Write a recording without rows, for the channels of a problem."""
    from sofa_softctl.identification.data.table import template
    from sofa_softctl.view.terminal.identification import write_text

    if path.exists():
        raise SoftctlError(f"'{path}' exists already: name another file for the template.")
    dt = 1.0 / problem.rate if problem.rate else getattr(problem, "dt", None) or 0.01
    write_text(path, template(problem.name, problem.inputs, problem.channels, dt))
    if not quiet:
        typer.echo(f"Template: {path}")
