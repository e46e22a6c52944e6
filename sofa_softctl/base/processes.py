"""First calls of worker processes, and signals that are postponed in calls that would lose them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

_first: dict[str, Callable[[], object]] = {}
"""Functions that each worker calls first, in this order, by name."""
_files: dict[str, tuple[str, ...]] = {}
"""Python files that these calls import."""


def call_first_in_workers(name: str, call: Callable[[], object], files: Sequence[str] = ()) -> None:
    """Make workers that are started from now on call a function first, once for each name.

    Args:
        name: Purpose of the call; a later call of the same name replaces it.
        call: A picklable function.
        files: Python files that the function imports.
    """
    _first[name] = call
    _files[name] = tuple(files)


def first_calls(*, leave_out: str = "") -> list[Callable[[], object]]:
    """Return the functions that a process started in another way should call, except one name."""
    return [call for name, call in _first.items() if name != leave_out]


def first_files() -> list[str]:
    """Python files that first calls import; computers that do not see them need them."""
    return [file for name in _first for file in _files.get(name, ())]


class TerminationSignal(SystemExit, KeyboardInterrupt):
    """SIGTERM or SIGHUP, which ends the work as Ctrl-C does; exit status 128 + its number."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.signal = signal.Signals(number).name


def stopped_by(error: KeyboardInterrupt) -> str:
    """Return the cause that stopped the work: 'Ctrl-C', 'SIGTERM' or 'SIGHUP'."""
    return error.signal if isinstance(error, TerminationSignal) else "Ctrl-C"


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Make SIGTERM and SIGHUP raise `Terminated` in the block instead of killing the process.

    A signal that has another handler, or is ignored (nohup), stays as it is.
    """
    changed_signals = []
    if _in_main_thread():
        ending_signals = (signal.SIGTERM, signal.SIGHUP)
        changed_signals = [
            number for number in ending_signals if signal.getsignal(number) is signal.SIG_DFL
        ]
    for number in changed_signals:
        signal.signal(number, _terminate)
    try:
        yield
    finally:
        if _in_main_thread():
            for number in changed_signals:
                signal.signal(number, signal.SIG_DFL)


def interrupted_after() -> DeferredSignals:
    """Postpone Ctrl-C to the end of a `with` block, and raise KeyboardInterrupt there.

    CasADi turns the exception into a failed solve, so that Ctrl-C would be lost, and SofaPython3
    prints it; a step of a simulation would be half done. A second Ctrl-C raises immediately, and
    further ones wait, so that the interrupted code can clean up. Inside another such block it waits
    for the end of the outer one. The signals of `ended_by_signals` are postponed, too.
    """
    return DeferredSignals(raises_again=True)


def defer_interrupts() -> DeferredSignals:
    """Postpone every Ctrl-C to the end of a `with` block, for work that must be completed.

    A block of `interrupted_after` inside it raises at the second Ctrl-C.
    """
    return DeferredSignals(raises_again=False)


class DeferredSignals:
    """A context, and its handler, that stores the first signal and raises it at the end.

    Every step of a simulation has one. If Ctrl-C was ignored it stays so: in worker processes and
    in a shell's background.

    Args:
        raises_again: Whether a second signal is raised immediately.
    """

    outermost: DeferredSignals | None = None
    """The context that is the handler at present; `signal.getsignal` takes 10 us to return it."""

    def __init__(self, raises_again: bool) -> None:
        self._raises = raises_again
        self._number = 0
        self._outer: DeferredSignals | None = None
        self._handler_before: Any = None

    def __enter__(self) -> None:
        if not _in_main_thread():  # only the main thread gets signals
            return
        if (outer := DeferredSignals.outermost) is not None:
            self._outer = outer
            outer._raises, self._raises = self._raises, outer._raises
        elif (before := signal.getsignal(signal.SIGINT)) is not None:
            # A handler of a program around Python, None, could not be put back.
            self._handler_before = before
            signal.signal(signal.SIGINT, self)
            DeferredSignals.outermost = self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._outer is not None:
            self._outer._raises = self._raises
        elif self._handler_before is not None:
            DeferredSignals.outermost = None
            signal.signal(signal.SIGINT, self._handler_before)
            if self._number and kind is None:
                _stop(self._number)

    def __call__(self, number: int, _: object) -> None:
        """Handle a signal."""
        if self._handler_before is signal.SIG_IGN and number == signal.SIGINT:
            return
        if self._number and self._raises:
            self._raises = False
            _stop(number)
        self._number = self._number or number


def _terminate(number: int, frame: object) -> None:
    deferred = signal.getsignal(signal.SIGINT)
    if isinstance(deferred, DeferredSignals):
        deferred(number, frame)
    else:
        _stop(number)


def _stop(number: int) -> NoReturn:
    raise KeyboardInterrupt if number == signal.SIGINT else TerminationSignal(number)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
