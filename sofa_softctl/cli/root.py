"""The Typer application that every command registers with."""

from __future__ import annotations

import typer

app = typer.Typer(
    help="Control of soft robots in SOFA scenes, with or without SOFA installed.",
    epilog="Exit status: 0 done; 1 an error, or a check that did not pass; 2 a wrong command line; "
    "3 goals not reached, or a motion that must not be executed; 130 stopped by Ctrl-C.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
