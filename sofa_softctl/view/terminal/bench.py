"""Tables of a benchmark, and of a comparison of the backends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from sofa_softctl.view.terminal.table import Table, make_console

if TYPE_CHECKING:
    from rich.console import Console

    from sofa_softctl.bench.batch import Throughput
    from sofa_softctl.bench.stream_timing import Timing
    from sofa_softctl.runtime.simulation.step_plan import PlanLine


def show_profile(profile: Any) -> None:
    """Print a benchmark."""
    table = Table(
        title=f"{profile.scene}: {profile.dofs} degrees of freedom, {profile.steps} steps on the "
        f"{profile.backend}",
        caption=f"Median {profile.ms_per_step:.3f} ms a step, 95 % within {profile.ms_p95:.3f} ms; "
        f"the first one {profile.first_step_s:.2f} s.",
    )
    table.add_column("phase")
    table.add_column("ms a step", justify="right")
    table.add_column("share", justify="right")
    total = sum(profile.phases.values()) or 1.0
    for phase, ms in sorted(profile.phases.items(), key=lambda item: -item[1]):
        table.add_row(phase, f"{ms:.3f}", f"{ms / total:.0%}")
    make_console().print(table)


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


def show_throughput(results: Sequence[Throughput]) -> None:
    """Print runs per minute of a batch, and of loops at the same time."""
    table = Table(title="Runs a minute, at the same time on the same cores")
    table.add_column("beside")
    for column in ("batch", "loops", "ratio", "runs counted"):
        table.add_column(column, justify="right")
    for result in results:
        table.add_row(
            f"{result.workers} {result.loop}",
            f"{result.batch:.1f}",
            f"{result.loops:.1f}",
            f"{result.ratio:.2f}",
            str(result.runs),
        )
    make_console().print(table)
