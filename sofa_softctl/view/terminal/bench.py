"""Tables of a benchmark, and of a comparison of the backends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from sofa_softctl.bench.batch import Throughput
    from sofa_softctl.bench.cluster import ClusterLoad
    from sofa_softctl.bench.stream_timing import Timing


def show_profile(profile: Any) -> None:
    """Print a benchmark."""
    table = Table(
        title=f"{profile.scene}: {profile.dofs} degrees of freedom, {profile.steps} steps on the "
        f"{profile.backend}",
        caption=f"Median {profile.ms_per_step:.3f} ms a step, 95 % within {profile.ms_p95:.3f} ms; "
        f"the first one {profile.first_step_s:.2f} s.",
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("phase")
    table.add_column("ms a step", justify="right")
    table.add_column("share", justify="right")
    total = sum(profile.phases.values()) or 1.0
    for phase, ms in sorted(profile.phases.items(), key=lambda entry: -entry[1]):
        table.add_row(phase, f"{ms:.3f}", f"{ms / total:.0%}")
    Console().print(table)


def show_comparison(comparison: Any, tolerance: float) -> None:
    """Print a comparison of the backends, and whether they agree."""
    console = Console()
    for name, backend in zip(("embedded", "SOFA"), comparison.backends, strict=True):
        console.print(f"{name}: {escape(backend)}", highlight=False, soft_wrap=True)
    table = Table(
        title=f"{comparison.scene}: {comparison.dofs} degrees of freedom, {comparison.steps} steps",
        title_justify="left",
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
    """Print how regularly the hardware bridge sends commands."""
    table = Table(
        title="Hardware bridge: median, 99 % and worst",
        caption="Jitter: start of a period, off its deadline. Latency: from the scene to the wire, "
        "without the look-ahead. The robot waits for a scene that stalls.",
        title_justify="left",
        caption_justify="left",
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
    Console().print(table)


def _ratio(first: float, second: float) -> str:
    return f"{first / second:.2f}" if second > 0.0 else ""


def show_throughput(found: Sequence[Throughput]) -> None:
    """Print runs a minute of a batch, and of loops at the same time."""
    table = Table(title="Runs a minute, at the same time on the same cores", title_justify="left")
    table.add_column("beside")
    for column in ("batch", "loops", "ratio", "runs counted"):
        table.add_column(column, justify="right")
    for each in found:
        table.add_row(
            f"{each.workers} {each.loop}",
            f"{each.batch:.1f}",
            f"{each.loops:.1f}",
            f"{each.ratio:.2f}",
            str(each.runs),
        )
    Console().print(table)


def show_cluster_load(found: ClusterLoad) -> None:
    """Print what a batch on simulated workers costs."""
    slots = found.workers * found.threads
    table = Table(
        title=f"{found.workers:,} Dask workers, {slots:,} runs of {found.seconds:g} s at once",
        title_justify="left",
        show_header=False,
    )
    table.add_column()
    table.add_column(justify="right")
    for name, value in (
        ("until workers are ready", f"{found.ready:.1f} s"),
        ("runs", f"{found.runs:,}"),
        ("runs a second", f"{found.rate:.1f}"),
        ("workers busy", f"{100.0 * found.busy:.0f} %"),
        ("scheduler, a run", f"{1e3 * found.scheduler:.2f} ms"),
        ("driver, a run", f"{1e3 * found.driver:.2f} ms"),
        ("received by the scheduler, a run", f"{found.received / 1e3:.1f} kB"),
        ("sent by the scheduler, a run", f"{found.sent / 1e3:.1f} kB"),
        ("memory of the scheduler", f"{found.scheduler_memory / 1e6:.0f} MB"),
        ("shortest run that keeps them busy", f"{found.shortest:.2f} s"),
    ):
        table.add_row(name, value)
    Console().print(table)


def show_learning(found: Sequence[Any]) -> None:
    """Print throughputs of environments."""
    table = Table(
        title=f"Decisions a second with {found[0].workers} processes",
        caption="New process: one for each episode, and the share of its time for starts.",
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("", overflow="fold")
    for column in ("here", "new process", "starts", "ratio", "steps/s"):
        table.add_column(column, justify="right")
    for one in found:
        table.add_row(
            one.environment,
            f"{one.rate:.4g}",
            f"{one.separate:.3g}",
            f"{one.starting:.0%}",
            f"{one.ratio:.3g}",
            f"{one.rate * one.steps:.4g}",
        )
    Console().print(table)


def show_surrogate(equilibria: int, found: Sequence[Any]) -> None:
    """Print errors of a surrogate by rates."""
    table = Table(
        title=f"Surrogate of {equilibria:,} equilibria, distance from the scene over the travel",
        title_justify="left",
    )
    for column in ("rate of tensions", "one action held", "random actions", "lost of these"):
        table.add_column(column, justify="right")
    for one in found:
        table.add_row(f"{one.rate:g}", f"{one.pull:.1%}", f"{one.random:.1%}", f"{one.lost:.0%}")
    Console().print(table)
