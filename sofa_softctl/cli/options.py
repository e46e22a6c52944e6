"""Options shared by commands, and how they are parsed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from sofa_softctl.errors import UsageError
from sofa_softctl.status import ExitStatus

Scene = Annotated[Path, typer.Argument(help="Scene file: Python with createScene(root, ...).")]
Steps = Annotated[int | None, typer.Option(help="Number of steps.", min=1)]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Parameter of createScene; may be repeated."),
]
Workers = Annotated[int, typer.Option(help="Number of processes that solve.", min=0)]
Cluster = Annotated[
    str,
    typer.Option(metavar="ADDRESS", help="Scheduler of a Dask cluster, such as tcp://host:8786."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print warnings and errors only.")]
BackendName = Annotated[
    str, typer.Option(help="auto, embedded or sofa.", callback=lambda name: _known_backend(name))
]
Plugin = Annotated[
    list[Path] | None,
    typer.Option(help="Plugin file to load; may be repeated.", show_default=False),
]
Force = Annotated[bool, typer.Option("--force", help="Replace a recording or plan that exists.")]
Json = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")]
View = Annotated[
    str,
    typer.Option(
        "--camera",
        metavar="VIEW",
        help="View of the movie or picture: front, back, left, right, top, bottom, "
        "AZIMUTH,ELEVATION in degrees, or auto, which sees the motion.",
    ),
]
Size = Annotated[
    str | None,
    typer.Option(
        "--size",
        metavar="WIDTHxHEIGHT",
        help="Size of the movie and the picture in pixels. Default: 640x480 and 1920x1440.",
    ),
]
Transparent = Annotated[
    bool, typer.Option("--transparent", help="Leave out the picture's background and clock.")
]
PictureTime = Annotated[
    float | None,
    typer.Option(metavar="TIME", help="Time that the picture shows. Default: the end."),
]


def _be_strict(context: typer.Context, strict: bool) -> bool:
    """Open scenes strictly while the command runs."""
    from sofa_softctl.scene.plausibility.strict import strict_sessions

    context.with_resource(strict_sessions(strict))
    return strict


Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        callback=_be_strict,
        help="Treat warnings of a scene's loading and start as errors.",
    ),
]


def _known_backend(name: str) -> str:
    from sofa_softctl.scene.backend.backend import CHOICES

    if name.lower() not in CHOICES:
        raise UsageError(f"--backend takes {', '.join(CHOICES)}; got '{name}'.")
    return name.lower()


def parameters(texts: list[str] | None, option: str = "--set") -> dict[str, str]:
    """Return names and values of --set, or of a similar option.

    Raises:
        UsageError: A text is not NAME=VALUE, or a name is repeated.
    """
    values: dict[str, str] = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"{option} needs NAME=VALUE, got '{text}'.")
        if name in values:
            raise UsageError(
                f"{option} {name} is given twice, as '{values[name]}' and '{value}': give it once."
            )
        values[name] = value
    return values


def view_of(camera: str, file: Path | None, options: str = "--movie FILE") -> Any:
    """Return the `view.movie.direction.View` of --camera, or None for 'auto'.

    Args:
        camera: Value of --camera.
        file: File that is seen from there, or None.
        options: Options that name such a file, for the error.

    Raises:
        UsageError: The view is unknown, or there is no file.
    """
    if camera == "auto":
        return None
    if file is None:
        raise UsageError(f"--camera is a view: give {options} too.")
    from sofa_softctl.view.movie.direction import parse_view

    try:
        return parse_view(camera)
    except ValueError as error:
        raise UsageError(f"--camera: {error}") from error


def print_json(data: Any) -> None:
    """Print as JSON on standard output; numbers that are not finite become null."""
    typer.echo(json.dumps(_finite(data), indent=2, allow_nan=False))


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


@contextmanager
def note_stop(results: str | Callable[[], str]) -> Iterator[None]:
    """Print the remaining results of the block at Ctrl-C, and exit."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f"Stopped. {results if isinstance(results, str) else results()}", err=True)
        raise typer.Exit(ExitStatus.INTERRUPTED) from None


def exit_if_stopped(count: int, total: int, items: str) -> None:
    """Print that Ctrl-C ended work early, and exit, if not all was done."""
    if count < total:
        typer.echo(f"Stopped by Ctrl-C: the figures are of {count} of {total} {items}.", err=True)
        raise typer.Exit(ExitStatus.INTERRUPTED)


def named_numbers(option: str, texts: Sequence[str] | None) -> dict[str, float]:
    """Return names and numbers of an option NAME=NUMBER that may be repeated.

    Raises:
        UsageError: A text is not of that form.
    """
    numbers = {}
    for text in texts or []:
        name, _, value = text.partition("=")
        try:
            numbers[name.strip()] = float(value)
        except ValueError:
            raise UsageError(f"{option} needs NAME=NUMBER, got '{text}'.") from None
    return numbers
