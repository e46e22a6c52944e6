"""Comparison of repeated runs, after a reset and from a snapshot, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.scene.session.session import Session

Values = dict[str, Any]
"""Value of every Data of a scene, by its path."""


def check_reset(session: Session, name: str, first: list[Values]) -> None:
    """Compare the first run of a session with one after a reset.

    Args:
        session: Session after its first run.
        name: Name of the controller, for the message.
        first: Values after each step of that run, see `values_of`.

    Raises:
        AssertionError: A Data differs after some step.
    """
    session.reset()
    _compare(
        first,
        _run(session, len(first)),
        f"{name}: after a reset, expected the first run again",
        "Has it a method reset() that undoes what its events did, its own attributes included?",
    )


def check_snapshot(session: Session, name: str, steps: int) -> None:
    """Compare the second half of a run with the same from a snapshot in its middle.

    Raises:
        AssertionError: A Data differs after some step.
    """
    session.reset()
    session.step(steps // 2)
    middle = session.snapshot()
    first = _run(session, steps - steps // 2)
    session.restore(middle)
    _compare(
        first,
        _run(session, steps - steps // 2),
        f"{name}: after Session.restore, expected the run to continue as from its snapshot",
        "Has it a method snapshot() that returns the attributes that change from step to step, and "
        "restore(values) that takes them back?",
    )


def _run(session: Session, steps: int) -> list[Values]:
    """Return every Data after each step."""
    values = []
    for _ in range(steps):
        session.step()
        values.append(values_of(session))
    return values


def values_of(session: Session) -> Values:
    """Return the present value of every Data of the scene."""
    owners = [owner for node in session.nodes() for owner in (node, *node.objects)]
    return {
        data.getPathName(): _copy_value(data.get())
        for owner in owners
        for data in owner._data.values()
    }


def _copy_value(value: Any) -> Any:
    """Return a copy that the next step does not change; sparse matrices as arrays."""
    if hasattr(value, "toarray"):
        return value.toarray()
    return value.copy() if isinstance(value, np.ndarray) else value


def _compare(first: list[Values], again: list[Values], expected: str, hint: str) -> None:
    for step, (first_values, repeated_values) in enumerate(zip(first, again, strict=True), start=1):
        for path in first_values.keys() | repeated_values.keys():
            a, b = first_values.get(path), repeated_values.get(path)
            are_arrays = isinstance(a, np.ndarray) and isinstance(b, np.ndarray)
            is_equal = a.tobytes() == b.tobytes() if are_arrays else a == b  # type: ignore[union-attr]
            if not is_equal:
                raise AssertionError(
                    f"{expected}, bit for bit. Got another {path} after step {step}: {_short(b)}, "
                    f"not {_short(a)}. {hint}"
                )


def _short(value: Any) -> str:
    text = str(value.tolist() if isinstance(value, np.ndarray) else value)
    return text if len(text) <= 60 else f"{text[:60]} ..."
