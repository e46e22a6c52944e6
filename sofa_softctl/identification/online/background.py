"""Refinements in a background process."""

from __future__ import annotations

import pickle
import weakref
from concurrent.futures import Executor, Future
from contextlib import ExitStack

from sofa_softctl.base.executors.workers import workers
from sofa_softctl.errors import SceneError
from sofa_softctl.identification.online.refinement import Refinement, Task, refine
from sofa_softctl.identification.problem import Problem


class Background:
    """One worker process, started with the first task.

    Raises:
        SceneError: The problem cannot be sent to it.
    """

    def __init__(self, problem: Problem) -> None:
        try:
            pickle.dumps(problem)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise SceneError(
                f"problem '{problem.name}' cannot be sent to another process ({error}). Give "
                "functions by their file, or leave 'background' out."
            ) from error
        self._open = ExitStack()
        self._executor: Executor | None = None
        weakref.finalize(self, self._open.close)

    def submit(self, task: Task) -> Future[Refinement]:
        """Start a refinement, in a new process if the last one ended."""
        return self._running().submit(refine, task)

    def _running(self) -> Executor:
        if self._executor is None:
            self._executor = self._open.enter_context(workers(1))
        assert self._executor is not None
        return self._executor

    def close(self) -> None:
        """End the process; the next task starts another."""
        self._open.close()
        self._executor = None
