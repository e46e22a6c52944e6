"""Worker processes: what each does first, and signals, postponed within calls that swallow them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

_first: dict[str, Callable[[], object]] = {}
"""What each worker calls first, in this order, by a name."""
_files: dict[str, tuple[str, ...]] = {}
"""Python files that these calls import."""


def call_first_in_workers(name: str, call: Callable[[], object], files: Sequence[str] = ()) -> None:
    """Make workers that are started from now on call this first; once for each name.

    Args:
        name: What it does; a later call of the same name takes its place.
        call: A picklable function.
        files: Python files that it imports.
    """
    _first[name] = call
    _files[name] = tuple(files)


def first_calls(*, leave_out: str = "") -> list[Callable[[], object]]:
    """What a process that is started in another way should call first, but for one name."""
    return [call for name, call in _first.items() if name != leave_out]


def first_files() -> list[str]:
    """Python files that first calls import; computers that do not see them need them."""
    return [file for name in _first for file in _files.get(name, ())]


class Terminated(SystemExit, KeyboardInterrupt):
    """SIGTERM or SIGHUP ends the work as Ctrl-C does; uncaught, with status 128 + its number."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.signal = signal.Signals(number).name


def stopped_by(error: KeyboardInterrupt) -> str:
    """What stopped the work: 'Ctrl-C', 'SIGTERM' or 'SIGHUP'."""
    return error.signal if isinstance(error, Terminated) else "Ctrl-C"


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise `Terminated` in the block, where they would kill the process.

    A signal that has another handler, or is ignored (nohup), stays as it is.
    """
    taken = []
    if _in_main_thread():
        endings = (signal.SIGTERM, signal.SIGHUP)
        taken = [number for number in endings if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, _terminate)
    try:
        yield
    finally:
        if _in_main_thread():
            for number in taken:
                signal.signal(number, signal.SIG_DFL)


@contextmanager
def interrupted_after() -> Iterator[None]:
    """Postpone Ctrl-C to the end of the block, and raise KeyboardInterrupt there.

    CasADi turns the exception into a failed solve, so that Ctrl-C would be lost, and SofaPython3
    prints it; a step of a simulation would be half done. Pressed again, it is raised at once, and
    further ones wait, so that what it interrupts can put things in order. Inside another such block
    it waits for the end of that one. So do the signals of `ended_by_signals`.
    """
    with _postponed(raises=True):
        yield


@contextmanager
def uninterrupted() -> Iterator[None]:
    """As `interrupted_after`, but the second one waits as well: for what must be completed.

    A block of `interrupted_after` inside it lets the second one through.
    """
    with _postponed(raises=False):
        yield


@contextmanager
def _postponed(raises: bool) -> Iterator[None]:
    if not _in_main_thread():  # it alone gets signals
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if before is None:  # a handler of a program around Python, such as runSofa, cannot be put back
        yield
        return
    if isinstance(before, _Postponed):
        outside, before.raises = before.raises, raises
        try:
            yield
        finally:
            before.raises = outside
        return
    waiting = _Postponed(raises, deaf=before is signal.SIG_IGN)
    signal.signal(signal.SIGINT, waiting)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if waiting.number:
        _stop(waiting.number)


class _Postponed:
    """A handler that remembers the first signal, and raises at the second where it is to.

    Ctrl-C that is ignored stays so (`deaf`): in worker processes, and in the background of a shell.
    """

    def __init__(self, raises: bool, deaf: bool) -> None:
        self.number, self.raises, self.deaf = 0, raises, deaf

    def __call__(self, number: int, _: object) -> None:
        if self.deaf and number == signal.SIGINT:
            return
        if self.number and self.raises:
            self.raises = False
            _stop(number)
        self.number = self.number or number


def _terminate(number: int, frame: object) -> None:
    postponed = signal.getsignal(signal.SIGINT)
    if isinstance(postponed, _Postponed):
        postponed(number, frame)
    else:
        _stop(number)


def _stop(number: int) -> NoReturn:
    raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
