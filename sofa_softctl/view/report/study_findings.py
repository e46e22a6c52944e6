"""What a report of a study says first: how its runs ended, failures first."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sofa_softctl.batch.folder import changes_since
from sofa_softctl.batch.results import Results
from sofa_softctl.batch.row import OK, STATUSES
from sofa_softctl.view.report.run_findings import ORDER
from sofa_softctl.view.terminal.numbers import counted

_HOW = dict(
    zip(
        STATUSES,
        (
            "ended in order",
            "failed by an exception",
            "diverged: NaN or infinite",
            "took longer than the limit",
            "took more memory than the limit",
            "died with their process",
        ),
        strict=True,
    )
)


def findings_of(found: Results) -> list[tuple[str, str]]:
    """Sentences with their level, 'bad', 'look' or 'good'; failures first."""
    items = [*_endings(found), *_missing(found), *_not_finite(found), *_origin(found)]
    return sorted(items, key=lambda one: ORDER.index(one[1]))


def _endings(found: Results) -> Iterator[tuple[str, str]]:
    for kind, count in found.counts().items():
        share = f"{100.0 * count / len(found.rows):.3g} %"
        if kind in ("REACHED", OK):
            how = "reached their goals" if kind == "REACHED" else _HOW[OK]
            yield f"{counted(count, 'run')} {how} ({share}).", "good"
        elif kind in _HOW:
            yield f"{kind}: {counted(count, 'run')} {_HOW[kind]} ({share}).", "bad"
        else:
            yield f"{kind}: {counted(count, 'run')} did not reach their goals ({share}).", "bad"


def _missing(found: Results) -> Iterator[tuple[str, str]]:
    missing = found.runs - len(found.rows)
    if missing > 0:
        yield f"{missing:,} of {found.runs:,} runs are not done yet.", "look"


def _not_finite(found: Results) -> Iterator[tuple[str, str]]:
    done = np.array([status == OK for status in found.rows["status"].to_pylist()], dtype=bool)
    for name in found.number_columns:
        wrong = int((~np.isfinite(found.numbers(name)) & done).sum())
        if wrong:
            yield f"{name} is missing or not finite in {counted(wrong, 'run')} that ended.", "look"


def _origin(found: Results) -> Iterator[tuple[str, str]]:
    for text in found.damaged:
        yield text, "look"
    states = {digest for digest in found.rows["digest"].to_pylist() if digest}
    if len(states) > 1:
        yield (
            f"Rows were made of {len(states)} different states of files and versions: compare the "
            "column digest.",
            "look",
        )
    for text in changes_since(found.path, found.about):
        yield f"Since the rows were made: {text}.", "look"
