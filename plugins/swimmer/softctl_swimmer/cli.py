"""The command `softctl-swimmer`."""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from sofa_softctl.errors import SoftctlError
from softctl_swimmer import pictures
from softctl_swimmer.planning.gait_table import GaitTable

app = typer.Typer(help="A swimmer of ellipsoids in potential flow.", no_args_is_help=True)


@app.callback()
def main() -> None:
    """A swimmer of ellipsoids in potential flow."""


Body = Annotated[str, typer.Option(help="fish, eel or tadpole.")]
Vertices = Annotated[int, typer.Option(help="Number of vertices of each link's skin.", min=6)]
Kept = Annotated[Path | None, typer.Option(help="File with solutions of the flow, for later runs.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only warnings and errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


@app.command(
    epilog="Examples:\n\n  softctl-swimmer plan --out gait.csv --plot gait.png --movie swim.gif\n\n"
    "  softctl-swimmer plan --body eel --objective turn --out turn.csv --store eel.store"
)
def plan(
    out: Annotated[Path, typer.Option(help="CSV file of the gait, for scenes/swim.py.")],
    body: Body = "fish",
    objective: Annotated[
        str, typer.Option(help="forward, backward, sideways, turn or nose.")
    ] = "forward",
    torque: Annotated[
        float | None,
        typer.Option(help="Largest torque of each hinge, in N m.", min=1e-9, max=1e6),
    ] = None,
    duration: Annotated[
        float, typer.Option(help="Duration of the motion, in s.", min=0.5, max=20.0)
    ] = 4.0,
    vertices: Vertices = 353,
    store: Kept = None,
    plot: Annotated[Path | None, typer.Option(help="Picture of angles, torques and path.")] = None,
    movie: Annotated[
        Path | None, typer.Option(help="GIF of the swimmer and the potential on its skin.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Plan a gait and check it on the flow. 5 to 10 minutes; 3 with --vertices 98.

    If the flow does not confirm the gait, it is not written, and the exit status is 3.
    """
    from softctl_swimmer.bodies import BODIES
    from softctl_swimmer.planning.motion_map import HINGES
    from softctl_swimmer.planning.objectives import OBJECTIVES, UNITS
    from softctl_swimmer.planning.replay import replay, solve_gait
    from softctl_swimmer.planning.study import prepare

    _check_names([body], BODIES, "--body")
    _check_names([objective], OBJECTIVES, "--objective")
    _check_file(out, "--out", (".csv",))
    _check_file(plot, "--plot", (".png", ".pdf", ".svg"))
    _check_file(movie, "--movie", (".gif",))
    _check_kept([path for path in (out, plot, movie) if path is not None], store, force)
    console = Console(stderr=True, quiet=quiet)
    with _errors_as_lines(), console.status("flow") as status:
        study = prepare(body, vertices, store=store, progress=status.update)
        study = study.with_plan(duration, torque)
        dynamics, count = study.dynamics, itertools.count(1)
        gait_plan = solve_gait(
            dynamics,
            objective,
            instants=study.instants,
            reach=study.limit,
            progress=lambda path: status.update(f"iteration {next(count)}: {-path.cost:.4g}"),
        )
        status.update("replay on the flow")
        gait_plan = replay(gait_plan, dynamics, study.exact)
        a, u = gait_plan.plan.a if gait_plan.motion is None else gait_plan.motion, gait_plan.plan.u
        if gait_plan.status.ok:
            torques = dynamics.torque * np.vstack((u, np.zeros(dynamics.inputs)))
            time = dynamics.dt * np.arange(study.instants)
            GaitTable(time, a[:, HINGES], torques).save(out)
        if plot is not None:
            pictures.save_plot(plot, dynamics.embedding, a, u, dynamics.dt)
        if movie is not None:
            status.update("movie")
            pictures.animate(movie, study.flow, a, dynamics.dt)
    values = {
        "status": gait_plan.status.name,
        "start": gait_plan.begun,
        "progress": gait_plan.progress,
        "on_the_flow": gait_plan.exact,
        "largest_torque_there": gait_plan.torque,
        "between_instants": gait_plan.played,
        "largest_torque_then": gait_plan.played_torque,
        "unit": UNITS[objective],
        "message": gait_plan.message,
    }
    if as_json:
        print(json.dumps(values))
    elif not quiet:
        for name, value in values.items():
            if value != "":
                print(f"{name.replace('_', ' ')}: {value}")
    if not gait_plan.status.ok:
        raise typer.Exit(3)


@app.command(
    epilog="Examples:\n\n  softctl-swimmer table\n\n"
    "  softctl-swimmer table --body fish --body eel --objective forward --objective turn\n\n"
    "  softctl-swimmer table --vertices 42 --json > row.json"
)
def table(
    body: Annotated[list[str] | None, typer.Option(help="fish, eel, tadpole; repeatable.")] = None,
    objective: Annotated[
        list[str] | None,
        typer.Option(help="forward, backward, sideways, turn, nose; repeatable."),
    ] = None,
    vertices: Vertices = 353,
    store: Kept = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Table I of Jia, Pan, Manocha, second row: with and without a map. 10 minutes a row."""
    from softctl_swimmer.bodies import BODIES
    from softctl_swimmer.planning.objectives import OBJECTIVES
    from softctl_swimmer.planning.rivals import random_gaits
    from softctl_swimmer.planning.study import prepare
    from softctl_swimmer.planning.table import PaperRow, Row, contest_of, measure, time_flow
    from softctl_swimmer.show import show_table

    bodies = _check_names(body or ["fish"], BODIES, "--body")
    objectives = _check_names(objective or ["forward"], OBJECTIVES, "--objective")
    console = Console(stderr=True, quiet=quiet)
    rows: list[Row] = []
    with _errors_as_lines(), console.status("flow") as status:
        for name in bodies:
            study = prepare(name, vertices, store=store, progress=status.update)
            times = time_flow(study)
            rivals = random_gaits(
                contest_of(study),
                progress=lambda number, name=name: status.update(f"{name}: random gait {number}"),
            )
            rows += [
                measure(study, name_of_objective, times, rivals, progress=status.update)
                for name_of_objective in objectives
            ]
    if as_json:
        print(json.dumps([row.to_dict() for row in rows]))
    elif not quiet:
        show_table(rows, PaperRow())


@app.command(
    epilog="Examples:\n\n  softctl-swimmer learn --seeds 5 --folder policies\n\n"
    "  softctl-swimmer learn --vertices 42 --steps 163840 --json"
)
def learn(
    body: Annotated[str, typer.Option(help="fish, eel or tadpole.")] = "fish",
    seeds: Annotated[
        int, typer.Option(help="Number of trainings, each with another seed.", min=1)
    ] = 1,
    steps: Annotated[
        int | None, typer.Option(help="Decisions of a training; the paper's by default.", min=1)
    ] = None,
    episodes: Annotated[int, typer.Option(help="Episodes of the score on the map.", min=1)] = 50,
    exact_episodes: Annotated[
        int, typer.Option(help="Episodes of the score on the flow, some minutes each.", min=1)
    ] = 1,
    folder: Annotated[
        Path | None, typer.Option(help="Folder for policies and checkpoints.")
    ] = None,
    vertices: Vertices = 353,
    store: Kept = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Table I of Jia, Pan, Manocha, third row: learn to swim on a map. Half an hour a seed."""
    from sofa_softctl.learning.training import check_extra
    from softctl_swimmer.bodies import BODIES
    from softctl_swimmer.learning.row import BUDGET, Row, measure
    from softctl_swimmer.planning.study import prepare
    from softctl_swimmer.planning.table import time_flow
    from softctl_swimmer.show import show_learning

    _check_names([body], BODIES, "--body")
    console = Console(stderr=True, quiet=quiet)
    rows: list[Row] = []
    with _errors_as_lines(), console.status("flow") as status:
        check_extra()
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        study = prepare(body, vertices, store=store, progress=status.update)
        times = time_flow(study)
        for seed in range(seeds):
            row, _ = measure(
                study,
                times,
                seed,
                steps=steps or BUDGET,
                episodes=episodes,
                exact_episodes=exact_episodes,
                out=None if folder is None else folder / f"{body}_{seed}.safetensors",
                progress=status.update,
            )
            rows.append(row)
    if as_json:
        print(json.dumps([row.to_dict() for row in rows]))
    elif not quiet:
        show_learning(rows)


@app.command(
    epilog="Example:\n\n  softctl-swimmer plan --out gait.csv\n\n"
    "  softctl-swimmer learn --folder policies\n\n"
    "  softctl-swimmer starts policies/fish_0.safetensors --gait gait.csv"
)
def starts(
    policies: Annotated[
        list[Path], typer.Argument(metavar="POLICY...", help="Files of softctl-swimmer learn.")
    ],
    gait: Annotated[Path, typer.Option(help="CSV file of softctl-swimmer plan.")],
    body: Body = "fish",
    vertices: Vertices = 353,
    store: Kept = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Compare policies, a planned gait and random ones from disturbed starts. Minutes."""
    from sofa_softctl.learning import Policy
    from softctl_swimmer.bodies import BODIES
    from softctl_swimmer.learning.starts import compare_starts
    from softctl_swimmer.planning.gaits import follow_angles
    from softctl_swimmer.planning.rivals import random_gaits
    from softctl_swimmer.planning.study import prepare
    from softctl_swimmer.planning.table import contest_of
    from softctl_swimmer.show import show_starts

    _check_names([body], BODIES, "--body")
    console = Console(stderr=True, quiet=quiet)
    with _errors_as_lines(), console.status("flow") as status:
        policy_by_name = {path.stem: Policy.load(path) for path in policies}
        study = prepare(body, vertices, store=store, progress=status.update)
        angles = GaitTable.load(gait, study.dynamics.inputs)
        contest = contest_of(study)
        planned = follow_angles(study.dynamics, angles(contest.time))
        rivals = random_gaits(
            contest, progress=lambda number: status.update(f"random gait {number}")
        )
        status.update("swimming")
        distances = compare_starts(study, policy_by_name, planned, rivals)
    if as_json:
        print(json.dumps([distance.to_dict() for distance in distances]))
    elif not quiet:
        show_starts(distances)


@app.command(epilog="Example:\n\n  softctl-swimmer sizes")
def sizes(quiet: Quiet = False, as_json: Json = False) -> None:
    """Measure the cost of larger swimmers: finer skins, more links, more joints. Some minutes."""
    from softctl_swimmer.planning.sizes import measure_grids, measure_skins
    from softctl_swimmer.show import show_sizes

    console = Console(stderr=True, quiet=quiet)
    with _errors_as_lines(), console.status("flow") as status:
        skins, grids = measure_skins(progress=status.update), measure_grids()
    if as_json:
        print(json.dumps({"skins": list(map(asdict, skins)), "grids": list(map(asdict, grids))}))
    elif not quiet:
        show_sizes(skins, grids)


def _check_names(requested: list[str], valid_names: Collection[str], option: str) -> list[str]:
    for name in requested:
        if name not in valid_names:
            raise typer.BadParameter(f"{option} takes {', '.join(valid_names)}; got '{name}'.")
    return requested


def _check_file(path: Path | None, option: str, suffixes: tuple[str, ...]) -> None:
    """Raise an error for a file that cannot be written, before long work."""
    if path is None:
        return
    if path.suffix.lower() not in suffixes:
        raise typer.BadParameter(f"{option} takes {' or '.join(suffixes)}; got '{path}'.")
    try:
        if path.is_dir():
            raise IsADirectoryError("it is a folder")
        TemporaryFile(dir=path.absolute().parent).close()
    except OSError as error:
        raise typer.BadParameter(f"{option} '{path}' cannot be written: {error}.") from error


def _check_kept(written: list[Path], store: Path | None, force: bool) -> None:
    """Raise an error for outputs that would replace each other, the store or existing files."""
    names = [path.resolve() for path in (*written, *([] if store is None else [store]))]
    if len(set(names)) < len(names):
        raise typer.BadParameter("--out, --plot, --movie and --store must be different files.")
    for path in written:
        if path.exists() and not force:
            raise typer.BadParameter(f"'{path}' exists. Give another name, or --force.")


@contextmanager
def _errors_as_lines() -> Iterator[None]:
    """Print errors of the block as a line and end the command with status 1."""
    try:
        yield
    except SoftctlError as error:
        Console(stderr=True).print(str(error), style="red", markup=False, soft_wrap=True)
        raise typer.Exit(1) from error
