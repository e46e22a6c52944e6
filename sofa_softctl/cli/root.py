"""The Typer application that every command registers with."""

from __future__ import annotations

from copy import copy
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from sofa_softctl.base.processes import stopped_by
from sofa_softctl.cli.commands import LazyCommands, first_line
from sofa_softctl.errors import DeviceError, SceneError
from sofa_softctl.status import ExitStatus


class StoppableCommand:
    """Part of a command or group that reports Ctrl-C or a signal."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that the command line asks for."""
        try:
            return super().invoke(ctx)  # type: ignore[misc]
        except KeyboardInterrupt as stopped:
            if (failed := _robot_failed(stopped)) is not None:
                raise failed from None
            by = stopped_by(stopped)
            typer.echo(
                " ".join([f"Stopped by {by}.", *getattr(stopped, "__notes__", ())]), err=True
            )
            raise typer.Exit(ExitStatus.of_stop(by)) from None
        except EOFError as ended:  # click would only say "Aborted."
            from sofa_softctl.base.source_line import describe
            from sofa_softctl.plugins import user_frames

            if not (frames := user_frames(ended)):
                raise
            location = describe((frames[-1].filename, frames[-1].lineno or 0))
            raise SceneError(
                f"{location}: the scene waits for input from the keyboard, and there is none."
            ) from ended


class Commands(StoppableCommand, TyperGroup):
    """Group of commands that are imported when they are used."""

    def __init__(self, *, commands: Any = None, **options: Any) -> None:
        super().__init__(**options)
        self.commands = LazyCommands(app, dict(commands or {}))

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in the order of the help."""
        return [*self.commands]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command of a command line; refuse old names such as `softctl mesh info`."""
        if args[1:2] == ["info"] and args[0] in ("library", "mesh", "record", "surrogate"):
            new = " ".join(["softctl", *args[1:]])
            ctx.fail(f"'softctl {args[0]} info' is '{new}' now.")
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Show the help without importing a command."""
        overview = copy(self)
        overview.commands = {
            name: TyperCommand(name, help=first_line(name)) for name in self.commands
        }
        TyperGroup.format_help(overview, ctx, formatter)


def _robot_failed(stopped: BaseException) -> DeviceError | None:
    """Return the device error that was being handled when a signal came, or None."""
    while (before := stopped.__context__) is not None:
        if isinstance(before, DeviceError):
            return before
        stopped = before
    return None


app = typer.Typer(
    cls=Commands,
    help="Control of soft robots in SOFA scenes, with or without SOFA installed.",
    epilog="Exit status: 0 done; 1 an error, or a check that did not pass; 2 a wrong command line; "
    "3 goals not reached, or a motion that must not be executed; 130 stopped by Ctrl-C, 143 by "
    "SIGTERM, 129 by SIGHUP.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        from importlib.metadata import version

        typer.echo(f"softctl {version('sofa-softctl')}")
        raise typer.Exit


@app.callback()
def _options(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", callback=_show_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Options of the program itself."""
