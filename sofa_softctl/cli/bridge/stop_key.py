"""Space stops the motors: the key of an emergency stop, while a robot moves."""

from __future__ import annotations

import os
import select
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sofa_softctl.cli.bridge.answers import Answers, keys_at_once

KEY = " "
HELP = "Space stops all motors at once."


@contextmanager
def stop_key(stop: Callable[[], None]) -> Iterator[bool]:
    """Call `stop`, from a thread of its own, whenever space is pressed; other keys do nothing.

    Gives whether it does: standard input has to be a terminal that this process may read, which
    in a script, a service or a job in the background it is not.
    """
    if not _is_ours():
        yield False
        return
    ended, end = os.pipe()
    thread = threading.Thread(target=_watch, args=(ended, stop), daemon=True)
    with keys_at_once():
        thread.start()
        try:
            yield True
        finally:
            os.close(end)
            thread.join()
            os.close(ended)


def _is_ours() -> bool:
    try:
        descriptor = sys.stdin.fileno()
        return os.isatty(descriptor) and os.tcgetpgrp(descriptor) == os.getpgrp()
    except (OSError, ValueError, AttributeError):  # closed, or none
        return False


def _watch(ended: int, stop: Callable[[], None]) -> None:
    answers = Answers()
    while not answers.ended:
        if ended in select.select([sys.stdin.fileno(), ended], [], [])[0]:
            return
        while (key := answers.key()) is not None:
            if key == KEY:
                stop()
