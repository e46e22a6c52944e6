"""Searches from several starts, one after the other or in the processes of an executor."""

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
from sofa_softctl.identification.fitting.starts import midpoint_towards
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import Parameter

Progress = Callable[[int, int, float], None]
"""Callback with the number of the search (from 0), its number of evaluations and the last cost."""
Make = Callable[[], Sequence[Experiment]]
"""Function that makes the experiments, in another process."""


@dataclass(frozen=True, eq=False)
class SearchTask:
    """Search from one start."""

    number: int
    """Number of the start; 0 is the start of the caller."""
    start: np.ndarray
    """All parameters, shape (n_rho,)."""
    anchor: np.ndarray
    """Start that can be simulated, towards which `start` is moved if it cannot, shape (n_rho,)."""
    free: np.ndarray
    """Mask of the parameters to fit, shape (n_rho,), at least one."""
    evaluations_max: int
    """Limit of evaluations."""


@dataclass(frozen=True, eq=False)
class Attempt:
    """Result of a search, or the reason for its failure."""

    task: SearchTask
    """Search that was attempted."""
    result: SearchResult | None
    """Result of the search, or None if it failed."""
    simulation_error: str = ""
    """Reason why the model cannot be simulated at the start, or ""."""
    worker_error: str = ""
    """End of the worker processes that had the task, or ""."""


def search_from(misfit: StackedResidual, task: SearchTask, progress: Progress | None) -> Attempt:
    """Search from a start; if it cannot be simulated, bisect towards the anchor, up to 4 times."""
    point, reason = task.start, ""
    report = None if progress is None else partial(progress, task.number)
    for _ in range(5 if task.number else 1):  # up to four bisections
        try:
            result = search(
                misfit, point, task.free, evaluations_max=task.evaluations_max, progress=report
            )
            return Attempt(task, result, reason)
        except SimulationError as error:
            reason = reason or str(error)
            point = midpoint_towards(task.anchor, point)
    return Attempt(task, None, reason)


def search_all(
    misfit: StackedResidual,
    tasks: Sequence[SearchTask],
    progress: Progress | None = None,
    *,
    executor: Executor | None = None,
    make: Make | None = None,
) -> list[Attempt]:
    """Run searches, and return them in the order of the tasks.

    Results do not depend on the executor.

    Args:
        misfit: Residuals of all experiments and priors.
        tasks: Searches to run.
        progress: Called after each evaluation; with an executor, at the end of each search.
        executor: Runs several searches at a time, if there are several.
        make: Picklable function that makes the experiments in a worker; by default they are
            pickled.

    Raises:
        IdentificationError: The experiments cannot be sent to a worker.
        WorkerError: The executor is broken. If a worker process dies, its search is repeated once;
            if that worker dies too, `Attempt.worker_error` says so.
    """
    if executor is None or len(tasks) < 2:
        return [search_from(misfit, task, progress) for task in tasks]
    make = partial(_return_experiments, misfit.experiments) if make is None else make
    check_picklable(make)
    key = uuid.uuid4().hex
    futures: dict[Future[Attempt], SearchTask] = {}
    attempts: dict[int, Attempt] = {}
    try:
        for task in tasks:
            futures[
                submit_again(executor, _search_in_worker, key, make, misfit.parameters, task)
            ] = task
        for future in as_completed(futures):
            attempt = _attempt(future, futures[future])
            attempts[attempt.task.number] = attempt
            if progress is not None:
                progress(attempt.task.number, *_effort(attempt))
    finally:
        for future in futures:
            future.cancel()
    return [attempts[task.number] for task in tasks]


def _attempt(future: Future[Attempt], task: SearchTask) -> Attempt:
    try:
        return future.result()
    except WorkerEndedError as error:
        return Attempt(task, None, worker_error=str(error))
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
    """Return the number of evaluations and the final cost, for progress."""
    result = attempt.result
    return (0, float("inf")) if result is None else (result.evaluations, result.cost)


def _return_experiments(experiments: tuple[Experiment, ...]) -> tuple[Experiment, ...]:
    return experiments


def check_picklable(make: Make) -> None:
    """Raise IdentificationError if experiments cannot be sent to worker processes."""
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
"""Residuals of the last estimate of this worker process, by key."""


def _search_in_worker(
    key: str, make: Make, parameters: Sequence[Parameter], task: SearchTask
) -> Attempt:
    """Search in a worker process, which makes the experiments once for each estimate."""
    if key not in _MADE:
        _MADE.clear()
        with warnings.catch_warnings():  # the main process has shown them
            warnings.simplefilter("ignore")
            _MADE[key] = StackedResidual(make(), parameters)
    return search_from(_MADE[key], task, None)
