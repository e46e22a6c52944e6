"""Ctrl-C during calls that swallow it."""

import os
import signal
import threading

import pytest

from sofa_softctl._internal.interrupt import interrupted_after


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


def test_other_threads_have_no_signals():
    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=lambda: interrupted_after().__enter__())
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGINT) is before
