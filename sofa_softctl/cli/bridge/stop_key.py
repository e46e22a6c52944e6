"""Space stops the motors: the key of an emergency stop, while a robot moves."""

from __future__ import annotations

import os
import select
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from sofa_softctl.cli.bridge.answers import Answers, keys_at_once
from sofa_softctl.errors import DeviceError
from sofa_softctl.status import ExitStatus

if TYPE_CHECKING:
    from sofa_softctl.bridge.hand import Hand

KEY = " "
HELP = "Space stops all motors at once."
STOPPED = "Stopped: all motors stay where they are."


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


@contextmanager
def space_stops(hand: Hand) -> Iterator[None]:
    """Space stops a robot that is moved by hand while this is open.

    Raises:
        typer.Exit: It was stopped so.
        DeviceError: It was held, or stopped by something else.
    """
    pressed = threading.Event()

    def stop() -> None:
        pressed.set()
        hand.stream.stop_now()

    with stop_key(stop):
        try:
            yield
        except DeviceError:
            if not pressed.is_set():
                raise
            typer.echo(STOPPED, err=True)
            raise typer.Exit(ExitStatus.INTERRUPTED) from None


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
