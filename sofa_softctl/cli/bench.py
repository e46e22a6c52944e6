"""The commands of `softctl bench`: speed of scenes, here and compared with SOFA."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from sofa_softctl.cli.files import check_outputs, load_plugins, prepare
from sofa_softctl.cli.options import (
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
from sofa_softctl.errors import UsageError
from sofa_softctl.status import ExitStatus

bench = typer.Typer(help="Speed of scenes, here and compared with SOFA.", no_args_is_help=True)
app.add_typer(bench, name="bench")


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
    load_plugins(plugin, "embedded")  # errors before processes start
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


Seconds = Annotated[
    float, typer.Option(help="Time of a case in s, after which no more steps start.", min=0.1)
]
NoSofa = Annotated[bool, typer.Option("--no-sofa", help="Leave SOFA out where it is installed.")]
Cpu = Annotated[
    bool,
    typer.Option("--cpu", help="Count processor time, not wall time: for a busy machine."),
]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="FILE.json", help="File of the results.")
]
TableFile = Annotated[
    Path | None, typer.Option("--table", metavar="FILE.md", help="File of the table, as Markdown.")
]


@bench.command(
    "scaling",
    epilog="Examples:\n\n"
    "  softctl bench scaling --plot scaling.png --out scaling.json\n\n"
    "  softctl bench scaling --max-dofs 10000 --max-rows 100 --max-contacts 30",
)
def measure_scaling(
    max_dofs: Annotated[
        int, typer.Option(help="Largest number of degrees of freedom.", min=297)
    ] = 100_000,
    max_rows: Annotated[int, typer.Option(help="Largest number of constraint rows.", min=4)] = 1000,
    max_contacts: Annotated[int, typer.Option(help="Largest number of contacts.", min=0)] = 300,
    steps: Steps = 100,
    seconds: Seconds = 6.0,
    no_sofa: NoSofa = False,
    cpu: Cpu = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Plot of times and exponents.")
    ] = None,
    out: Out = None,
    table: TableFile = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure how the time of a step grows with degrees of freedom, rows and contacts.

    A beam that is held at an end and pulled by four cables, of 297 to 98,553 degrees of freedom;
    then one of 9,963 with up to 1,000 cables, and with up to 300 contacts. SOFA runs in turn where
    it is installed, until its step takes longer than a second. Ctrl-C ends it: the figures are of
    the cases done.
    """
    from sofa_softctl.bench.scaling import Limits, scaling_cases

    check_outputs(plot=plot, out=out, table=table)
    cases = scaling_cases(Limits(max_dofs, max_rows, max_contacts))
    results = _measure(cases, steps or 100, seconds, not no_sofa, cpu, out, table, quiet, as_json)
    if plot is not None:
        from sofa_softctl.view.plots.scaling import save_scaling_plot

        save_scaling_plot(plot, results)
    exit_if_stopped(len(results.speeds), len(cases), "cases")


@bench.command(
    epilog="Examples:\n\n"
    "  softctl bench scenes scenes/finger.py scenes/trunk.py\n\n"
    "  softctl bench scenes --out new.json"
)
def scenes(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[SCENE...]", help="Scene files. Default: those of ./scenes."),
    ] = None,
    steps: Steps = 200,
    seconds: Seconds = 10.0,
    no_sofa: NoSofa = False,
    cpu: Cpu = False,
    out: Out = None,
    table: TableFile = None,
    plugin: Plugin = None,
    strict: Strict = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure scenes: median and 99 % of a step's time, phases, memory, and Python's share.

    SOFA runs in turn where it is installed. Ctrl-C ends it: the figures are of the scenes done.
    """
    from sofa_softctl.bench.speed import Case

    files = files or _scene_files(Path("scenes"))
    check_outputs(reads=files, out=out, table=table)
    load_plugins(plugin, "embedded")  # errors before processes start
    files = list(dict.fromkeys(files))
    stems = [file.stem for file in files]
    cases = [Case(f.stem if stems.count(f.stem) == 1 else str(f), f) for f in files]
    prepare_scene = partial(prepare, plugin, strict)
    results = _measure(
        cases, steps or 200, seconds, not no_sofa, cpu, out, table, quiet, as_json, prepare_scene
    )
    exit_if_stopped(len(results.speeds), len(cases), "scenes")
    if any(speed.embedded is None for speed in results.speeds):
        raise typer.Exit(ExitStatus.FAILED)


def _scene_files(folder: Path) -> list[Path]:
    """Return the scene files of a folder.

    Raises:
        UsageError: There is none.
    """
    files = [path for path in sorted(folder.glob("*.py")) if "createScene" in path.read_text()]
    if not files:
        raise UsageError("There is no scene in './scenes': name scene files.")
    return files


def _measure(
    cases: list[Any],
    steps: int,
    seconds: float,
    with_sofa: bool,
    cpu: bool,
    out: Path | None,
    table: Path | None,
    quiet: bool,
    as_json: bool,
    prepare_scene: Callable[[], None] | None = None,
) -> Any:
    """Measure cases, write and print their results, and return them; Ctrl-C leaves cases out."""
    from sofa_softctl.base.files import replace_atomically
    from sofa_softctl.bench.results import Results, describe_machine, save_results
    from sofa_softctl.bench.scaling import measure_cases
    from sofa_softctl.scene.backend.installation import find_installation
    from sofa_softctl.view.terminal import bench as tables
    from sofa_softctl.view.terminal.run import Terminal

    in_sofa = with_sofa and find_installation() is not None
    results = Results(describe_machine(cpu), [])
    measured = measure_cases(
        cases, steps=steps, seconds=seconds, with_sofa=in_sofa, cpu=cpu, prepare=prepare_scene
    )
    with Terminal(quiet=quiet or as_json).bar("Measuring", len(cases)) as advance:
        try:
            for speed in measured:
                results.speeds.append(speed)
                advance(len(results.speeds))
        except KeyboardInterrupt:
            if not results.speeds:
                raise
    if out is not None:
        save_results(out, results)
    if table is not None:
        with replace_atomically(table) as name:
            name.write_text(tables.speeds_as_markdown(results))
    if as_json:
        print_json(results.to_dict())
    elif not quiet:
        tables.show_speeds(results)
    return results


@bench.command(epilog="Example:\n\n  softctl bench diff old.json new.json --slower 1.1")
def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD.json", help="Earlier results.")],
    new: Annotated[Path, typer.Argument(metavar="NEW.json", help="Later results.")],
    slower: Annotated[
        float | None,
        typer.Option(
            help="End with status 1 if a step takes more than this times as long, or a case "
            "is lost.",
            min=0.0,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare the results of two runs of softctl bench scaling or scenes, case by case.

    Says what differs between the machines and versions of the two.
    """
    from sofa_softctl.bench.results import (
        changes,
        lost_cases,
        machine_differences,
        new_cases,
        read_results,
    )
    from sofa_softctl.view.terminal import bench as tables

    before, after = read_results(old), read_results(new)
    pairs, differences = changes(before, after), machine_differences(before, after)
    lost, added = lost_cases(before, after), new_cases(before, after)
    if as_json:
        ratios = {
            pair.name: {"ratio": pair.ratio, "ratio_beside_sofa": pair.ratio_beside_sofa}
            for pair in pairs
        }
        print_json({"cases": ratios, "lost": lost, "new": added, "differences": differences})
    else:
        tables.show_changes(pairs, differences, lost, added)
    if slower is not None and (lost or any(pair.ratio > slower for pair in pairs)):
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
