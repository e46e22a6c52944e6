"""Time limits: raised where the block is, and never lost."""

import time
from weakref import WeakSet

import pytest

from sofa_softctl.base.time_limit import check_time, deadline, time_limit
from sofa_softctl.errors import TimeLimitError

pytestmark = pytest.mark.quick


class Over(Exception):
    """The error of a block whose time is over."""


def limit(seconds):
    """A limit that raises again at once."""
    return time_limit(seconds, lambda frame: Over(), interval=seconds)


def test_a_block_in_time_is_left_alone():
    with limit(10.0):
        pass
    time.sleep(0.0)


def test_a_block_that_waits_is_interrupted():
    with pytest.raises(Over), limit(0.01):
        time.sleep(60)


def test_an_error_that_the_block_catches_is_raised_again():
    with pytest.raises(Over), limit(0.01):
        try:
            time.sleep(60)
        except Over:
            time.sleep(60)


def test_no_alarm_rings_after_the_block():
    with pytest.raises(Over), limit(0.01):
        time.sleep(60)
    time.sleep(0.05)


class Node:
    """An object that weak sets can hold."""


def test_the_error_is_not_lost_in_a_callback_of_a_weak_reference():
    """Python drops what is raised there, and pytest turns that into a failure."""
    nodes = [WeakSet() for _ in range(50)]
    for _ in range(20):
        with pytest.raises(Over), limit(0.002):
            while True:
                node = Node()
                for members in nodes:
                    members.add(node)
                del node


def test_only_work_that_checks_its_deadline_is_stopped_by_it():
    check_time()
    with deadline(-1.0):
        with pytest.raises(TimeLimitError):
            check_time()
        with deadline(1000.0):
            check_time()
        with pytest.raises(TimeLimitError):
            check_time()
    with deadline(None):
        check_time()
    check_time()
