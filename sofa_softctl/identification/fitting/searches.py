"""Searches from several starts, one after the other or by an executor."""

from __future__ import annotations

import pickle
import uuid
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from dataclasses import dataclass
from functools import partial

import numpy as np

from sofa_softctl.base.executors.retry import WorkerEndedError, submit_again
from sofa_softctl.errors import IdentificationError, SimulationError, WorkerError
from sofa_softctl.identification.fitting.gauss_newton import SearchResult, search
from sofa_softctl.identification.fitting.residual import StackedResidual
from sofa_softctl.identification.fitting.starts import closer
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import Parameter

CLOSER = 4
"""Most bisections of a start that cannot be simulated towards one that can."""

Progress = Callable[[int, int, float], None]
"""Called with the number of the search (from 0), its evaluations so far and the last cost."""
Make = Callable[[], Sequence[Experiment]]
"""Makes the experiments, in another process."""


@dataclass(frozen=True, eq=False)
class SearchTask:
    """A search from one start."""

    number: int
    """Number of the start; 0 is the given one."""
    start: np.ndarray
    """All parameters, shape (n_rho,)."""
    anchor: np.ndarray
    """Start that can be simulated, towards which others are moved, shape (n_rho,)."""
    free: np.ndarray
    """Mask of the parameters to fit, shape (n_rho,), at least one."""
    most: int
    """Limit of evaluations."""


@dataclass(frozen=True, eq=False)
class Attempt:
    """End of a search, or why there is none."""

    task: SearchTask
    """What was asked."""
    found: SearchResult | None
    """The result; None: there is none."""
    unsimulated: str = ""
    """Why the model cannot be simulated at the start; empty: it can."""
    lost: str = ""
    """How the worker processes ended that had the task; empty: they did not."""


def search_from(misfit: StackedResidual, task: SearchTask, progress: Progress | None) -> Attempt:
    """Search from a start, or from the first on the way to the anchor that can be simulated."""
    point, why = task.start, ""
    each = None if progress is None else partial(progress, task.number)
    for _ in range(CLOSER + 1 if task.number else 1):
        try:
            found = search(misfit, point, task.free, most=task.most, progress=each)
            return Attempt(task, found, why)
        except SimulationError as error:
            why = why or str(error)
            point = closer(task.anchor, point)
    return Attempt(task, None, why)


def search_all(
    misfit: StackedResidual,
    tasks: Sequence[SearchTask],
    progress: Progress | None = None,
    *,
    executor: Executor | None = None,
    make: Make | None = None,
) -> list[Attempt]:
    """The searches, in the order of the tasks; the same numbers with and without an executor.

    Args:
        misfit: Residuals.
        tasks: The searches.
        progress: Called after each evaluation; with an executor, at the end of each search.
        executor: Does several searches at a time, if there are several.
        make: Makes the experiments in a worker; picklable. None: they are pickled.

    Raises:
        IdentificationError: The experiments cannot be sent to a worker.
        WorkerError: The executor is broken. A worker that dies costs only its search, which is
            done once more; if that worker dies, too, it is `Attempt.lost`.
    """
    if executor is None or len(tasks) < 2:
        return [search_from(misfit, task, progress) for task in tasks]
    make = partial(_given, misfit.experiments) if make is None else make
    check_picklable(make)
    key = uuid.uuid4().hex
    futures: dict[Future[Attempt], SearchTask] = {}
    found: dict[int, Attempt] = {}
    try:
        for task in tasks:
            futures[submit_again(executor, _search_there, key, make, misfit.parameters, task)] = (
                task
            )
        for future in as_completed(futures):
            attempt = _attempt(future, futures[future])
            found[attempt.task.number] = attempt
            if progress is not None:
                progress(attempt.task.number, *_effort(attempt))
    finally:
        for future in futures:
            future.cancel()
    return [found[task.number] for task in tasks]


def _attempt(future: Future[Attempt], task: SearchTask) -> Attempt:
    try:
        return future.result()
    except WorkerEndedError as error:
        return Attempt(task, None, lost=str(error))
    except BrokenExecutor as error:
        raise WorkerError(
            f"The worker processes ended while parameters were searched from start {task.number}: "
            f"{error}"
        ) from error
    except (ImportError, AttributeError) as error:
        if isinstance(error, AttributeError) and not str(error).startswith("Can't get attribute"):
            raise  # of the model
        raise _unsendable(error) from error  # the worker does not have a class


def _effort(attempt: Attempt) -> tuple[int, float]:
    """Evaluations and final cost, for progress."""
    one = attempt.found
    return (0, float("inf")) if one is None else (one.evaluations, one.cost)


def _given(experiments: tuple[Experiment, ...]) -> tuple[Experiment, ...]:
    return experiments


def check_picklable(make: Make) -> None:
    """Raise IdentificationError where experiments cannot be sent to worker processes."""
    try:
        pickle.dumps(make)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise _unsendable(error) from error


def _unsendable(error: Exception) -> IdentificationError:
    return IdentificationError(
        f"The experiments cannot be sent to worker processes ({error}). Give `make`, a function "
        "of a module that makes them there, or leave `executor` out."
    )


_MADE: dict[str, StackedResidual] = {}
"""Residuals of the last estimate that this worker searched for, by its key."""


def _search_there(
    key: str, make: Make, parameters: Sequence[Parameter], task: SearchTask
) -> Attempt:
    """A search in a worker, which makes the experiments once for each estimate."""
    if key not in _MADE:
        _MADE.clear()
        with warnings.catch_warnings():  # the process that asks has shown them
            warnings.simplefilter("ignore")
            _MADE[key] = StackedResidual(make(), parameters)
    return search_from(_MADE[key], task, None)
