"""What a Future raises when the worker that had its task is gone."""

from __future__ import annotations

from concurrent.futures import BrokenExecutor
from dataclasses import dataclass


@dataclass(frozen=True)
class LostTask:
    """What is known of a task whose worker is gone."""

    worker: str
    """Where it was done, HOST:PID."""
    started: str
    """When it was begun, in ISO format."""
    seconds: float
    """Time until its end [s]."""
    output: str
    """The end of what it printed, where it keeps that in `worker.output_file`."""
    traceback: str
    """Where Python was at the end; empty where the process could not say, as after SIGKILL."""


class WorkerEndedError(BrokenExecutor):
    """A worker process died with a task, or was ended since the task exceeded a limit.

    Other tasks are not concerned: another worker takes its place.
    """

    def __init__(self, kind: str, text: str, task: LostTask | None = None) -> None:
        super().__init__(text)
        self.kind = kind
        """'died', 'time' or 'memory'."""
        self.task = task
        """The task; None: nothing is known of it."""

    def __reduce__(self) -> tuple[type[WorkerEndedError], tuple[str, str, LostTask | None]]:
        """It is pickled on its way from a cluster."""
        return type(self), (self.kind, str(self), self.task)
