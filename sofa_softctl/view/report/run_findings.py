"""What a report of a run says first: how it ended and what went wrong, failures first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from sofa_softctl.errors import RecordError
from sofa_softctl.record.file import COMPLETE, INTERRUPTED
from sofa_softctl.record.record import Record
from sofa_softctl.runtime.mesh.checks import signed_volumes
from sofa_softctl.scene.condition import is_inverted
from sofa_softctl.scene.geometry import geometry_in
from sofa_softctl.status import Status
from sofa_softctl.view.terminal.numbers import counted

ORDER = ("bad", "look", "good")


def findings_of(record: Record) -> list[tuple[str, str]]:
    """Sentences with their level, 'bad', 'look' or 'good'; failures first."""
    found = [_ending(record), *_not_finite(record), *_inverted(record), *_statuses(record)]
    found += _errors(record)
    return sorted(found, key=lambda one: ORDER.index(one[1]))


def _ending(record: Record) -> tuple[str, str]:
    steps = counted(len(record.time), "step")
    if record.status == COMPLETE:
        return f"The run ended as planned, after {steps}.", "good"
    if record.status == INTERRUPTED:
        return f"The run was interrupted after {steps}.", "look"
    return f"The run did not end as planned. After {steps}: {record.status}", "bad"


def _not_finite(record: Record) -> Iterator[tuple[str, str]]:
    for name, values in record.channels.items():
        if values.dtype.kind == "f" and len(values):
            wrong = ~np.isfinite(values).reshape(len(values), -1).all(axis=1)
            if name.endswith(".position") and not wrong.all():
                there = np.flatnonzero(~wrong)  # before and after, it was not in the scene
                if there[0]:
                    yield f"{name} begins at t = {record.time[there[0]]:.4g}.", "look"
                wrong[: there[0]] = False
                if record.complete and there[-1] + 1 < len(wrong):
                    yield f"{name} ends at t = {record.time[there[-1]]:.4g}.", "look"
                    wrong[there[-1] + 1 :] = False
            if wrong.any():
                first = record.time[int(np.argmax(wrong))]
                steps = counted(int(wrong.sum()), "step")
                level = "bad" if name.endswith(".position") else "look"
                yield f"{name} is not finite in {steps}, first at t = {first:.4g}.", level


def _inverted(record: Record) -> Iterator[tuple[str, str]]:
    """Bodies with tetrahedra that are inside out."""
    try:
        bodies = geometry_in(record).bodies
    except RecordError:
        return
    for body in bodies:
        if not len(body.tetrahedra):
            continue
        orientations = np.sign(signed_volumes(body.rest, body.tetrahedra))
        positions = record.channels[f"{body.name}.position"]
        with np.errstate(invalid="ignore"):  # before the body was in the scene
            counts = np.array(
                [int(is_inverted(x[:, :3], body.tetrahedra, orientations).sum()) for x in positions]
            )
        if counts.any():
            first = record.time[int(np.argmax(counts > 0))]
            most = f"{counts.max()} of {len(body.tetrahedra)} tetrahedra"
            yield f"{body.name}: {most} inside out, first at t = {first:.4g}.", "bad"


def _statuses(record: Record) -> Iterator[tuple[str, str]]:
    """How solvers ended, by the texts that are a `Status`."""
    known = {status.name for status in Status}
    for name, values in record.channels.items():
        if values.dtype.kind != "U" or not (set(values.tolist()) & known):
            continue
        counts = Counter(values.tolist())
        solved = counts.pop(Status.SOLVED.name, 0)
        others = ", ".join(f"{count} {text}" for text, count in counts.most_common() if text)
        text = f"{name}: {solved} of {counted(len(values), 'step')} SOLVED"
        yield (f"{text}; {others}.", "look") if others else (f"{text}.", "good")


def _errors(record: Record) -> Iterator[tuple[str, str]]:
    """Distance to goals at the end, and its largest value."""
    for name, values in record.channels.items():
        if not name.endswith(".error") or values.dtype.kind != "f" or not values.size:
            continue
        worst = values.reshape(len(values), -1).max(axis=1)
        if not np.isfinite(worst).all():
            continue
        unit = f" {record.units[name]}" if record.units[name] else ""
        at = record.time[int(np.argmax(worst))]
        text = f"{name}: {worst[-1]:.4g}{unit} at the end, at most {worst.max():.4g}{unit}"
        yield f"{text}, at t = {at:.4g}.", "good" if worst[-1] <= 0.1 * worst.max() else "look"
