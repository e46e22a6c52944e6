"""Executors: tasks in processes, of which each may be lost without the others."""

import multiprocessing
import os
import signal
import time
from concurrent.futures import as_completed, wait
from functools import partial
from importlib import import_module

import numpy as np
import pytest

from sofa_softctl.base import processes
from sofa_softctl.base.executors.local import LocalExecutor, resident
from sofa_softctl.base.executors.retry import (
    WorkerEndedError,
    as_done,
    in_order,
    raise_worker_error,
    submit_again,
)
from sofa_softctl.errors import SceneError, WorkerError


def square(x):
    return x * x


def end(how):
    if how == "exit":
        raise SystemExit(3)
    if how == "os":
        os._exit(4)
    os.kill(os.getpid(), signal.SIGKILL)


def fill(megabytes):
    kept = np.ones(megabytes * 131072)
    time.sleep(5.0)
    return kept.sum()


class Two(Exception):
    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")


def fail(kind):
    if kind == "scene":
        raise SceneError("no such cable")
    if kind == "two":
        raise Two(1, 2)
    return lambda: kind


@pytest.mark.processes
def test_results_come_in_the_order_of_the_tasks_and_from_several_processes():
    with LocalExecutor(2) as executor:
        assert list(executor.map(square, range(20))) == [x * x for x in range(20)]
        pids = {executor.submit(os.getpid).result() for _ in range(4)}
    assert os.getpid() not in pids and 1 <= len(pids) <= 2


def test_an_exception_is_raised_here_with_its_traceback_there():
    with LocalExecutor(1) as executor:
        with pytest.raises(SceneError, match="no such cable") as raised:
            executor.submit(fail, "scene").result()
        assert 'raise SceneError("no such cable")' in str(raised.value.__cause__)
        with pytest.raises(RuntimeError, match="Two: 1 and 2"):
            executor.submit(fail, "two").result()
        with pytest.raises(RuntimeError, match="its result"):
            executor.submit(fail, "lambda").result()
        with pytest.raises(SystemExit):
            executor.submit(end, "exit").result()
        assert executor.submit(square, 3).result() == 9


@pytest.mark.processes
def test_a_worker_that_dies_costs_one_task():
    with LocalExecutor(2) as executor:
        futures = {executor.submit(square, x): x for x in range(10)}
        lost = [executor.submit(end, how) for how in ("os", "kill")]
        futures |= {executor.submit(square, x): x for x in range(10, 20)}
        assert all(future.result() == futures[future] ** 2 for future in as_completed(futures))
        for future, why in zip(lost, ("ended with status 4", "was killed by SIGKILL"), strict=True):
            with pytest.raises(WorkerEndedError, match=why) as raised:
                future.result()
            assert raised.value.kind == "died"


def end_once(folder, x):
    if not (folder / str(x)).exists():
        (folder / str(x)).touch()
        end("kill")
    return x * x


@pytest.mark.processes
def test_a_task_whose_worker_dies_is_done_again_once(tmp_path):
    with LocalExecutor(2) as executor:
        assert list(in_order(executor, end_once, [tmp_path] * 3, range(3))) == [0, 1, 4]
        futures = [submit_again(executor, end, "os"), submit_again(executor, square, 5)]
        assert futures[1].result() == 25
        with pytest.raises(WorkerEndedError, match="ended with status 4"):
            futures[0].result()
        with pytest.raises(SceneError, match="no such cable"):
            submit_again(executor, fail, "scene").result()
    assert list(in_order(None, square, range(3))) == [0, 1, 4]
    assert list(as_done(None, square, range(3))) == [0, 1, 4]


def wait_for(mark, number):
    """Of number 0, a task that ends when a file is there."""
    while number == 0 and not mark.exists():
        time.sleep(0.01)
    return number


@pytest.mark.processes
def test_a_slow_task_holds_back_no_others(tmp_path):
    mark = tmp_path / "mark"
    with LocalExecutor(2) as executor:
        found = as_done(executor, wait_for, [mark] * 2, range(2))
        assert next(found) == 1
        mark.touch()
        assert list(found) == [0]


def begin(path):
    path.touch()
    time.sleep(60.0)


@pytest.mark.processes
def test_a_task_that_is_cancelled_is_not_done_and_one_that_is_ended_not_done_again(tmp_path):
    executor = LocalExecutor(1)
    running, waiting, late = (
        submit_again(executor, begin, tmp_path / name) for name in ("first", "second", "third")
    )
    while not (tmp_path / "first").exists():
        time.sleep(0.02)
    assert waiting.cancel()
    assert wait([waiting], timeout=60.0).done == {waiting}
    executor.shutdown(cancel_futures=True)
    with pytest.raises(WorkerEndedError, match="abandoned"):
        running.result(timeout=60.0)
    with pytest.raises(WorkerError, match="the executor, or its cluster, was stopped"):
        with raise_worker_error("All is kept."):
            late.result(timeout=60.0)
    assert [path.name for path in tmp_path.iterdir()] == ["first"]


@pytest.mark.processes
def test_a_function_that_a_worker_does_not_have_is_an_error_and_no_death():
    class Absent:
        def __reduce__(self):
            return import_module, ("no_such_module_here",)

    with LocalExecutor(1) as executor:
        with pytest.raises(ModuleNotFoundError, match="no_such_module_here"):
            executor.submit(square, Absent()).result()
        assert executor.submit(square, 3).result() == 9


@pytest.mark.processes
def test_a_worker_that_is_killed_while_idle_costs_nothing():
    with LocalExecutor(1) as executor:
        pid = executor.submit(os.getpid).result()
        os.kill(pid, signal.SIGKILL)  # it may get the task while it dies
        assert executor.submit(os.getpid).result() != pid


def test_a_worker_that_is_killed_before_it_is_ready_costs_nothing(monkeypatch):
    monkeypatch.setattr(processes, "_first", {"slow": partial(time.sleep, 0.5)})
    with LocalExecutor(1) as executor:
        future = executor.submit(square, 3)
        while not (starting := multiprocessing.active_children()):
            time.sleep(0.01)
        os.kill(starting[0].pid, signal.SIGKILL)
        assert future.result() == 9


def test_a_task_that_takes_too_long_is_ended():
    with LocalExecutor(1, seconds=0.1) as executor:
        error = executor.submit(time.sleep, 6.0).exception(timeout=30.0)
    assert isinstance(error, WorkerEndedError) and error.kind == "time"
    assert str(error).startswith("it took longer than 0.1 s")


@pytest.mark.processes
def test_limits_of_time_and_memory_end_the_task_alone():
    with LocalExecutor(2, seconds=1.0, memory=400e6) as executor:
        slow, large = executor.submit(time.sleep, 30.0), executor.submit(fill, 600)
        with pytest.raises(WorkerEndedError, match="took longer than 1 s") as raised:
            slow.result()
        assert raised.value.kind == "time"
        with pytest.raises(WorkerEndedError, match="more than 400 MB of memory|longer than"):
            large.result()
        assert executor.submit(abs, -9).result() == 9  # `square` would import this file first
    assert resident(os.getpid()) > 1e7


@pytest.mark.processes
def test_memory_is_named_where_it_is_the_reason():
    with LocalExecutor(1, memory=400e6) as executor:
        with pytest.raises(WorkerEndedError, match="more than 400 MB of memory") as raised:
            executor.submit(fill, 600).result()
        assert raised.value.kind == "memory"


def test_an_error_in_the_block_ends_what_runs():
    with pytest.raises(KeyError), LocalExecutor(1) as executor:
        executor.submit(time.sleep, 60.0)
        waiting = executor.submit(square, 2)
        time.sleep(0.3)
        raise KeyError("mine")
    assert waiting.cancelled()


def cycle_with_array(megabytes):
    """Leaves a cycle of objects that holds an array; resident memory of this process [bytes]."""
    held = [np.ones(megabytes * 125_000)]
    held.append(held)
    return resident(os.getpid())


@pytest.mark.processes
def test_a_worker_frees_what_its_tasks_leave_in_cycles():
    """Python alone collects cycles by the number of objects, whatever arrays they hold."""
    with LocalExecutor(1) as executor:
        sizes = [executor.submit(cycle_with_array, 20).result() for _ in range(20)]
    assert max(sizes[4:]) < sizes[3] + 60e6  # 16 more: 320 MB
