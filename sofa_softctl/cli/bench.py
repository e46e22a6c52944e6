"""The commands of `softctl bench`: speed of scenes, here and compared with SOFA."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sofa_softctl.cli.files import check_outputs, load_plugins, open_session, prepare
from sofa_softctl.cli.options import (
    BackendName,
    Json,
    Plugin,
    Quiet,
    Scene,
    Set,
    Steps,
    Strict,
    exit_if_stopped,
    parameters,
    print_json,
)
from sofa_softctl.cli.root import app
from sofa_softctl.status import ExitStatus

bench = typer.Typer(help="Speed of scenes, here and compared with SOFA.", no_args_is_help=True)
app.add_typer(bench, name="bench")


@bench.command(epilog="Example:\n\n  softctl bench scene scenes/trunk.py --steps 500")
def scene(
    path: Scene,
    steps: Steps = 300,
    set_: Set = None,
    backend: BackendName = "auto",
    plugin: Plugin = None,
    strict: Strict = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure the time of a scene's step by phases, after compilation.

    Ctrl-C ends it: the figures are of the steps done.
    """
    from sofa_softctl.bench.profile import profile
    from sofa_softctl.scene.graph.nodes import keep_devices_closed
    from sofa_softctl.view.terminal import bench as tables

    load_plugins(plugin, backend)
    total = steps or 300
    with open_session(
        path, backend, set_, quiet=quiet or as_json, add=keep_devices_closed
    ) as session:
        result = profile(session, total)
    if as_json:
        print_json(result.to_dict())
    elif not quiet:
        tables.show_profile(result)
    exit_if_stopped(result.steps, total, "steps")


@bench.command(
    epilog="Examples:\n\n"
    "  softctl bench compare scenes/trunk.py\n\n"
    "  softctl bench compare scenes/finger.py --steps 500 --set bend=20 --plot finger.png"
)
def compare(
    scene: Scene,
    steps: Steps = 200,
    set_: Set = None,
    tolerance: Annotated[
        float, typer.Option(help="Largest deviation, as a fraction of the robot's size.", min=0.0)
    ] = 1e-6,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Plot of deviation and phases.")
    ] = None,
    plugin: Plugin = None,
    strict: Strict = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run a scene in SOFA and without it, in turn, and compare motion and speed.

    Ends with status 1 when the motion differs by more than the tolerance. Ctrl-C ends it: the
    figures are of the steps done.
    """
    from sofa_softctl.bench.compare import compare as compare_scene
    from sofa_softctl.view.terminal import bench as tables
    from sofa_softctl.view.terminal.run import Terminal

    check_outputs(reads=[scene], plot=plot)
    total = steps or 200
    show = Terminal(quiet=quiet or as_json)
    with show.bar("Comparing", total) as advance:
        result = compare_scene(
            scene,
            total,
            parameters=parameters(set_),
            prepare=partial(prepare, plugin, strict),
            on_step=advance,
        )
    if as_json:
        print_json(result.to_dict())
    elif not quiet:
        tables.show_comparison(result, tolerance)
    if plot is not None:
        from sofa_softctl.view.plots.comparison import save_comparison_plot

        save_comparison_plot(plot, result)
    exit_if_stopped(result.steps, total, "steps")
    if result.deviation_max > tolerance:
        raise typer.Exit(ExitStatus.FAILED)


@bench.command(epilog="Example:\n\n  softctl bench bridge --seconds 10")
def bridge(
    seconds: Annotated[float, typer.Option(help="Length of each case in s.", min=1.0)] = 20.0,
    as_json: Json = False,
) -> None:
    """Measure the timing of commands of the hardware bridge on this computer.

    Eight actuators on a loopback device, at 100 and 500 Hz: on an idle computer, with a busy
    process on each core, and with a scene that stalls. Nothing moves.
    """
    from dataclasses import asdict

    from sofa_softctl.bench.stream_timing import CASES, study
    from sofa_softctl.view.terminal import bench as tables
    from sofa_softctl.view.terminal.run import Terminal

    result = []
    with Terminal(quiet=as_json).bar("Measuring", len(CASES)) as advance:
        for timing in study(seconds):
            result.append(timing)
            advance(len(result))
    if as_json:
        print_json({"cases": [asdict(timing) for timing in result]})
    else:
        tables.show_timings(result)


@bench.command(epilog="Example:\n\n  softctl bench batch finger.toml --workers 2 --seconds 60")
def batch(
    study: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="Study file.")],
    workers: Annotated[
        int | None, typer.Option(help="Workers of the batch. Default: one per core.", min=1)
    ] = None,
    seconds: Annotated[float, typer.Option(help="Length of each comparison in s.", min=5.0)] = 60.0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure the runs per minute of a batch, next to loops on the same cores.

    The loops are first plain Python, then softctl run, one for each worker of the batch, at the
    same time. No row is kept.
    """
    from dataclasses import asdict

    from sofa_softctl.batch.study.file import read_study
    from sofa_softctl.bench.batch import LOOPS, throughput
    from sofa_softctl.view.terminal import bench as tables
    from sofa_softctl.view.terminal.run import Terminal

    result = []
    design = read_study(study)
    count = workers or len(os.sched_getaffinity(0))
    with Terminal(quiet=quiet or as_json).bar("Measuring", len(LOOPS)) as advance:
        for loop in LOOPS:
            result.append(throughput(design, loop, count, seconds))
            advance(len(result))
    if as_json:
        print_json([asdict(comparison) | {"ratio": comparison.ratio} for comparison in result])
    elif not quiet:
        tables.show_throughput(result)
