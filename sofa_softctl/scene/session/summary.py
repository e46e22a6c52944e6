"""Summary of a run or of a session: values, and what the command line says of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from sofa_softctl.scene.control.report import History, Line, Report, Summary, Table
from sofa_softctl.scene.session.condition import Finding
from sofa_softctl.scene.session.displacement import Displacement, displacement_table
from sofa_softctl.scene.session.provenance import provenance
from sofa_softctl.scene.session.step_rows import StepRows
from sofa_softctl.status import Verdict
from sofa_softctl.units import QUANTITIES, symbol

if TYPE_CHECKING:
    from sofa_softctl.scene.mesh_error.result import MeshEstimate


@dataclass(frozen=True, repr=False)
class RunSummary:
    """Summary of a run."""

    scene: str
    """Scene file or function."""
    backend: str
    """Description of the backend."""
    steps: int
    """Number of steps done."""
    time: float
    """Simulated time at the end [time]."""
    ms_per_step: float
    """Wall time of a step, median [ms]."""
    real_time_factor: float
    """Simulated time by wall time, over the steps after the first, which compiles [-]."""
    phases: dict[str, float]
    """Wall time of each phase, mean over the steps after the first, which compiles [ms]."""
    controllers: dict[str, Summary] = field(default_factory=dict)
    """Summaries of controllers by their paths; see `SceneController.summary`."""
    findings: list[Finding] = field(default_factory=list)
    """Faults of bodies, imposed displacements and cables at the end; see `scene.condition`."""
    displacements: dict[str, Displacement] = field(default_factory=dict)
    """Displacement of each body and tip over the run, by the path of its state."""
    mesh_estimates: list[MeshEstimate] = field(default_factory=list)
    """Excess of each body's stiffness by its mesh; empty: not estimated. See `scene.mesh_error`."""
    units: dict[str, str] = field(default_factory=dict)
    """Unit of each of `units.QUANTITIES`, or its name if the scene declares no units."""
    interrupted: bool = False
    """True after Ctrl-C or a signal before its end."""
    stopped_by: str = ""
    """Cause of the interruption: 'Ctrl-C', 'SIGTERM', 'SIGHUP' or ""."""
    warnings: list[str] = field(default_factory=list)
    """Warnings of loading, of the start and of the steps."""
    provenance: dict[str, Any] = field(default_factory=dict)
    """Parameters, versions, computer, actuators; see `scene.provenance`."""
    histories: list[tuple[Any, History]] = field(default_factory=list, repr=False, compare=False)
    """Controllers with the history of their outputs; not in `to_dict`."""

    @property
    def inverse(self) -> list[Any]:
        """Summaries of the inverse controllers."""
        return [summary for summary in self.controllers.values() if hasattr(summary, "limits_met")]

    @property
    def verdict(self) -> Verdict | None:
        """Worst of the controllers' verdicts, or None if no controller has a goal.

        NOT_REACHED if a body is in an invalid condition, such as turned inside out.
        """
        verdicts = [getattr(summary, "verdict", None) for summary in self.controllers.values()]
        if any(finding.is_failure for finding in self.findings):
            verdicts.append(Verdict.NOT_REACHED)
        return Verdict.worst(verdict for verdict in verdicts if verdict is not None)

    @property
    def reasons(self) -> list[str]:
        """Sentences on why the goals are not reached, or []."""
        reports = [
            summary.report(self.units)
            for summary in self.controllers.values()
            if summary.verdict is not None and not summary.verdict.ok
        ]
        lines = [line for report in reports for line in report.lines if line.level == "doubt"]
        failures = [finding.text for finding in self.findings if finding.is_failure]
        return [line.text for line in lines] + failures

    @property
    def statuses(self) -> dict[str, int]:
        """Number of solves of the inverse controllers by status; see `Status`."""
        counts = Counter[str]()
        for summary in self.inverse:
            counts.update(summary.statuses)
        return dict(counts)

    @property
    def limits_met(self) -> dict[str, int]:
        """Number of steps at each limit; of several controllers, with their paths before it."""
        summaries = self.inverse
        return {
            limit if len(summaries) == 1 else f"{summary.name}: {limit}": count
            for summary in summaries
            for limit, count in summary.limits_met.items()
        }

    def sentences(self) -> dict[str, str]:
        """Return sentences on verdict, reasons, limits_met, statuses, times and warnings.

        A key is missing if there is nothing to say, such as reasons of goals that are reached.
        """
        verdict = self.verdict
        texts = {
            "verdict": "No controller has a goal." if verdict is None else verdict.value,
            "reasons": " ".join(self.reasons),
            "limits_met": _counts_text("Steps at a limit", self.limits_met),
            "statuses": _counts_text("Solves by status", self.statuses),
            "times": f"{self._times_text()}.",
            "warnings": "\n".join(self.warnings),
        }
        if self.interrupted:
            texts["times"] += f" Stopped by {self.stopped_by}."
        return {name: text for name, text in texts.items() if text}

    def reports(self) -> list[Report]:
        """Return what the command line prints: controllers, motion, doubts, times."""
        reports = [summary.report(self.units) for summary in self.controllers.values()]
        if self.displacements and not self.controllers:  # nothing else says what it did
            reports.append(Report([displacement_table(self.displacements, self.units)]))
        texts = [text for text, _ in self.findings]
        texts += [text for estimate in self.mesh_estimates if (text := estimate.warning)]
        if texts:
            reports.append(Report(lines=[Line(text, "doubt") for text in texts]))
        rows = [(phase, f"{ms:.3f}") for phase, ms in self.phases.items()]
        return [*reports, Report([Table(self._times_text(), ("phase", "ms a step (mean)"), rows)])]

    def _times_text(self) -> str:
        return (
            f"{self.steps} steps, {self.time:g} {self.units['time']} simulated: "
            f"{self.ms_per_step:.3g} ms a step (median), real-time factor "
            f"{self.real_time_factor:.3g}"
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: all but the histories, whose controllers are a scene's."""
        return vars(self) | {"histories": []}

    def __str__(self) -> str:
        """Return what the command line prints, as plain text."""
        return "\n\n".join(map(str, self.reports()))

    def __repr__(self) -> str:
        """Return scene, verdict and length in a line."""
        verdict = "" if self.verdict is None else f"{self.verdict.name}, "
        time = f"{self.time:g} {self.units.get('time', 'time')}"
        return f"<{type(self).__name__} of {self.scene}: {verdict}{self.steps} steps, {time}>"

    def _repr_html_(self) -> str:
        """Return warnings and reports for a notebook."""
        head = f"<p><b>{escape(self.scene)}</b>, {escape(self.backend)}</p>"
        warnings = Report(lines=[Line(f"Warning: {text}", "doubt") for text in self.warnings])
        return head + "".join(report._repr_html_() for report in [warnings, *self.reports()])

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        values = asdict(replace(self, histories=[]))
        del values["histories"]
        return values | {
            "verdict": None if self.verdict is None else self.verdict.name,
            "inverse": [asdict(summary) for summary in self.inverse],
            "findings": [finding._asdict() for finding in self.findings],
        }


def _counts_text(title: str, counts: dict[str, int]) -> str:
    listed = "; ".join(f"{name} {count}" for name, count in counts.items())
    return f"{title}: {listed}." if listed else ""


def summarise(session: Any, steps: StepRows, stopped: str = "") -> RunSummary:
    """Return the summary of a session's steps.

    Args:
        session: The session.
        steps: Rows of one step or more.
        stopped: Cause of an interruption, or "".
    """
    histories, seconds = steps.histories(), steps.seconds()
    return RunSummary(
        scene=session.name,
        backend=session.backend.describe(),
        steps=len(seconds),
        time=session.time,
        ms_per_step=1e3 * float(np.median(seconds)),
        real_time_factor=session.dt / float(np.mean(seconds[1:] if len(seconds) > 1 else seconds)),
        phases=steps.phases(),
        controllers={
            controller.getPathName(): summary
            for controller, history in histories
            if (summary := controller.summary(history)) is not None
        },
        findings=session.condition.findings(),
        displacements=steps.displacements(),
        units={name: symbol(session.units, name) for name in QUANTITIES},
        interrupted=bool(stopped),
        stopped_by=stopped,
        warnings=list(session.warnings),
        provenance=provenance(session),
        histories=histories,
    )
