"""Run of a session for some steps, with its summary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from sofa_softctl.base.processes import interrupted_after, stopped_by
from sofa_softctl.errors import SceneError
from sofa_softctl.scene.session.session import Session
from sofa_softctl.scene.session.step_rows import StepRows
from sofa_softctl.scene.session.summary import RunSummary, summarise

DEFAULT_DURATION = 2.0
"""Simulated time of a run if neither the user nor the scene says (DURATION in the scene) [time]."""
ESTIMATE_STEPS_MIN = 200
"""Steps of a run from which on meshes are estimated after it: they take up to 150 steps."""


class Observer:
    """Base of observers, called at the begin of a run, after each step, and at its end."""

    def begin(self, session: Session) -> None:
        """Prepare for a run, before its first step."""

    def step(self, session: Session, count: int) -> None:
        """Process a step of a run.

        Args:
            session: The session after the step.
            count: Number of steps done.
        """

    def end(self) -> None:
        """Clean up after the run, also after an error."""


def step_count(session: Session, steps: int | None, duration: float | None, default: float) -> int:
    """Return the number of steps from that number, the simulated time, or the default duration.

    Raises:
        SceneError: both are given, or the time is not a positive multiple of dt.
    """
    if steps is not None and duration is not None:
        raise SceneError("Give either steps or a duration, not both.")
    if steps is None:
        length = default if duration is None else duration
        if not (length > 0.0 and math.isfinite(length)):
            raise SceneError(f"A duration must be positive and finite, got {length:g}.")
        count = length / session.dt
        steps = round(count)
        if not math.isclose(count, steps, rel_tol=1e-6, abs_tol=1e-6):
            raise SceneError(
                f"A duration of {length:g} is no multiple of the scene's dt = {session.dt:g}."
            )
    if steps < 1:
        raise SceneError(f"At least one step is needed, got {steps}.")
    return steps


def run(
    session: Session, steps: int, observers: Sequence[Observer] = (), *, close: bool = False
) -> RunSummary:
    """Run some steps and return their summary.

    Ctrl-C, or a signal of `ended_by_signals`, ends the run after the present step, and the
    session's recording with the status "interrupted". Closing the session is always completed.

    Args:
        session: The session.
        steps: Number of steps.
        observers: Called after each step in this order; they end in reverse.
        close: Close the session before the recording ends and the summary is made: both then
            contain the clean-up of controllers, such as motors that go to rest.

    Raises:
        KeyboardInterrupt: Ctrl-C came before the end of the first step, or twice.
        DivergedError: The state became NaN or infinite, or a body exploded.
    """
    with ExitStack() as stack:
        rows = stack.enter_context(session.keeping_rows())
        for observer in observers:
            observer.begin(session)
            stack.callback(observer.end)
        stopped = _do_steps(session, steps, observers, rows)
        session.condition.check(session.time)
        if close:
            stopped_while_closed = _close(session)
            stopped = stopped or stopped_while_closed
    if stopped:
        from sofa_softctl.record.status import INTERRUPTED

        session.end_recording(INTERRUPTED)
    return summarise(session, rows, stopped)


def with_mesh_estimates(summary: RunSummary, session: Session) -> RunSummary:
    """Return the summary with estimates of its meshes, if the run was longer than these take."""
    is_short = summary.interrupted or summary.steps < ESTIMATE_STEPS_MIN
    if is_short or session.backend.name != "embedded":
        return summary
    from sofa_softctl.scene.mesh_error.estimate import mesh_errors

    return replace(summary, mesh_estimates=mesh_errors(session.root, quick=True))


def _do_steps(session: Session, steps: int, observers: Sequence[Observer], rows: StepRows) -> str:
    """Run steps; return the cause of an interruption, or ""."""
    begin = session.step_count
    try:
        for number in range(1, steps + 1):
            with interrupted_after():
                session.step()
                for observer in observers:
                    observer.step(session, number)
    except KeyboardInterrupt as error:
        if not rows.rows or len(rows.rows) < session.step_count - begin:  # pressed twice
            raise
        return stopped_by(error)
    return ""


def _close(session: Session) -> str:
    """Close a session; return the cause of an interruption meanwhile, or ""."""
    try:
        session.close()
    except KeyboardInterrupt as error:
        session.close()  # no effect unless Ctrl-C came before the clean-up
        return stopped_by(error)
    return ""
