"""Commands of benchmarks: `python -m benchmarks.NAME`, from the root of a clone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from sofa_softctl.cli.options import print_json
from sofa_softctl.cli.root import StoppableCommand
from sofa_softctl.errors import SoftctlError

Scenes = Annotated[Path, typer.Option(help="Folder of the scenes.")]
Plot = Annotated[Path | None, typer.Option(metavar="FILE.png", help="Write a plot.")]
SCENES = Path("scenes")


class Command(StoppableCommand, TyperCommand):
    """A command that reports Ctrl-C or a signal."""


def command_app(function: Callable[..., None], *examples: str) -> typer.Typer:
    """Return the application of one command, for `run_app`.

    Args:
        function: The command; its parameters become options, its docstring the help.
        examples: Command lines that the help shows.
    """
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
    lines = ["Examples:" if examples[1:] else "Example:", *(f"  {line}" for line in examples)]
    app.command(cls=Command, epilog="\n\n".join(lines))(function)
    return app


def check_scenes(folder: Path) -> None:
    """Raise SoftctlError if there is no such folder."""
    if not folder.is_dir():
        raise SoftctlError(
            f"There is no folder '{folder}' of scenes: run this where the repository is, or say "
            "where its scenes are, --scenes FOLDER."
        )


def show_result(
    result: Any,
    plot: Path | None,
    save: Callable[[Path, Any], None],
    print_tables: Callable[[Any], None],
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    """Show the result of a study as plot, JSON or tables."""
    if plot is not None:
        save(plot, result)
    if as_json:
        print_json(result.to_dict())
    elif not quiet:
        print_tables(result)


def resume_note(path: Path) -> str:
    """Return the message of a study that was stopped."""
    return f"'{path}' has what was measured: the same command goes on with it."
