"""The command `softctl plan`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from sofa_softctl.cli.files import check_name, check_outputs, exit_is_an_error, load_plugins
from sofa_softctl.cli.options import (
    BackendName,
    Cluster,
    Force,
    Json,
    Plugin,
    Quiet,
    Scene,
    Set,
    Strict,
    View,
    Workers,
    note_stop,
    parameters,
    print_json,
    view_of,
)
from sofa_softctl.cli.root import app
from sofa_softctl.errors import ReachError, SoftctlError, TimeLimitError, UsageError


@app.command(
    epilog="Examples:\n\n"
    "  softctl plan scenes/laser_arm.py --task circle --out circle.mcap\n\n"
    "  softctl plan scenes/laser_arm.py --task obstacles --store arm.corners --plot plan.png\n\n"
    "  softctl plan scenes/laser_arm.py --task circle --movie circle.gif\n\n"
    "  softctl plan scenes/laser_arm.py --task circle --task-set radius=80 --out circle.mcap\n\n"
    "  softctl plan scenes/laser_arm.py --task circle --exact --json\n\n"
    "  softctl plan scenes/trunk.py --task round --timeout 60 --out round.mcap\n\n"
    "  softctl plan scenes/laser_arm.py --task circle --cluster tcp://host:8786"
)
def plan(
    scene: Scene,
    task: Annotated[str, typer.Option(help="Key of the scene file's TASKS.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE.mcap", help="File of the plan, for scenes to play back."),
    ] = None,
    force: Force = False,
    instants: Annotated[int, typer.Option(help="Instants of the plan.", min=3)] = 200,
    store: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File of equilibria for later plans.")
    ] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Plan without the grid, slowly.")] = False,
    workers: Workers = 0,
    cluster: Cluster = "",
    grid: Annotated[
        str | None, typer.Option(metavar="auto|cells|sparse", help="Kind of grid.")
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(help="Largest error of positions without refinement.")
    ] = None,
    replay_tolerance: Annotated[
        float | None,
        typer.Option(help="Largest distance from the planned path on the full robot."),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Time after which the best plan so far is taken."),
    ] = None,
    closest: Annotated[
        bool, typer.Option("--closest", help="Also plan to goals that are out of reach.")
    ] = False,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Also write a plan that must not be executed.")
    ] = False,
    task_set: Annotated[
        list[str] | None,
        typer.Option("--task-set", metavar="NAME=VALUE", help="Parameter of the task; repeatable."),
    ] = None,
    set_: Set = None,
    backend: BackendName = "auto",
    plugin: Plugin = None,
    strict: Strict = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Path, tensions and evaluations.")
    ] = None,
    movie: Annotated[
        Path | None, typer.Option(metavar="FILE.gif|mp4", help="Movie of the plan.")
    ] = None,
    camera: View = "auto",
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Estimate time and memory, then stop.")
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Plan a motion of a scene's robot on a grid of its equilibria.

    The plan is replayed on the full robot, in the scene's own steps and on the backend that runs
    take, and corrected there. One that the robot does not follow is not written. Goals that are out
    of reach are refused before planning, unless --closest is given. Ends with status 3 when the
    goals are out of reach, or the plan must not be executed.
    """
    from sofa_softctl.base.executors.workers import check_workers
    from sofa_softctl.record.file import RecordFile, check_suffix
    from sofa_softctl.surrogate.scene.correction import correct_until_accepted
    from sofa_softctl.surrogate.scene.plan_scene import prepare_scene
    from sofa_softctl.view.terminal import plan as plan_tables
    from sofa_softctl.view.terminal import run as terminal

    check_workers(workers, cluster)
    load_plugins(plugin, "embedded")
    message = "Equilibria are lost; with --store FILE they would have been kept."
    if store is not None:
        message = f"Equilibria are kept in {store}: the same command goes on with them."
    if exact:
        _check_exact(
            estimate=estimate,
            store=store,
            grid=grid,
            tolerance=tolerance,
            workers=workers,
            cluster=cluster,
        )
    for option, value in (
        ("--tolerance", tolerance),
        ("--replay-tolerance", replay_tolerance),
        ("--timeout", timeout),
    ):
        if value is not None and not value > 0.0:
            raise UsageError(f"{option} must be positive, got {value:g}.")
    if anyway and out is None:
        raise UsageError("--anyway is about the file that --out names: give --out FILE.mcap.")
    view = view_of(camera, movie)
    check_outputs(reads=[scene], plot=plot, movie=movie, out=out, store=store)
    if out is not None:
        check_name(check_suffix, out)
    show = terminal.Terminal(quiet=quiet or as_json)
    with (
        exit_is_an_error(scene),
        nullcontext() if out is None else RecordFile(out, overwrite=force) as file,
        note_stop(message),
        show.status("solving the equilibria around the start") as update,
        _without_plan(scene, task, timeout, message, as_json),
        prepare_scene(
            scene,
            task,
            instants=instants,
            store=store,
            exact=exact,
            workers=workers,
            cluster=cluster,
            grid=grid,
            tolerance=tolerance,
            replay_tolerance=replay_tolerance,
            parameters=parameters(set_),
            task_parameters=parameters(task_set, "--task-set"),
            backend=backend,
            closest=closest,
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
                print_json(ready.estimate.to_dict())
            return
        watch = plan_tables.Watch(ready)
        update(watch)
        result = correct_until_accepted(ready.plan(watch.steps.append), progress=watch.show_text)
        if file is not None and (result.status.executable or anyway):
            result.write(file, anyway=anyway)
    if as_json:
        print_json(result.to_dict())
    elif not quiet:
        plan_tables.show_plan(result)
    if out is not None and not result.status.executable:
        note = f"{out} says so" if anyway else f"{out} is not written (--anyway writes it)"
        show.note(f"The plan must not be executed: {note}.", doubt=True)
    _draw(result, show, plot, movie, view)
    raise typer.Exit(result.status.verdict.exit_status)


@contextmanager
def _without_plan(
    scene: Path, task: str, timeout: float | None, equilibria: str, as_json: bool
) -> Iterator[None]:
    """Limit the time of the block, and complete the errors of one that ends without a plan."""
    from sofa_softctl.base.time_limit import deadline
    from sofa_softctl.status import Status

    try:
        with deadline(timeout):
            yield
    except TimeLimitError:
        raise SoftctlError(
            f"There is no plan yet after --timeout {timeout:g} s. Give more time. {equilibria}"
        ) from None
    except ReachError as error:
        if as_json:
            status, result = Status.INFEASIBLE, {"scene": str(scene), "task": task}
            verdict = {"status": status.name, "verdict": status.verdict.name}
            print_json(result | verdict | {"message": str(error)})
        raise


def _draw(result: Any, show: Any, plot: Path | None, movie: Path | None, view: Any) -> None:
    """Save plot and movie of a plan."""
    from sofa_softctl.view.movie.plan import save_plan_movie
    from sofa_softctl.view.plots.plan import save_plan_plot

    if plot is not None:
        save_plan_plot(plot, result)
    if movie is not None:
        with show.bar("Rendering", 1) as advance:
            save_plan_movie(movie, result, view=view, progress=advance)
        show.console.print(f"Movie: {movie}", highlight=False, markup=False)


def _check_exact(*, estimate: bool, **about_the_grid: Any) -> None:
    """Raise UsageError for options that --exact does not use."""
    if estimate:
        raise UsageError("--estimate counts corners of the grid: leave out --exact.")
    for name, value in about_the_grid.items():
        if value:
            raise UsageError(f"--{name} is about the grid, and --exact plans without it.")
