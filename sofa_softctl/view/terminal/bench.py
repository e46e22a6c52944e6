"""Tables of a benchmark, and of a comparison of the backends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from sofa_softctl.base.versions import PACKAGES
from sofa_softctl.view.terminal.table import Table, make_console

if TYPE_CHECKING:
    from rich.console import Console

    from sofa_softctl.bench.results import Change, Results
    from sofa_softctl.bench.speed import CaseResult
    from sofa_softctl.bench.stream_timing import Timing
    from sofa_softctl.runtime.simulation.step_plan import PlanLine


def show_plan(lines: Sequence[PlanLine], console: Console) -> None:
    """Print the actions of a step, a line each, under their phases."""
    phase = ""
    for line in lines:
        if line.phase != phase:
            phase = line.phase
            console.print(f"[bold]{phase}[/]", highlight=False)
        text = f"  {escape(line.subject)}: {escape(line.action)}"
        console.print(text, highlight=False, soft_wrap=True)


def show_comparison(comparison: Any, tolerance: float) -> None:
    """Print a comparison of the backends, and whether they agree."""
    console = make_console()
    for name, backend in zip(("embedded", "SOFA"), comparison.backends, strict=True):
        console.print(f"{name}: {escape(backend)}", highlight=False, soft_wrap=True)
    table = Table(
        title=f"{comparison.scene}: {comparison.dofs} degrees of freedom, {comparison.steps} steps",
    )
    for column in ("ms a step", "embedded", "SOFA", "ratio"):
        table.add_column(column, justify="left" if column == "ms a step" else "right")
    first, second = comparison.phases
    for phase in dict.fromkeys([*second, *first]):
        ms = first.get(phase, 0.0), second.get(phase, 0.0)
        table.add_row(phase, *(f"{value:.3f}" for value in ms), _ratio(*ms))
    table.add_section()
    ms = comparison.ms_per_step
    table.add_row("all, median", *(f"{value:.3f}" for value in ms), _ratio(*ms))
    console.print(table)
    worst = max(comparison.deviation, key=lambda name: comparison.deviation[name].max())
    agree = comparison.deviation_max <= tolerance
    console.print(
        f"{'Same motion' if agree else '[red]Different motion[/]'}: the largest deviation is "
        f"{comparison.deviation_max:.1e} of the robot's size ({comparison.size:.4g}), at "
        f"{escape(worst)}; allowed are {tolerance:g}.",
        highlight=False,
        soft_wrap=True,
    )


def show_timings(timings: Sequence[Timing]) -> None:
    """Print the timing of commands that the hardware bridge sends."""
    table = Table(
        title="Hardware bridge: median, 99 % and worst",
        caption="Jitter: start of a period, off its deadline. Latency: from the scene to the wire, "
        "without the look-ahead. The robot waits for a scene that stalls.",
    )
    for column in ("Hz", "computer", "priority", "jitter (us)", "latency (ms)", "missed", "waited"):
        table.add_column(column, justify="left" if column[0] in "cp" else "right")
    for timing in timings:
        table.add_row(
            f"{timing.rate:g}",
            timing.computer,
            timing.priority,
            "/".join(f"{1e6 * value:.0f}" for value in timing.jitter),
            "/".join(f"{1e3 * value:.1f}" for value in timing.latency),
            str(timing.missed),
            f"{timing.waited:.3g} s",
        )
    make_console().print(table)


def _ratio(first: float, second: float) -> str:
    return f"{first / second:.2f}" if second > 0.0 else ""


SPEED_COLUMNS = (
    "case",
    "DOFs",
    "rows",
    "ms",
    "p99",
    "SOFA ms",
    "p99",
    "ratio",
    "Python",
    "MB",
    "factor GFLOP/s",
    "of product",
)
"""Columns of a table of speeds."""


def show_speeds(results: Results) -> None:
    """Print median and 99 % of each case, exponents, and the machine."""
    console = make_console()
    table = Table(title=describe_machine_line(results.machine))
    for number, column in enumerate(SPEED_COLUMNS):
        table.add_column(column, justify="right" if number else "left")
    for speed in results.speeds:
        table.add_row(*map(escape, speed_row(speed)))
    console.print(table)
    for line in [*slope_lines(results), *notes(results)]:
        console.print(escape(line), highlight=False, soft_wrap=True)


def speed_row(speed: CaseResult) -> list[str]:
    """Return the cells of a case, in the order of `SPEED_COLUMNS`; "" for what is missing."""
    ours, sofa, factor = speed.embedded, speed.sofa, speed.factorization
    return [
        speed.name,
        f"{speed.dofs:,}" if speed.dofs else "",
        f"{speed.rows:,}" if ours else "",
        *([f"{ours.ms_median:.3g}", f"{ours.ms_p99:.3g}"] if ours else ["", ""]),
        *([f"{sofa.ms_median:.3g}", f"{sofa.ms_p99:.3g}"] if sofa else ["", ""]),
        "" if speed.ratio is None else f"{speed.ratio:.2f}",
        "" if speed.python_share is None else f"{speed.python_share:.0%}",
        f"{ours.memory_mb:.0f}" if ours else "",
        *([f"{factor.gflops:.1f}", f"{factor.fraction:.0%}"] if factor else ["", ""]),
    ]


def slope_lines(results: Results) -> list[str]:
    """Return a sentence on each exponent."""
    names = {"embedded": "embedded runtime", "sofa": "SOFA"}
    return [
        f"Time of a step, {names[slope.backend]}: {slope.series}^{slope.exponent:.2f} between "
        f"{slope.size_min:,.0f} and {slope.size_max:,.0f}"
        + ("." if slope.series == "degrees of freedom" else " more than the fewest.")
        for slope in results.slopes
    ]


def notes(results: Results) -> list[str]:
    """Return a line for each case in which something is missing."""
    return [f"{speed.name}: {speed.note}" for speed in results.speeds if speed.note]


def describe_machine_line(machine: dict[str, Any]) -> str:
    """Return processor, cores, BLAS and versions in a line."""
    versions = machine["versions"]
    one, several = machine["gemm_gflops_one_core"], machine["gemm_gflops"]
    packages = ", ".join(f"{name} {versions[name]}" for name in ("python", *PACKAGES))
    return (
        f"{machine['cpu']}, {machine['cores']} cores; {machine['blas']} for "
        f"{machine['blas_kernels']}, matrix products {one:.0f} GFLOP/s on one core, {several:.0f} "
        f"on {machine['blas_threads']} threads; {packages}; {machine['clock']} time"
    )


def speeds_as_markdown(results: Results) -> str:
    """Return the table of `show_speeds` in Markdown."""
    rows = [list(SPEED_COLUMNS), ["---", *["---:"] * (len(SPEED_COLUMNS) - 1)]]
    rows += [speed_row(speed) for speed in results.speeds]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    lines = [*slope_lines(results), *notes(results)]
    return "\n\n".join([describe_machine_line(results.machine), table, *lines]) + "\n"


def show_changes(
    changes: Sequence[Change], differences: Sequence[str], lost: Sequence[str], added: Sequence[str]
) -> None:
    """Print the times of the cases of two files, and what differs between files and machines."""
    console = make_console()
    table = Table(
        title="Median ms a step, before and now",
        caption="Beside SOFA: the change of the ratio to SOFA's time, which holds on a busy "
        "machine, too.",
    )
    columns = ("case", "before", "now", "ratio", "beside SOFA", "p99", "Python", "MB")
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left")
    for change in changes:
        old, new = change.old.embedded, change.new.embedded
        assert old is not None and new is not None
        beside = change.ratio_beside_sofa
        shares = [
            "?" if share is None else f"{share:.0%}"
            for share in (change.old.python_share, change.new.python_share)
        ]
        table.add_row(
            escape(change.name),
            f"{old.ms_median:.3g}",
            f"{new.ms_median:.3g}",
            f"{change.ratio:.2f}",
            "" if beside is None else f"{beside:.2f}",
            f"{old.ms_p99:.3g}, {new.ms_p99:.3g}",
            ", ".join(shares),
            f"{old.memory_mb:.0f}, {new.memory_mb:.0f}",
        )
    console.print(table)
    for line in lost:
        console.print(f"[red]Lost:[/] {escape(line)}", highlight=False, soft_wrap=True)
    if added:
        console.print(f"Only in the second file: {escape(', '.join(added))}", soft_wrap=True)
    if differences:
        console.print("[yellow]Not the same machine or software:[/] times are not comparable.")
    for line in differences:
        console.print(f"  {escape(line)}", highlight=False, soft_wrap=True)
