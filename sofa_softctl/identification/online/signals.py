"""Sources of signals and targets of parameters in a scene: Data or functions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from sofa_softctl.base.suggestions import did_you_mean
from sofa_softctl.errors import SceneError

Signal = Callable[[], float] | tuple[Any, int] | Any
"""A function, a Data and the index of a number in it, or a Data of one number."""
Target = Callable[[float], None] | Any
"""A function, or a Data of one number."""


def readers(signals: Mapping[str, Signal], names: Sequence[str]) -> list[Callable[[], float]]:
    """Functions that read the signals of these names, in this order.

    Raises:
        SceneError: One is missing, or its name is unknown.
    """
    check_names(signals, names, "'signals'")
    missing = [name for name in names if name not in signals]
    if missing:
        raise SceneError(f"'signals' lacks {', '.join(missing)}.")
    return [_reader(signals[name]) for name in names]


def writers(
    targets: Mapping[str, Target], names: Sequence[str]
) -> dict[str, Callable[[float], None]]:
    """Functions that write parameters.

    Raises:
        SceneError: The name of a parameter is unknown.
    """
    check_names(targets, names, "'targets'")
    return {name: _writer(target) for name, target in targets.items()}


def check_names(given: Collection[str], known: Sequence[str], what: str) -> None:
    """SceneError if one of the given names is unknown."""
    for name in given:
        if name not in known:
            raise SceneError(
                f"{what} names '{name}'.{did_you_mean(name, tuple(known))} The problem has: "
                f"{', '.join(known) or 'none'}."
            )


def _reader(signal: Signal) -> Callable[[], float]:
    if callable(signal):
        return signal
    data, place = signal if isinstance(signal, tuple) else (signal, 0)
    return lambda: float(np.ravel(data.value)[place])


def _writer(target: Target) -> Callable[[float], None]:
    if callable(target):
        return target

    def write(value: float) -> None:
        target.value = [value] if np.ndim(target.value) else value

    return write
