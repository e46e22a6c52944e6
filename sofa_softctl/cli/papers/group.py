"""The group of commands `softctl papers`, and what they share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from sofa_softctl.cli.options import print_json
from sofa_softctl.cli.root import app
from sofa_softctl.errors import SoftctlError

papers = typer.Typer(help="The papers' tables and studies, measured here.", no_args_is_help=True)
app.add_typer(papers, name="papers")

Scenes = Annotated[Path, typer.Option(help="Folder of the scenes.")]
Plot = Annotated[Path | None, typer.Option(metavar="FILE.png", help="A picture.")]
SCENES = Path("scenes")


def check_scenes(folder: Path) -> None:
    """Refuse a folder that is none."""
    if not folder.is_dir():
        raise SoftctlError(
            f"There is no folder '{folder}' of scenes: run this where the repository is, or say "
            "where its scenes are, --scenes FOLDER."
        )


def show_result(
    found: Any,
    plot: Path | None,
    save: Callable[[Path, Any], None],
    print_tables: Callable[[Any], None],
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    """Show a study as picture, JSON or tables."""
    if plot is not None:
        save(plot, found)
    if as_json:
        print_json(found.to_dict())
    elif not quiet:
        print_tables(found)


def kept(path: Path) -> str:
    """Message for a study that was stopped."""
    return f"'{path}' has what was measured: the same command goes on with it."
