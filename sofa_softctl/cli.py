"""The command line: one short function a command; the logic lives elsewhere."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from sofa_softctl.cli_library import app as library_app
from sofa_softctl.errors import SoftctlError

app = typer.Typer(
    help="Control of soft robots in SOFA scenes, with or without SOFA installed.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

Scene = Annotated[Path, typer.Argument(help="Scene file: Python with createScene(root, ...).")]
Steps = Annotated[int | None, typer.Option(help="Number of steps.", min=1)]
Duration = Annotated[float | None, typer.Option(help="Simulated time, instead of steps.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Parameter of createScene; may be repeated."),
]
BackendName = Annotated[str, typer.Option(help="auto, embedded or sofa.")]
Plugin = Annotated[
    list[Path] | None,
    typer.Option(help="Plugin file to load; may be repeated.", show_default=False),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Json = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")]


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
    from sofa_softctl.view import terminal

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
    from sofa_softctl.view import terminal

    _load_plugins(plugin)
    session = _session(scene, backend, set_, quiet=as_json)
    found = profile(session, steps or 300)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2))
    else:
        terminal.show_profile(found)


@app.command(
    epilog="Examples:\n\n  softctl papers\n\n  softctl papers --contacts coulomb --strategies\n\n"
    "  softctl papers --planning --plot projection.png\n\n"
    "  softctl papers --trajectories --plot springs.png"
)
def papers(
    scenes: Annotated[
        Path, typer.Option(help="Folder of the scenes.", exists=True, file_okay=False)
    ] = Path("scenes"),
    steps: Steps = 150,
    contacts: Annotated[
        str, typer.Option(help="How contacts are taken: sticking, as in the paper, or coulomb.")
    ] = "sticking",
    strategies: Annotated[
        bool, typer.Option(help="Also compare the strategies on problems of these scenes.")
    ] = False,
    planning: Annotated[
        bool,
        typer.Option("--planning", help="Measure the paper on planning instead, some minutes."),
    ] = False,
    trajectories: Annotated[
        bool,
        typer.Option("--trajectories", help="Measure the paper on libraries: what springs save."),
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE.png", help="With --planning or --trajectories: a picture."),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure the robots of the paper on inverse control through contacts: its Table II."""
    from sofa_softctl.bench.papers import TABLE_2, compare_strategies, measure_row
    from sofa_softctl.view import paper_tables, terminal

    show = terminal.Terminal(quiet=quiet or as_json)
    if planning:
        _measure_planning(show, scenes, plot, quiet=quiet, as_json=as_json)
        return
    if trajectories:
        _measure_trajectories(show, plot, quiet=quiet, as_json=as_json)
        return
    rows = []
    for row in TABLE_2:
        with show.bar(row.name, steps or 150) as advance:
            rows.append(measure_row(scenes, row, steps or 150, advance, contacts=contacts))
    gaps = {}
    if strategies:
        gaps = compare_strategies([problem for row in rows for problem in row.problems])
    if as_json:
        found = {"table": [row.to_dict() for row in rows], "strategies": gaps}
        typer.echo(json.dumps(found, indent=2))
    elif not quiet:
        paper_tables.show_papers(rows, gaps)


def _measure_planning(
    show: Any, scenes: Path, plot: Path | None, *, quiet: bool, as_json: bool
) -> None:
    """Table I of the paper on planning, its Lemma IV.1, and what the projection costs."""
    from sofa_softctl.bench.convergence import measure_convergence
    from sofa_softctl.bench.planning import PaperRow, measure_planning
    from sofa_softctl.bench.projection import measure_projection
    from sofa_softctl.view import paper_tables, plans, projections

    if plot is not None:
        plans.check_suffix(plot)
    with show.status("planning with and without the grid") as tell:
        row = measure_planning(scenes, tell)
        levels = measure_convergence(scenes, tell)
        costs = measure_projection(scenes, tell)
    if plot is not None:
        projections.save_projection_plot(plot, costs)
    if as_json:
        told = {
            "table": row.to_dict(),
            "convergence": [level.to_dict() for level in levels],
            "projection": costs.to_dict(),
        }
        typer.echo(json.dumps(told, indent=2))
    elif not quiet:
        paper_tables.show_planning(row, PaperRow())
        paper_tables.show_convergence(levels)
        paper_tables.show_projection(costs)


def _measure_trajectories(show: Any, plot: Path | None, *, quiet: bool, as_json: bool) -> None:
    """Section 2 of the paper on trajectory libraries: mean costs of three actuations."""
    from sofa_softctl.bench.trajectories import measure_energy
    from sofa_softctl.view import library_tables, plans, trajectories

    if plot is not None:
        plans.check_suffix(plot)
    with show.status("planning 200 motions for each actuation") as tell:
        found = measure_energy(tell)
    if plot is not None:
        trajectories.save_energy_plot(plot, found)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2))
    elif not quiet:
        library_tables.show_energy(found)


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
    from sofa_softctl.view import terminal

    total = steps or 200
    show = terminal.Terminal(quiet=quiet or as_json)
    with show.bar("Comparing", total) as advance:
        found = compare_scene(
            scene,
            total,
            parameters=dict(map(_parameter, set_ or [])),
            prepare=partial(_load_plugins, plugin),
            on_step=advance,
        )
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2))
    elif not quiet:
        terminal.show_comparison(found, tolerance)
    if plot is not None:
        from sofa_softctl.view.comparison import save_comparison_plot

        save_comparison_plot(plot, found)
    if found.deviation_max > tolerance:
        raise typer.Exit(1)


@app.command(
    epilog="Examples:\n\n"
    "  softctl plan scenes/laser_arm.py --task circle --out circle.mcap\n\n"
    "  softctl plan scenes/laser_arm.py --task obstacles --store arm.corners --plot plan.png\n\n"
    "  softctl plan scenes/laser_arm.py --task circle --movie circle.gif\n\n"
    "  softctl plan scenes/laser_arm.py --task circle --exact --json"
)
def plan(
    scene: Scene,
    task: Annotated[str, typer.Option(help="One of the scene file's TASKS.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.mcap", help="The plan, for scenes to play back.")
    ] = None,
    instants: Annotated[int, typer.Option(help="Instants of the plan.", min=3)] = 200,
    store: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keeps equilibria for later plans.")
    ] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Plan without the grid, slowly.")] = False,
    workers: Annotated[
        int, typer.Option(help="Processes that solve equilibria at the same time.", min=0)
    ] = 0,
    tolerance: Annotated[
        float | None, typer.Option(help="Refine only where positions are further off than this.")
    ] = None,
    set_: Set = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Path, tensions and evaluations.")
    ] = None,
    movie: Annotated[
        Path | None, typer.Option(metavar="FILE.gif|mp4", help="Movie of the plan.")
    ] = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Only say what the plan would take.")
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Plan a motion of a scene's robot on a grid of its equilibria."""
    from sofa_softctl.surrogate.plan_scene import prepare_scene
    from sofa_softctl.view import plan_movie, plan_tables, plans, terminal
    from sofa_softctl.view.files import check_writable

    if estimate and exact:
        raise SoftctlError("--estimate counts corners of the grid: leave out --exact.")
    for name, given in (("store", store), ("tolerance", tolerance), ("workers", workers)):
        if exact and given:
            raise SoftctlError(f"--{name} is about the grid, and --exact plans without it.")
    if tolerance is not None and not tolerance > 0.0:
        raise SoftctlError(f"--tolerance must be positive, got {tolerance:g}.")
    if movie is not None:
        plan_movie.check_plan_movie(movie)
    if plot is not None:
        plans.check_suffix(plot)
    for file in filter(None, (out, plot, movie)):
        check_writable(file)
    show = terminal.Terminal(quiet=quiet or as_json)
    with (
        _stopping(store),
        show.console.status("solving the equilibria around the start") as line,
        prepare_scene(
            scene,
            task,
            instants=instants,
            store=store,
            exact=exact,
            workers=workers,
            tolerance=tolerance,
            parameters=dict(_parameter(text) for text in set_ or ()),
        ) as ready,
    ):
        if ready.estimate is not None:
            show.console.print(f"Expected: {ready.estimate}.", highlight=False)
        if estimate:
            if ready.estimate is None:
                raise SoftctlError(
                    "There is no estimate: no equilibrium was found near the start, or no plan "
                    "with it alone. Plan without --estimate."
                )
            if as_json:
                typer.echo(json.dumps(ready.estimate.to_dict(), indent=2))
            return
        watch = plan_tables.Watch(ready)
        line.update(watch)
        found = ready.plan(watch.steps.append)
    told = found.to_dict()
    if out is not None:
        found.write(out)
    if plot is not None:
        plans.save_plan_plot(plot, found)
    if as_json:
        typer.echo(json.dumps(told, indent=2))
    elif not quiet:
        plan_tables.show_plan(found)
    if movie is not None:
        with show.bar("Rendering", 1) as advance:
            plan_movie.save_plan_movie(movie, found, progress=advance)
        show.console.print(f"Movie: {movie}", highlight=False, markup=False)


@contextmanager
def _stopping(store: Path | None) -> Iterator[None]:
    """Say at Ctrl-C what is left of a plan that was begun."""
    try:
        yield
    except KeyboardInterrupt:
        kept = "Equilibria are lost; with --store FILE they would have been kept."
        if store is not None:
            kept = f"Equilibria are kept in {store}: the same command goes on with them."
        typer.echo(f"Stopped. {kept}", err=True)
        raise typer.Exit(130) from None


surrogate_app = typer.Typer(help="Equilibria that plans have kept.", no_args_is_help=True)
app.add_typer(surrogate_app, name="surrogate")
app.add_typer(library_app, name="library")


@surrogate_app.command(epilog="Example:\n\n  softctl surrogate info arm.corners")
def info(
    store: Annotated[Path, typer.Argument(help="File that softctl plan --store made.")],
    as_json: Json = False,
) -> None:
    """Say what a store of equilibria holds, model by model."""
    from sofa_softctl.surrogate.store import Store, models_in
    from sofa_softctl.view import plan_tables

    found = []
    for model in models_in(store):
        with Store(store, model) as opened:
            found.append(opened.info())
    if as_json:
        told = [entry._asdict() for entry in map(plan_tables.stored_row, found)]
        typer.echo(json.dumps(told, indent=2))
    else:
        plan_tables.show_stores(found)


@app.command(epilog="Examples:\n\n  softctl components\n\n  softctl components CableConstraint")
def components(
    name: Annotated[
        str | None, typer.Argument(help="Component to describe; all when left out.")
    ] = None,
) -> None:
    """List the components of the embedded runtime, or the Data of one of them."""
    from sofa_softctl.view import terminal

    terminal.show_components(name)


@app.command()
def plugins(plugin: Plugin = None) -> None:
    """List the plugins and the controllers that they bring."""
    from sofa_softctl.plugins import plugins as found
    from sofa_softctl.view import terminal

    _load_plugins(plugin)
    terminal.show_plugins(found())


@app.command()
def doctor() -> None:
    """Say which backend runs here, which versions, what is missing and how to get it.

    Ends with status 1 when something is not as it should be.
    """
    from sofa_softctl.scene import diagnosis
    from sofa_softctl.view import terminal

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

    parameters = dict(_parameter(entry) for entry in values or [])
    chosen = find_backend(backend)
    if not quiet:
        typer.echo(f"Backend: {chosen.describe()}")
    elif chosen.note:
        typer.echo(chosen.note, err=True)
    return Session(scene, backend=backend, parameters=parameters)


def _parameter(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise SoftctlError(f"--set needs NAME=VALUE, got '{text}'.")
    return name, value


def main() -> None:
    """Run the command line; any error ends it with a message and exit status 1."""
    status = _run()
    if "Sofa" in sys.modules:
        from sofa_softctl.runtime.modules import is_embedded

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
        from sofa_softctl.view import terminal

        if isinstance(error, SoftctlError):
            terminal.show_error(error)
        elif terminal.user_frames(error) or isinstance(error, SyntaxError):
            terminal.show_users_error(error)
        else:
            raise  # a fault of this package: everything that is known
        return 1
    return 0


if __name__ == "__main__":
    main()
