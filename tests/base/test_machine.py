import os
import threading

import pytest

from sofa_softctl.base import machine


@pytest.mark.parametrize(("requested", "cores", "count"), [("8", 2, 2), ("1", 4, 1), ("", 3, 3)])
def test_there_are_at_most_as_many_threads_as_cores(monkeypatch, requested, cores, count):
    """Of more that are asked for, only one a core is used: others would only wait."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", requested)
    assert machine.thread_count.__wrapped__() == count


def test_a_child_process_uses_one_thread_unless_it_computes_alone(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    for name in machine.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(machine, "parent_process", lambda: object())
    monkeypatch.setattr(machine, "_computes_alone", False)
    assert machine.thread_count.__wrapped__() == 1
    machine.use_all_cores()
    assert machine.thread_count.__wrapped__() == 2
    machine.thread_count.cache_clear()


def test_results_are_in_the_order_of_the_calls(monkeypatch):
    monkeypatch.setattr(machine, "thread_count", lambda: 2)
    meeting = threading.Barrier(2, timeout=10.0)  # both calls run at the same time

    def call(value):
        meeting.wait()
        return value

    assert machine.run_in_threads(call, [(1,), (2,)]) == [1, 2]


def test_a_kernel_that_is_not_compiled_runs_in_one_thread(monkeypatch):
    """Two threads would compile it at the same time."""
    monkeypatch.setattr(machine, "thread_count", lambda: 2)
    callers = []

    def kernel(value):
        callers.append(threading.current_thread())
        return value

    kernel.overloads = {}
    assert machine.run_in_threads(kernel, [(1,), (2,)]) == [1, 2]
    assert set(callers) == {threading.current_thread()}


def test_some_of_the_memory_is_available():
    """More than this process needs, at most all of it."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 1e6 < machine.available_memory() <= total
