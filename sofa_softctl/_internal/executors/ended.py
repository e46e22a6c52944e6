"""What a Future raises when the worker that had its task is gone."""

from __future__ import annotations

from concurrent.futures import BrokenExecutor


class WorkerEndedError(BrokenExecutor):
    """A worker process died with a task, or was ended since the task exceeded a limit.

    Other tasks are not concerned: another worker takes its place.
    """

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind
        """'died', 'time' or 'memory'."""

    def __reduce__(self) -> tuple[type[WorkerEndedError], tuple[str, str]]:
        """It is pickled on its way from a cluster."""
        return type(self), (self.kind, str(self))
