"""The commands of `softctl library`."""

from __future__ import annotations

import math
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from sofa_softctl.cli.files import check_name, check_outputs, load_plugins
from sofa_softctl.cli.options import (
    Cluster,
    Json,
    Plugin,
    Quiet,
    Workers,
    exit_if_stopped,
    note_stop,
    print_json,
)
from sofa_softctl.cli.root import app
from sofa_softctl.errors import UsageError
from sofa_softctl.status import ExitStatus

library_app = typer.Typer(help="Libraries of optimal motions.", no_args_is_help=True)
app.add_typer(library_app, name="library")

ProblemName = Annotated[
    str, typer.Argument(help="FILE.py:NAME of a file's PROBLEMS; FILE.py if it has one.")
]
Candidates = Annotated[
    int, typer.Option(help="Motions tried for an answer; 1 is the paper's method.", min=1)
]
Accuracy = Annotated[
    float, typer.Option(help="Fraction of the tolerance allowed as error.", min=0.01, max=1.0)
]
LibraryPath = Annotated[Path, typer.Argument(help="File that softctl library build made.")]
Seed = Annotated[int, typer.Option(help="Seed of the random tasks.", min=0)]


@library_app.command(
    epilog="Examples:\n\n"
    "  softctl library build scenes/elastic_arm_pick_place.py --estimate\n\n"
    "  softctl library build scenes/elastic_arm_pick_place.py --out arm.library --workers 2\n\n"
    "  softctl library build my_robot.py:reach --out reach.library --failure-rate 0.05\n\n"
    "  softctl library build my_robot.py:reach --out reach.library --cluster tcp://host:8786"
)
def build(
    problem: ProblemName,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Library file; continued if it exists.")
    ] = None,
    failure_rate: Annotated[
        float,
        typer.Option(
            help="End when at most this fraction of tasks fails, at 95 % confidence.",
            min=1e-4,
            max=0.5,
        ),
    ] = 0.01,
    motions: Annotated[int, typer.Option(help="End at this number of motions.", min=1)] = 5000,
    workers: Workers = 0,
    cluster: Cluster = "",
    seed: Annotated[
        int | None,
        typer.Option(help="Seed of a new library's random tasks. Default: 0.", min=0),
    ] = None,
    candidates: Candidates = 4,
    steps: Annotated[
        int,
        typer.Option(
            help="Corrections of known tasks: 0 for speed, 2 for few motions.", min=0, max=2
        ),
    ] = 1,
    accuracy: Accuracy = 1.0,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Estimate size and build time, then stop.")
    ] = False,
    plugin: Plugin = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Build a library, or continue one: add motions for random tasks until few tasks fail.

    Ends with status 3 if too many tasks fail, since they have no motion.
    """
    from sofa_softctl.base.executors.workers import check_workers, files_sent
    from sofa_softctl.base.executors.workers import workers as processes
    from sofa_softctl.library.building import build as building
    from sofa_softctl.library.building.forecast import forecast_build
    from sofa_softctl.library.motions.storage import LibraryFile, check_for_library
    from sofa_softctl.library.ocp.problem import load_problem
    from sofa_softctl.library.ocp.shooting import Program
    from sofa_softctl.view.terminal import library as tables
    from sofa_softctl.view.terminal import run as terminal

    if out is None and not estimate:
        raise UsageError("Say where the library goes, --out FILE, or ask for --estimate.")
    if out is not None and estimate:
        raise UsageError("--estimate writes no library: leave --out away, or --estimate.")
    check_workers(workers, cluster)
    check_outputs(out=out)
    if plugin:
        load_plugins(plugin, "auto")
    show = terminal.Terminal(quiet=quiet or as_json)
    with files_sent(cluster, problem.partition(":")[0]) as files:
        program = Program(load_problem(problem))
    check_for_library(program.model)
    options: dict[str, Any] = {
        "failure_rate": failure_rate,
        "most": motions,
        "candidates": candidates,
        "steps": steps,
        "accuracy": accuracy,
        "make": partial(load_problem, problem),
    }
    if out is None:
        with (
            note_stop("Nothing was written."),
            processes(workers, cluster, files) as executor,
            show.status("building a small one"),
        ):
            cost = forecast_build(program, executor=executor, **options)
        tables.show_estimate(cost, as_json=as_json)
        return
    with ExitStack() as stack:
        stack.enter_context(note_stop(f"{out} has all motions: the same command continues."))
        executor = stack.enter_context(processes(workers, cluster, files))
        if out.exists():
            file = LibraryFile(out)
        else:
            file = LibraryFile.create(out, program.model)
        stack.enter_context(file)
        _check_seed(file, seed)
        builder = building.Builder(
            program,
            file,
            seed=seed or 0,
            executor=executor,
            **options,
        )
        if builder.changed:
            show.note(
                f"{out} goes on with {', '.join(builder.changed)}. Tasks until now say nothing of "
                "such answers: the test of the library begins anew."
            )
        if builder.done:
            show.note(
                f"{out} is finished already: no task is tried. Go on with a smaller --failure-rate "
                "or more --motions."
            )
        update = stack.enter_context(show.status("looking for a first motion"))
        update(tables.Watch(builder))
        builder.build()
    tables.show_built(builder, out, quiet=quiet, as_json=as_json)
    raise typer.Exit(ExitStatus.NOT_REACHED if builder.hopeless else ExitStatus.DONE)


@library_app.command(
    context_settings={"ignore_unknown_options": True},  # negative numbers
    epilog="Example:\n\n"
    "  softctl library query arm.library 1.2 0.8 0.0 -0.1 0.36 0.4 --plot move.png",
)
def query(
    library: LibraryPath,
    parameters: Annotated[list[str], typer.Argument(help="One number for each parameter.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="Inputs and states over time.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE.png", help="Plot inputs and states, unrefined and refined."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Ask a library for a motion.

    Ends with status 3 when it must not be executed, or is beyond the problem's range.
    """
    from sofa_softctl.library.building.export import write_csv
    from sofa_softctl.library.motions.storage import load
    from sofa_softctl.view.plots import library as plots
    from sofa_softctl.view.terminal import library as tables

    check_outputs(reads=[library], plot=plot, out=out)
    loaded = load(library)
    p = _numbers(library, [parameter.name for parameter in loaded.model.parameters], parameters)
    loaded.query(p)  # sets up what later ones have ready: their time is shown
    answer = loaded.query(p)
    ok = answer.status.ok and not answer.beyond
    if out is not None and ok:
        write_csv(out, loaded, answer)
    if plot is not None:
        plots.save_answer_plot(plot, answer, loaded.query(p, refine=False), loaded)
    tables.show_answer(loaded, answer, as_json=as_json)
    raise typer.Exit(ExitStatus.DONE if ok else ExitStatus.NOT_REACHED)


@library_app.command(
    epilog="Example:\n\n"
    "  softctl library verify arm.library scenes/elastic_arm_pick_place.py --plot accuracy.png"
)
def verify(
    library: LibraryPath,
    problem: ProblemName,
    tasks: Annotated[int, typer.Option(help="Random tasks.", min=1)] = 1000,
    seed: Seed = 1,
    candidates: Candidates = 4,
    accuracy: Accuracy = 1.0,
    blind: Annotated[
        bool, typer.Option("--blind", help="Do not simulate answers, as in the paper.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Errors, costs and times.")
    ] = None,
    plugin: Plugin = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Compare a library's answers to tasks it has never seen with the optima.

    Ctrl-C ends it after the present task: the figures are of the tasks done.
    """
    from sofa_softctl.library.building.verify import verify as check
    from sofa_softctl.library.motions.storage import LibraryFile
    from sofa_softctl.library.ocp.problem import load_problem
    from sofa_softctl.library.ocp.shooting import Program
    from sofa_softctl.view.plots import library as plots
    from sofa_softctl.view.terminal import library as tables
    from sofa_softctl.view.terminal import run as terminal

    check_outputs(reads=[library], plot=plot)
    if plugin:
        load_plugins(plugin, "auto")
    show = terminal.Terminal(quiet=quiet or as_json)
    program = Program(load_problem(problem))
    with LibraryFile(library) as file:
        file.check(program.model)
        loaded = file.library()
    with show.bar("Tasks", tasks) as advance:
        result = check(
            loaded,
            program,
            tasks,
            seed=seed,
            candidates=candidates,
            accuracy=accuracy,
            simulated=not blind,
            progress=advance,
        )
    if plot is not None:
        plots.save_verification_plot(plot, result)
    tables.show_verification(result, quiet=quiet, as_json=as_json)
    exit_if_stopped(len(result.errors), tasks, "tasks")


@library_app.command(epilog="Example:\n\n  softctl library export arm.library arm.npz")
def export(
    library: LibraryPath,
    out: Annotated[Path, typer.Argument(help="FILE.npz or FILE.csv.")],
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write parameters, costs, inputs and states of all motions."""
    from sofa_softctl.library.building.export import check_suffix, write_library
    from sofa_softctl.library.motions.storage import load

    check_name(check_suffix, out)
    check_outputs(reads=[library], out=out)
    loaded = load(library)
    write_library(out, loaded)
    if as_json:
        print_json({"written": str(out), "motions": len(loaded)})
    elif not quiet:
        typer.echo(f"{len(loaded)} motions: {out}")


def _numbers(library: Path, names: list[str], words: list[str]) -> list[float]:
    """Return parameters of a library from words; raise UsageError for invalid numbers."""
    if len(words) != len(names):
        raise UsageError(
            f"{library}: expected {len(names)} numbers, for {', '.join(names)}. Got {len(words)}: "
            f"{' '.join(words)}."
        )
    numbers = []
    for number, (name, word) in enumerate(zip(names, words, strict=True), 1):
        try:
            numbers.append(float(word))
        except ValueError:
            numbers.append(math.nan)
        if not math.isfinite(numbers[-1]):
            raise UsageError(
                f"{library}: parameter {number}, {name}, must be a finite number. Got: '{word}'. "
                f"Give one number each for {', '.join(names)}."
            )
    return numbers


def _check_seed(file: Any, seed: int | None) -> None:
    """Raise UsageError if a library was begun with another seed."""
    begun = file.about("state")
    if seed is None or begun is None or begun.get("seed") == seed:
        return
    seeded = f" of --seed {begun['seed']}" if "seed" in begun else ""
    raise UsageError(
        f"--seed {seed} is for a new library: {file.path} continues with its own random "
        f"tasks{seeded}. Leave --seed out, or give another --out."
    )
