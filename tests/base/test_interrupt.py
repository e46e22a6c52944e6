"""Ctrl-C during calls that swallow it."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from sofa_softctl.base.processes import (
    TerminationSignal,
    ended_by_signals,
    interrupted_after,
    stopped_by,
)

ENDINGS = [signal.SIGTERM, signal.SIGHUP]


def test_ctrl_c_comes_after_the_block_that_would_have_lost_it():
    done, before = [], signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), interrupted_after():
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            done.append("lost")
        done.append("block")
    assert done == ["block"]
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_that_is_ignored_stays_so_and_other_signals_wait():
    """In worker processes, and in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    done = []
    try:
        with interrupted_after():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("first")
        with pytest.raises(TerminationSignal), ended_by_signals(), interrupted_after():
            os.kill(os.getpid(), signal.SIGTERM)
            done.append("second")
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert done == ["first", "second"]


def test_other_threads_have_no_signals():
    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=lambda: interrupted_after().__enter__())
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("number", ENDINGS)
def test_signals_that_end_a_process_come_like_ctrl_c(number):
    with pytest.raises(KeyboardInterrupt) as stopped, ended_by_signals():
        os.kill(os.getpid(), number)
    assert isinstance(stopped.value, TerminationSignal) and stopped.value.code == 128 + number
    assert stopped_by(stopped.value) == signal.Signals(number).name
    assert signal.getsignal(number) is signal.SIG_DFL


@pytest.mark.parametrize("number", ENDINGS)
def test_they_wait_for_the_end_of_a_block_also_where_they_are_heard_within_it_alone(number):
    done = []
    with ended_by_signals(), pytest.raises(TerminationSignal), interrupted_after():
        os.kill(os.getpid(), number)
        done.append("outside")
    with pytest.raises(TerminationSignal), interrupted_after(), ended_by_signals():
        os.kill(os.getpid(), number)
        done.append("inside")
    with pytest.raises(TerminationSignal), ended_by_signals(), interrupted_after():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), number)  # the second one does not wait
        done.append("lost")
    assert done == ["outside", "inside"]


def test_a_signal_that_somebody_else_takes_or_ignores_is_left_alone():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ended_by_signals():
            os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_script_that_a_signal_ends_has_its_status_and_no_traceback():
    code = (
        "import os, signal\n"
        "from sofa_softctl.base.processes import ended_by_signals\n"
        "with ended_by_signals():\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (143, b"")
