"""The command `softctl identify`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from sofa_softctl.base.processes import TerminationSignal
from sofa_softctl.cli.files import load_plugins
from sofa_softctl.cli.identify.inputs import (
    Recordings,
    check_request,
    choose_problem,
    ranges_of,
)
from sofa_softctl.cli.identify.outputs import (
    show_further_commands,
    write_results,
    write_template,
)
from sofa_softctl.cli.options import (
    Cluster,
    Json,
    Plugin,
    Quiet,
    Strict,
    Workers,
    named_numbers,
    note_stop,
)
from sofa_softctl.cli.root import app
from sofa_softctl.errors import SoftctlError
from sofa_softctl.status import ExitStatus

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from sofa_softctl.identification.fitting.estimate import Estimate
    from sofa_softctl.identification.fitting.searches import Make
    from sofa_softctl.identification.model.experiment import Experiment
    from sofa_softctl.view.terminal.run import Terminal

Files = list[Path] | None
T = TypeVar("T")
LONG_SEARCH = 2.0
"""Time of searches after which their result is shown before the diagnostics [s]."""


@app.command(
    epilog="Examples:\n\n"
    "  softctl identify my_robot.py --template motion.csv\n\n"
    "  softctl identify my_robot.py --data bend.csv --data twist.csv --hold-out both.csv "
    "--report found\n\n"
    "  softctl identify my_robot.py:arm --data bend.mcap --starts 8 --workers 4 "
    "--set-start stiffness=2.5\n\n"
    "  softctl identify my_robot.py --data bend.csv --starts 32 --cluster tcp://host:8786\n\n"
    "  softctl identify my_robot.py --data bend.csv --with friction.elbow --with 'offset.*'\n\n"
    "  softctl identify my_robot.py --data bend.csv --budget --bootstrap 200 --workers 4\n\n"
    "  softctl identify my_robot.py --data bend.csv --next slow.csv --next fast.csv\n\n"
    "  softctl identify my_robot.py --data bend.csv --design motion.csv --duration 10"
)
def identify(
    problem: Annotated[
        str, typer.Argument(help="FILE.py:NAME of a file's PROBLEMS; FILE.py if it has one.")
    ],
    data: Annotated[
        Files,
        typer.Option(metavar="FILE", help="Recording, .csv or .mcap; may be repeated."),
    ] = None,
    hold_out: Annotated[
        Files,
        typer.Option(metavar="FILE", help="Recording to predict, not to fit; may be repeated."),
    ] = None,
    next_: Annotated[
        Files,
        typer.Option(
            "--next", metavar="FILE", help="Motion that could be recorded; may be repeated."
        ),
    ] = None,
    design: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="Write the most informative motion to record next."),
    ] = None,
    duration: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            help="Duration of the designed motion. Default: longest recording.",
            min=0.0,
        ),
    ] = None,
    amplitude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="INPUT=LOW:HIGH",
            help="Range of an input of the designed motion; may be repeated. Default: the recorded "
            "range.",
        ),
    ] = None,
    motions: Annotated[
        int, typer.Option(metavar="N", help="Number of motions that the design simulates.", min=10)
    ] = 200,
    report: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write report.html and estimate.json there."),
    ] = None,
    template: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="Write a recording to be filled.")
    ] = None,
    starts: Annotated[
        int,
        typer.Option(help="Number of searches; the first begins at the given start.", min=1),
    ] = 1,
    seed: Annotated[int, typer.Option(help="Seed of random starts and of the design.", min=0)] = 0,
    workers: Workers = 0,
    cluster: Cluster = "",
    set_start: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Start value of a parameter; may be repeated."),
    ] = None,
    fix: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Keep a parameter at its start; may be repeated."),
    ] = None,
    with_: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="NAME",
            help="Add an effect that the model omits, or all like 'offset.*'; may be repeated.",
        ),
    ] = None,
    list_effects: Annotated[
        bool, typer.Option("--list-effects", help="Show the effects of the problem, and stop.")
    ] = False,
    uncertain: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=5%",
            help="Standard deviation of an uncertain number, in its unit or in percent; may be "
            "repeated.",
        ),
    ] = None,
    estimate_noise: Annotated[
        bool, typer.Option("--estimate-noise", help="Estimate the noise of outputs from residuals.")
    ] = False,
    exact_inputs: Annotated[
        bool,
        typer.Option(
            "--exact-inputs", help="Take noisy inputs as recorded: quicker, and biased by noise."
        ),
    ] = False,
    iterations: Annotated[int, typer.Option(help="Limit of simulations per search.", min=1)] = 200,
    budget: Annotated[
        bool | None,
        typer.Option(
            "--budget/--no-budget",
            help="Fit finer models, too: half the time step, a finer mesh. Default: quick ones.",
        ),
    ] = None,
    causes: Annotated[
        bool | None,
        typer.Option(
            "--causes/--no-causes",
            help="Search for effects that the model leaves out. Default: if that takes less than a "
            "minute. Ctrl-C skips this search.",
        ),
    ] = None,
    bootstrap: Annotated[
        int,
        typer.Option(metavar="N", help="Refit N data sets that the estimate simulates.", min=0),
    ] = 0,
    plugin: Plugin = None,
    strict: Strict = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Find the parameters of a model that fit recordings best, with their uncertainty.

    Ends with status 3 if the search did not converge, or the estimate is not to be trusted.
    """
    from sofa_softctl.base.executors.workers import check_workers, files_sent
    from sofa_softctl.base.executors.workers import workers as processes
    from sofa_softctl.base.suggestions import sentence
    from sofa_softctl.identification.causes.causes import expected_seconds
    from sofa_softctl.identification.data.assemble import check_different
    from sofa_softctl.identification.design.design import design_motion
    from sofa_softctl.identification.effects.selection import (
        effects_of_problem,
        names_of,
        read_experiments,
    )
    from sofa_softctl.identification.effects.selection import uncertain as known_within
    from sofa_softctl.identification.fitting.estimate import estimate, start_at
    from sofa_softctl.identification.report.make import make_report
    from sofa_softctl.view.terminal import identification as view
    from sofa_softctl.view.terminal.run import Terminal

    check_workers(workers, cluster)
    load_plugins(plugin, "embedded")
    chosen = choose_problem(problem, with_=with_, uncertain=uncertain, cluster=cluster)
    model = chosen.problem
    if list_effects:
        typer.echo(names_of(effects_of_problem(chosen.loaded)) or "none")
        return
    if template is not None:
        write_template(template, model, quiet=quiet or as_json)
        return
    ranges, hold_out, next_ = ranges_of(amplitude), hold_out or [], next_ or []
    check_request(
        data=data,
        reads=[*(data or []), *hold_out, *next_],
        several=bool(workers or cluster),
        starts=starts,
        bootstrap=bootstrap,
        cluster=cluster,
        design=design,
        of_design=bool(ranges) or duration is not None,
        report=report,
    )
    assert data  # `check_request` refuses none
    own_starts = start_at(model.parameters, named_numbers("--set-start", set_start))
    parameters = known_within(own_starts, chosen.deviations)
    terminal = Terminal(quiet=quiet or as_json)
    recordings = Recordings(model, terminal.note)
    failed = None

    def warn(text: str) -> None:
        terminal.note(sentence(text[:1].upper() + text[1:]), doubt=True)

    with (
        note_stop("Nothing was written."),
        ExitStack() as stack,
        terminal.status("reading recordings") as progress,
    ):
        with files_sent(cluster) as read:
            experiments = recordings.experiments(data)
        sent = {*chosen.files, *read, *map(str, data)}
        executor = stack.enter_context(processes(workers, cluster, sent))
        held_out = recordings.experiments(hold_out)
        check_different(recordings.measured)
        candidates = recordings.experiments(next_, planned=True)
        paths = [str(path) for path in data]
        make = partial(read_experiments, chosen.file, chosen.problem_name, paths, chosen.effects)
        progress("first simulation")
        result = estimate(
            experiments,
            parameters,
            fixed=fix or (),
            starts=starts,
            seed=seed,
            estimate_noise=estimate_noise,
            exact_inputs=exact_inputs,
            evaluations_max=iterations,
            progress=view.search_progress(progress, starts, parallel=executor is not None),
            warn=warn,
            executor=executor,
            make=make,
        )
        designed = None
        if design is not None:
            designed = design_motion(
                *(model, result, experiments, recordings.measured),
                name=str(design),
                duration=duration,
                amplitudes=ranges,
                evaluations=motions,
                seed=seed,
                progress=view.design_progress(progress),
            )
        if result.seconds > LONG_SEARCH:
            remaining = view.remaining_text(expected_seconds(result, experiments), causes)
            terminal.note(f"{view.estimate_text(result)} {remaining}")
        options = _unless_stopped(
            terminal,
            "finer models and refits",
            partial(
                _further_results,
                result,
                experiments,
                progress,
                budget=budget,
                refits=bootstrap,
                seed=seed,
                executor=executor,
                make=make,
            ),
            dict[str, Any],
        )
        progress("computing intervals")
        summarise = partial(
            make_report,
            model.name,
            result,
            experiments,
            hold_out=held_out,
            candidates=candidates,
            design=designed,
            notes=recordings.notes,
            doubts={item.name: item.doubts for item in recordings.measured[: len(data)]},
            progress=progress,
            **options,
        )
        made = _unless_stopped(
            terminal,
            "causes",
            partial(summarise, causes=causes),
            partial(summarise, causes=False),
        )
        try:
            write_results(made, designed, design, report, model, parameters, progress)
        except SoftctlError as error:  # the result is shown all the same
            failed = error
    view.show(made, None if failed else report, quiet=quiet, as_json=as_json)
    if not (quiet or as_json):
        show_further_commands(made, model)
    if failed is not None:
        raise failed
    status = result.status.verdict.exit_status
    raise typer.Exit(ExitStatus.NOT_REACHED if made.distrust and not status else status)


def _unless_stopped(
    terminal: Terminal, label: str, run: Callable[[], T], run_without: Callable[[], T]
) -> T:
    """Return the result of `run`, or of `run_without`, which leaves something out, after Ctrl-C.

    SIGTERM and SIGHUP still end the command.
    """
    try:
        return run()
    except TerminationSignal:
        raise
    except KeyboardInterrupt:
        terminal.note(f"Stopped: the report is without {label}. Ctrl-C again ends it.", doubt=True)
        return run_without()


def _further_results(
    result: Estimate,
    experiments: list[Experiment],
    progress: Callable[[str], None],
    *,
    budget: bool | None,
    refits: int,
    seed: int,
    executor: Executor | None,
    make: Make,
) -> dict[str, Any]:
    """Return discretisation error and bootstrap as arguments of `make_report`."""
    from sofa_softctl.identification.uncertainty.bootstrap import bootstrap
    from sofa_softctl.identification.uncertainty.discretisation import (
        DiscretisationBudget,
        discretisation_budget,
    )

    arguments: dict[str, Any] = {}
    if budget is None or budget:
        arguments["discretisation"] = discretisation_budget(
            result, experiments, limit=not budget, progress=progress
        )
    elif any(experiment.refinements() for experiment in experiments):
        text = "The error by time step and mesh was not estimated, as --no-budget asks."
        arguments["discretisation"] = DiscretisationBudget(result.names, (), (text,))
    if refits:
        progress(f"0 of {refits} refits done")
        arguments["bootstrap"] = bootstrap(
            result,
            experiments,
            refits,
            seed=seed,
            progress=lambda count: progress(f"{count} of {refits} refits done"),
            executor=executor,
            make=make,
        )
    return arguments
