"""Page of a run."""

from __future__ import annotations

import base64
import json
import math
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

import numpy as np

from sofa_softctl.base.axes import LEGEND_ENTRIES_MAX, Figure, legend_beside
from sofa_softctl.base.colors import PALETTE
from sofa_softctl.errors import RecordError, SoftctlError
from sofa_softctl.record.file import COMPLETE, INTERRUPTED
from sofa_softctl.record.record import Record, column_names
from sofa_softctl.runtime.mesh.checks import signed_volumes
from sofa_softctl.scene.session.condition import is_inverted
from sofa_softctl.scene.session.geometry import Cable, geometry_in
from sofa_softctl.status import Status
from sofa_softctl.units import SEPARATOR, Units, of_columns
from sofa_softctl.view.pages import html
from sofa_softctl.view.pages.svg import svg
from sofa_softctl.view.words import counted

SAMPLES = 1500
"""More steps than this are drawn as the least and the greatest value of equal spans."""


def series_figure(
    time: np.ndarray, values: np.ndarray, labels: Sequence[str], unit: str, time_unit: str
) -> str:
    """Columns over time.

    Args:
        time: Shape (n,).
        values: Shape (n, k); NaN are gaps.
        labels: Of the columns.
        unit: Of the values; empty: none.
        time_unit: Likewise.
    """
    time, values = thinned(time, values)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for k, (column, label) in enumerate(zip(values.T, labels, strict=True)):
            line = "-" if k < len(PALETTE) else "--"
            color = PALETTE[k % len(PALETTE)]
            axes.plot(time, column, line, color=color, linewidth=1.3, label=label)
        axes.set_xlabel(f"time [{time_unit}]" if time_unit else "time")
        axes.set_ylabel(f"[{unit}]" if unit else "")
        axes.margins(x=0.01)
        if len(labels) > 1:
            legend_beside(axes)

    return svg(9.2, 2.3, draw)


def thinned(time: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """At most about `SAMPLES` rows that keep every peak: least and greatest value of each span.

    Args:
        time: Shape (n,).
        values: Shape (n, k).
    """
    if len(time) <= SAMPLES:
        return time, values
    span = math.ceil(2 * len(time) / SAMPLES)
    starts = np.arange(0, len(time), span)
    low = np.fmin.reduceat(values, starts)
    high = np.fmax.reduceat(values, starts)
    last = np.minimum(starts + span - 1, len(time) - 1)
    times = np.stack([time[starts], time[last]], axis=1).ravel()
    return times, np.stack([low, high], axis=1).reshape(-1, values.shape[1])


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


PICTURE = (440, 400)
"""Width and height of a picture [pixel]."""
OPEN, DRAWN = 6, 24
"""Figures that are not folded, and figures in all; the table has every channel."""
STRESSES = 200
"""Most steps whose stresses are computed."""
TEXTS = ("scene", "backend", "dt", "units", "cpu", "os")
"""Metadata that are neither parameters nor versions nor of controllers."""
FIRST = ("error", "effort", "displacement", "tip", "goal")
"""Data that are drawn first."""
OF_CABLES = {"force": "force", "displacement": "length"}
"""Data of cables, which are drawn together, and what they are."""


def page(record: Record) -> str:
    """The text of the HTML file.

    Args:
        record: The recording; one that ended early is reported as far as it goes.
    """
    scene = record.metadata.get("scene", "a scene")
    sections = [
        html.section("What was found", html.findings(findings_of(record))),
        _pictures(record),
        _plots(record),
        _channels(record),
        _parameters(record),
        _produced(record),
    ]
    return html.page(f"Run of {scene}", _tiles(record), sections)


def _tiles(record: Record) -> str:
    time, metadata = record.time, record.metadata
    unit = _time_unit(record)
    words = {COMPLETE: "complete", INTERRUPTED: "interrupted"}
    span = f"to t = {time[-1]:.4g} {unit}" if len(time) else "nothing was recorded"
    return html.tiles(
        [
            (words.get(record.status, "failed"), "how the run ended"),
            (f"{len(time):,}", f"steps, {escape(span)}"),
            (escape(f"{metadata.get('dt', '–')} {unit}"), "length of a step"),
            (escape(metadata.get("softctl", "–")), "version of softctl"),
        ]
    )


def _pictures(record: Record) -> str:
    """The robot at the start, in the middle and at the end."""
    count = len(record.time)
    if not count:
        return ""
    try:
        shown = [*_rendered(record, sorted({0, (count - 1) // 2, count - 1}))]
    except (SoftctlError, ValueError) as error:
        return html.section("Pictures", f"<p>There are none: {escape(str(error))}</p>")
    body = "".join(
        f'<figure><img alt="step {step + 1}" src="data:image/png;base64,{data}">'
        f"<figcaption>t = {record.time[step]:.4g} {escape(_time_unit(record))}</figcaption>"
        "</figure>"
        for step, data in shown
    )
    return html.section("Pictures", f'<div class="pictures">{body}</div>')


def _rendered(record: Record, steps: list[int]) -> Iterator[tuple[int, str]]:
    """Steps with their pictures, PNG in base64."""
    from sofa_softctl.view.movie.encoding import write_picture
    from sofa_softctl.view.movie.stage import open_stage
    from sofa_softctl.view.movie.window import animation_of

    animation = animation_of(record)
    if not (animation.bodies or animation.lines or animation.markers):
        raise ValueError("the scene has no body with a mesh, no cables and no goals.")
    with open_stage(animation, PICTURE, "") as stage, tempfile.TemporaryDirectory() as folder:
        for step in steps:
            file = Path(folder, "step.png")
            write_picture(file, stage.picture(step))
            yield step, base64.b64encode(file.read_bytes()).decode()


def _plots(record: Record) -> str:
    if len(record.time) < 2:
        return ""
    cables = _cables(record)
    drawn = {f"{cable.name}.{data}" for cable in cables for data in OF_CABLES}
    names = [name for name in record.channels if name not in drawn and _is_drawn(record, name)]
    names.sort(key=_importance)
    figures = [*_stresses(record), *_of_cables(record, cables)]
    figures[1:1] = [_channel(record, name) for name in names[: DRAWN - len(figures)]]
    body = "".join(figures[:OPEN])
    if figures[OPEN:]:
        body += html.folded(counted(len(figures) - OPEN, "further figure"), "".join(figures[OPEN:]))
    note = "Channels of many nodes, and those that do not change, are not drawn."
    return html.section("Over time", body, note) if body else ""


def _channel(record: Record, name: str) -> str:
    """Figure of one channel."""
    values = record.channels[name]
    owner, _, data = name.rpartition(".")
    labels = column_names(data, values.shape[1:])
    actuators = _names(record.metadata.get(f"{owner}.actuators", ""))
    if data in ("effort", "displacement") and len(actuators) == len(labels):
        labels = actuators
    columns = values.reshape(len(values), -1)
    unit = record.units[name]
    if SEPARATOR in unit:
        units = of_columns(unit, len(labels))
        labels = [f"{label} [{own}]" for label, own in zip(labels, units, strict=True)]
    return html.figure(series_figure(record.time, columns, labels, unit, _time_unit(record)), name)


def _of_cables(record: Record, cables: list[Cable]) -> Iterator[str]:
    """Force and displacement of all cables."""
    for data, quantity in OF_CABLES.items():
        found = {
            cable.name: record.channels[f"{cable.name}.{data}"].reshape(-1)
            / (cable.lambda_per_effort if data == "force" else 1.0)
            for cable in cables[: len(PALETTE)]
            if f"{cable.name}.{data}" in record.channels
        }
        if not found:
            continue
        columns, unit = np.stack(list(found.values()), axis=1), _symbol(record, quantity)
        svg = series_figure(record.time, columns, [*found], unit, _time_unit(record))
        rest = len(cables) - len(found)
        more = f"; {counted(rest, 'further cable')} not drawn" if rest else ""
        yield html.figure(svg, f"{data.capitalize()} of the cables{more}")


def _stresses(record: Record) -> Iterator[str]:
    """Largest von Mises stress of each body over time."""
    try:
        bodies = [body for body in geometry_in(record).bodies if body.material is not None]
    except RecordError:
        return
    every = -(-len(record.time) // STRESSES)
    columns = []
    for body in bodies[: len(PALETTE)]:
        steps = record.channels[f"{body.name}.position"][::every]
        stresses = [
            body.von_mises(positions[:, :3]) if np.isfinite(positions).all() else None
            for positions in steps
        ]
        columns.append([np.nan if each is None else float(each.max()) for each in stresses])
    if columns:
        names, table = [body.name for body in bodies], np.array(columns).T
        unit, times = _symbol(record, "pressure"), record.time[::every]
        svg = series_figure(times, table, names[: len(columns)], unit, _time_unit(record))
        of = names[0] if len(names) == 1 else "each body"
        thinned = "" if every == 1 else f", in every {every}th step"
        yield html.figure(svg, f"Largest von Mises stress of {of}{thinned}")


def _channels(record: Record) -> str:
    rows = []
    for name, values in record.channels.items():
        if values.dtype.kind == "U" or not values.size:
            continue
        last = values[-1].ravel()
        end = f"{last[0]:.5g}" if len(last) == 1 else f"{counted(len(last), 'number')}"
        finite = values[np.isfinite(values)]
        low, high = (f"{f(finite):.5g}" if finite.size else "–" for f in (np.min, np.max))
        rows.append([escape(name), escape(record.units[name]), low, high, end])
    if not rows:
        return ""
    body = html.table(["channel", "unit", "n:least", "n:greatest", "n:at the end"], rows)
    title = f"{counted(len(rows), 'channel')} of numbers"
    return html.section("What was recorded", html.folded(title, body))


def _parameters(record: Record) -> str:
    rows = [
        [escape(key.removeprefix("parameter.")), escape(value)]
        for key, value in record.metadata.items()
        if key.startswith("parameter.")
    ]
    return html.section("Parameters of the scene", html.table(["name", "value"], rows)) * bool(rows)


def _produced(record: Record) -> str:
    known = [(key, record.metadata[key]) for key in TEXTS if key in record.metadata]
    others = [
        (key, value)
        for key, value in record.metadata.items()
        if key not in TEXTS and not key.startswith("parameter.")
    ]
    rows = [[escape(key), escape(value)] for key, value in known + others]
    return html.section("What produced it", html.table(["", ""], rows)) * bool(rows)


def _is_drawn(record: Record, name: str) -> bool:
    """Whether a channel is of few numbers, some of which change."""
    values = record.channels[name]
    if values.dtype.kind != "f" or not 0 < values[0].size <= LEGEND_ENTRIES_MAX:
        return False
    finite = values[np.isfinite(values).reshape(len(values), -1).all(axis=1)]
    return len(finite) > 1 and bool((finite != finite[0]).any())


def _importance(name: str) -> int:
    data = name.rpartition(".")[2]
    return FIRST.index(data) if data in FIRST else len(FIRST)


def _cables(record: Record) -> list[Cable]:
    try:
        return geometry_in(record).cables
    except RecordError:
        return []


def _names(text: str) -> list[str]:
    """A list of names in JSON; empty where it is none."""
    try:
        found = json.loads(text)
    except ValueError:
        return []
    return [str(name) for name in found] if isinstance(found, list) else []


def _time_unit(record: Record) -> str:
    return record.metadata.get("units", "").rpartition(", ")[2]


def _symbol(record: Record, quantity: str) -> str:
    """Unit of a quantity; empty where the scene declares none."""
    units = record.metadata.get("units", "")
    return Units.parse(units).symbol(quantity) if units else ""
