"""The command line: one short function a command; the logic lives elsewhere."""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from sofa_softctl.cli import identify
from sofa_softctl.cli import library as cli_library
from sofa_softctl.cli import papers as cli_papers
from sofa_softctl.cli import plan as cli_planning
from sofa_softctl.cli.options import Json, Quiet, Scene, Set, Steps, parameters
from sofa_softctl.errors import SoftctlError

app = typer.Typer(
    help="Control of soft robots in SOFA scenes, with or without SOFA installed.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

Duration = Annotated[float | None, typer.Option(help="Simulated time, instead of steps.")]
BackendName = Annotated[str, typer.Option(help="auto, embedded or sofa.")]
Plugin = Annotated[
    list[Path] | None,
    typer.Option(help="Plugin file to load; may be repeated.", show_default=False),
]


@app.command(
    epilog="Examples:\n\n"
    "  softctl run scenes/trunk.py\n\n"
    "  softctl run scenes/trunk.py --set path=eight --duration 8 --movie trunk.gif\n\n"
    "  softctl run scenes/finger.py --steps 200 --record finger.mcap --json"
)
def run(
    scene: Scene,
    steps: Steps = None,
    duration: Duration = None,
    set_: Set = None,
    backend: BackendName = "auto",
    record: Annotated[
        Path | None, typer.Option(metavar="FILE.mcap", help="Record every step.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Plot of errors and efforts.")
    ] = None,
    movie: Annotated[
        Path | None, typer.Option(metavar="FILE.gif|mp4", help="Movie of the robot.")
    ] = None,
    plugin: Plugin = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run a scene: follow the goal, and say how well that went."""
    from sofa_softctl.view.terminal import run as terminal

    _load_plugins(plugin)
    session = _session(scene, backend, set_, quiet=quiet or as_json)
    show = terminal.Terminal(quiet=quiet or as_json)
    summary = show.run(session, steps, duration, record=record, plot=plot, movie=movie)
    if as_json:
        typer.echo(json.dumps(summary.to_dict(), indent=2))


@app.command(epilog="Example:\n\n  softctl bench scenes/trunk.py --steps 500")
def bench(
    scene: Scene,
    steps: Steps = 300,
    set_: Set = None,
    backend: BackendName = "auto",
    plugin: Plugin = None,
    as_json: Json = False,
) -> None:
    """Measure a scene: where the time of a step goes, after compilation."""
    from sofa_softctl.bench.profile import profile
    from sofa_softctl.view.terminal import run as terminal

    _load_plugins(plugin)
    session = _session(scene, backend, set_, quiet=as_json)
    found = profile(session, steps or 300)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2))
    else:
        terminal.show_profile(found)


app.command(epilog=cli_papers.EXAMPLES)(cli_papers.papers)


@app.command(
    epilog="Examples:\n\n"
    "  softctl compare scenes/trunk.py\n\n"
    "  softctl compare scenes/finger.py --steps 500 --set bend=20 --plot finger.png"
)
def compare(
    scene: Scene,
    steps: Steps = 200,
    set_: Set = None,
    tolerance: Annotated[
        float, typer.Option(help="Largest deviation, as a share of the robot's size.", min=0.0)
    ] = 1e-6,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Plot of deviation and phases.")
    ] = None,
    plugin: Plugin = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run a scene in SOFA and without it, in turn: same motion, and how fast?

    Ends with status 1 when the motion differs by more than the tolerance.
    """
    from sofa_softctl.bench.compare import compare as compare_scene
    from sofa_softctl.view.terminal import run as terminal

    total = steps or 200
    show = terminal.Terminal(quiet=quiet or as_json)
    with show.bar("Comparing", total) as advance:
        found = compare_scene(
            scene,
            total,
            parameters=parameters(set_),
            prepare=partial(_load_plugins, plugin),
            on_step=advance,
        )
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2))
    elif not quiet:
        terminal.show_comparison(found, tolerance)
    if plot is not None:
        from sofa_softctl.view.plots.comparison import save_comparison_plot

        save_comparison_plot(plot, found)
    if found.deviation_max > tolerance:
        raise typer.Exit(1)


app.command(epilog=cli_planning.EXAMPLES)(cli_planning.plan)
app.add_typer(cli_planning.surrogate, name="surrogate")
app.add_typer(cli_library.app, name="library")
app.command(epilog=identify.EXAMPLES)(identify.identify)


@app.command(epilog="Examples:\n\n  softctl components\n\n  softctl components CableConstraint")
def components(
    name: Annotated[
        str | None, typer.Argument(help="Component to describe; all when left out.")
    ] = None,
) -> None:
    """List the components of the embedded runtime, or the Data of one of them."""
    from sofa_softctl.view.terminal import run as terminal

    terminal.show_components(name)


@app.command()
def plugins(plugin: Plugin = None) -> None:
    """List the plugins and the controllers that they bring."""
    from sofa_softctl.plugins import plugins as found
    from sofa_softctl.view.terminal import run as terminal

    _load_plugins(plugin)
    terminal.show_plugins(found())


@app.command()
def doctor() -> None:
    """Say which backend runs here, which versions, what is missing and how to get it.

    Ends with status 1 when something is not as it should be.
    """
    from sofa_softctl.scene.sofa import doctor as diagnosis
    from sofa_softctl.view.terminal import run as terminal

    findings = diagnosis.diagnose()
    terminal.show_diagnosis(findings)
    if not all(finding.good for finding in findings):
        raise typer.Exit(1)


def _load_plugins(files: list[Path] | None) -> None:
    from sofa_softctl.plugins import plugins as found

    known = found()  # also those of installed packages: their components come before the scene
    for file in files or []:
        known.add_file(file)


def _session(scene: Path, backend: str, values: list[str] | None, *, quiet: bool) -> Any:
    from sofa_softctl.scene.backend import find_backend
    from sofa_softctl.scene.session import Session

    chosen = find_backend(backend)
    if not quiet:
        typer.echo(f"Backend: {chosen.describe()}")
    elif chosen.note:
        typer.echo(chosen.note, err=True)
    return Session(scene, backend=backend, parameters=parameters(values))


def main() -> None:
    """Run the command line; any error ends it with a message and exit status 1."""
    status = _run()
    if "Sofa" in sys.modules:
        from sofa_softctl.runtime.bindings.modules import is_embedded

        if not is_embedded(sys.modules["Sofa"]):  # SOFA may abort when Python cleans up after it
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    sys.exit(status)


def _run() -> int:
    try:
        app(standalone_mode=True)
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else int(done.code is not None)
    except Exception as error:
        from sofa_softctl.view.terminal import run as terminal

        if isinstance(error, SoftctlError):
            terminal.show_error(error)
        elif terminal.user_frames(error) or isinstance(error, SyntaxError):
            terminal.show_users_error(error)
        else:
            raise  # a fault of this package: everything that is known
        return 1
    return 0
