"""Page of a run."""

from __future__ import annotations

import base64
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
from sofa_softctl.record.record import Record
from sofa_softctl.record.status import COMPLETE, INTERRUPTED
from sofa_softctl.runtime.mesh.checks import signed_volumes
from sofa_softctl.scene.session.condition import is_inverted
from sofa_softctl.scene.session.geometry import Cable, geometry_in
from sofa_softctl.status import Status
from sofa_softctl.units import SEPARATOR, Units, of_columns
from sofa_softctl.view.pages import html
from sofa_softctl.view.pages.svg import svg
from sofa_softctl.view.words import plural

SAMPLES_MAX = 1500
"""Number of steps above which figures show minima and maxima of equal time spans."""


def series_figure(
    time: np.ndarray, values: np.ndarray, labels: Sequence[str], unit: str, time_unit: str
) -> str:
    """Return a figure of columns over time.

    Args:
        time: Times, shape (n,).
        values: Values, NaN for gaps, shape (n, k).
        labels: Labels of the columns.
        unit: Unit of the values, or "".
        time_unit: Unit of the times, or "".
    """
    time, values = downsample_keep_extrema(time, values)

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


def downsample_keep_extrema(time: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return at most about `SAMPLES_MAX` rows: minima and maxima of equal time spans.

    Args:
        time: Times, shape (n,).
        values: Values, shape (n, k).
    """
    if len(time) <= SAMPLES_MAX:
        return time, values
    span = math.ceil(2 * len(time) / SAMPLES_MAX)
    starts = np.arange(0, len(time), span)
    low = np.fmin.reduceat(values, starts)
    high = np.fmax.reduceat(values, starts)
    ends = np.minimum(starts + span - 1, len(time) - 1)
    times = np.stack([time[starts], time[ends]], axis=1).ravel()
    return times, np.stack([low, high], axis=1).reshape(-1, values.shape[1])


ORDER = ("bad", "look", "good")


def findings_of(record: Record) -> list[tuple[str, str]]:
    """Return sentences with their level 'bad', 'look' or 'good'; failures first."""
    findings = [_end_status(record), *_not_finite(record), *_inverted_bodies(record)]
    findings += [*_statuses(record), *_errors(record)]
    return sorted(findings, key=lambda finding: ORDER.index(finding[1]))


def _end_status(record: Record) -> tuple[str, str]:
    steps = plural(len(record.time), "step")
    if record.status == COMPLETE:
        return f"The run ended as planned, after {steps}.", "good"
    if record.status == INTERRUPTED:
        return f"The run was interrupted after {steps}.", "look"
    return f"The run did not end as planned. After {steps}: {record.status}", "bad"


def _not_finite(record: Record) -> Iterator[tuple[str, str]]:
    for name, values in record.channels.items():
        if values.dtype.kind == "f" and len(values):
            is_invalid = ~np.isfinite(values).reshape(len(values), -1).all(axis=1)
            if name.endswith(".position") and not is_invalid.all():
                valid_steps = np.flatnonzero(~is_invalid)  # it may come and go
                if valid_steps[0]:
                    yield f"{name} begins at t = {record.time[valid_steps[0]]:.4g}.", "look"
                is_invalid[: valid_steps[0]] = False
                if record.complete and valid_steps[-1] + 1 < len(is_invalid):
                    yield f"{name} ends at t = {record.time[valid_steps[-1]]:.4g}.", "look"
                    is_invalid[valid_steps[-1] + 1 :] = False
            if is_invalid.any():
                first = record.time[int(np.argmax(is_invalid))]
                steps = plural(int(is_invalid.sum()), "step")
                level = "bad" if name.endswith(".position") else "look"
                yield f"{name} is not finite in {steps}, first at t = {first:.4g}.", level


def _inverted_bodies(record: Record) -> Iterator[tuple[str, str]]:
    """Yield the bodies with tetrahedra that are inside out."""
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
            extent = f"{counts.max()} of {len(body.tetrahedra)} tetrahedra"
            yield f"{body.name}: {extent} inside out, first at t = {first:.4g}.", "bad"


def _statuses(record: Record) -> Iterator[tuple[str, str]]:
    """Yield the statuses of solvers, from channels of texts that are a `Status`."""
    names = {status.name for status in Status}
    for name, values in record.channels.items():
        if values.dtype.kind != "U" or not (set(values.tolist()) & names):
            continue
        counts = Counter(values.tolist())
        solved = counts.pop(Status.SOLVED.name, 0)
        unsolved = ", ".join(f"{count} {text}" for text, count in counts.most_common() if text)
        text = f"{name}: {solved} of {plural(len(values), 'step')} SOLVED"
        yield (f"{text}; {unsolved}.", "look") if unsolved else (f"{text}.", "good")


def _errors(record: Record) -> Iterator[tuple[str, str]]:
    """Yield the distances to goals at the end, and their maxima."""
    for name, values in record.channels.items():
        if not name.endswith(".error") or values.dtype.kind != "f" or not values.size:
            continue
        worst = values.reshape(len(values), -1).max(axis=1)
        if not np.isfinite(worst).all():
            continue
        unit = f" {record.units[name]}" if record.units[name] else ""
        time = record.time[int(np.argmax(worst))]
        text = f"{name}: {worst[-1]:.4g}{unit} at the end, at most {worst.max():.4g}{unit}"
        yield f"{text}, at t = {time:.4g}.", "good" if worst[-1] <= 0.1 * worst.max() else "look"


SIZE = (440, 400)
"""Width and height of a picture [pixel]."""
OPEN, DRAWN = 6, 24
"""Number of figures that are open, and in total; the table has every channel."""
STRESS_STEPS = 200
"""Maximum number of steps at which stresses are computed."""
TEXTS = ("scene", "backend", "dt", "units", "cpu", "os")
"""Metadata besides parameters, versions, and data of controllers."""
FIRST = ("error", "effort", "displacement", "tip", "goal")
"""Data that are drawn first."""
OF_CABLES = {"force": "force", "displacement": "length"}
"""Data of cables, which are drawn together, and their quantities."""


def page(record: Record) -> str:
    """Return the text of the HTML file.

    Args:
        record: Recording, which may have ended early.
    """
    scene = record.metadata.get("scene", "a scene")
    sections = [
        html.section("What was found", html.findings(findings_of(record))),
        _pictures(record),
        _plots(record),
        _channels(record),
        _parameters(record),
        _provenance(record),
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
    """Return pictures of the robot at the start, in the middle and at the end."""
    count = len(record.time)
    if not count:
        return ""
    try:
        shown = [*_render_steps(record, sorted({0, (count - 1) // 2, count - 1}))]
    except (SoftctlError, ValueError) as error:
        return html.section("Pictures", f"<p>There are none: {escape(str(error))}</p>")
    body = "".join(
        f'<figure><img alt="step {step + 1}" src="data:image/png;base64,{data}">'
        f"<figcaption>t = {record.time[step]:.4g} {escape(_time_unit(record))}</figcaption>"
        "</figure>"
        for step, data in shown
    )
    return html.section("Pictures", f'<div class="pictures">{body}</div>')


def _render_steps(record: Record, steps: list[int]) -> Iterator[tuple[int, str]]:
    """Yield steps with their pictures, PNG in base64."""
    from sofa_softctl.view.movie.encoding import write_picture
    from sofa_softctl.view.movie.stage import Stage
    from sofa_softctl.view.movie.window import animation_of

    animation = animation_of(record)
    if not (animation.bodies or animation.lines or animation.markers):
        raise ValueError("the scene has no body with a mesh, no cables and no goals.")
    stage = Stage(animation, SIZE)
    with tempfile.TemporaryDirectory() as folder:
        for step in steps:
            file = Path(folder, "step.png")
            write_picture(file, stage.picture(step))
            yield step, base64.b64encode(file.read_bytes()).decode()


def _plots(record: Record) -> str:
    if len(record.time) < 2:
        return ""
    cables = _cables(record)
    of_cables = {f"{cable.name}.{data}" for cable in cables for data in OF_CABLES}
    names = [name for name in record.channels if name not in of_cables and _is_drawn(record, name)]
    names.sort(key=_importance)
    figures = [*_stresses(record), *_cable_figures(record, cables)]
    figures[1:1] = [_channel(record, name) for name in names[: DRAWN - len(figures)]]
    body = "".join(figures[:OPEN])
    if figures[OPEN:]:
        body += html.details(plural(len(figures) - OPEN, "further figure"), "".join(figures[OPEN:]))
    note = "Channels of many nodes, and those that do not change, are not drawn."
    return html.section("Over time", body, note) if body else ""


def _channel(record: Record, name: str) -> str:
    values = record.channels[name]
    owner, _, data = name.rpartition(".")
    labels = record.columns_of(name, values.shape[1:])
    labels = [label.removeprefix(f"{owner}.").removeprefix(f"{data}.") for label in labels]
    columns = values.reshape(len(values), -1)
    unit = record.units[name]
    if SEPARATOR in unit:
        units = of_columns(unit, len(labels))
        labels = [f"{label} [{symbol}]" for label, symbol in zip(labels, units, strict=True)]
    return html.figure(series_figure(record.time, columns, labels, unit, _time_unit(record)), name)


def _cable_figures(record: Record, cables: list[Cable]) -> Iterator[str]:
    """Yield figures of force and displacement of the cables."""
    for data, quantity in OF_CABLES.items():
        columns_by_name = {
            cable.name: record.channels[f"{cable.name}.{data}"].reshape(-1)
            / (cable.lambda_per_effort if data == "force" else 1.0)
            for cable in cables[: len(PALETTE)]
            if f"{cable.name}.{data}" in record.channels
        }
        if not columns_by_name:
            continue
        columns, unit = np.stack(list(columns_by_name.values()), axis=1), _unit(record, quantity)
        svg = series_figure(record.time, columns, [*columns_by_name], unit, _time_unit(record))
        hidden_count = len(cables) - len(columns_by_name)
        remark = f"; {plural(hidden_count, 'further cable')} not drawn" if hidden_count else ""
        yield html.figure(svg, f"{data.capitalize()} of the cables{remark}")


def _stresses(record: Record) -> Iterator[str]:
    """Yield a figure of the largest von Mises stress of each body over time."""
    try:
        bodies = [body for body in geometry_in(record).bodies if body.material is not None]
    except RecordError:
        return
    interval = -(-len(record.time) // STRESS_STEPS)
    columns = []
    for body in bodies[: len(PALETTE)]:
        steps = record.channels[f"{body.name}.position"][::interval]
        stresses = [
            float(body.cell_values(positions[:, :3])["von_mises"].max())
            if np.isfinite(positions).all()
            else np.nan
            for positions in steps
        ]
        columns.append(stresses)
    if columns:
        names, table = [body.name for body in bodies], np.array(columns).T
        unit, times = _unit(record, "pressure"), record.time[::interval]
        svg = series_figure(times, table, names[: len(columns)], unit, _time_unit(record))
        owner = names[0] if len(names) == 1 else "each body"
        remark = "" if interval == 1 else f", in every {interval}th step"
        yield html.figure(svg, f"Largest von Mises stress of {owner}{remark}")


def _channels(record: Record) -> str:
    rows = []
    for name, values in record.channels.items():
        if values.dtype.kind == "U" or not values.size:
            continue
        last = values[-1].ravel()
        end = f"{last[0]:.5g}" if len(last) == 1 else f"{plural(len(last), 'number')}"
        finite = values[np.isfinite(values)]
        low, high = (f"{f(finite):.5g}" if finite.size else "–" for f in (np.min, np.max))
        rows.append([escape(name), escape(record.units[name]), low, high, end])
    if not rows:
        return ""
    body = html.table(["channel", "unit", "n:least", "n:greatest", "n:at the end"], rows)
    title = f"{plural(len(rows), 'channel')} of numbers"
    return html.section("What was recorded", html.details(title, body))


def _parameters(record: Record) -> str:
    rows = [
        [escape(key.removeprefix("parameter.")), escape(value)]
        for key, value in record.metadata.items()
        if key.startswith("parameter.")
    ]
    return html.section("Parameters of the scene", html.table(["name", "value"], rows)) * bool(rows)


def _provenance(record: Record) -> str:
    general = [(key, record.metadata[key]) for key in TEXTS if key in record.metadata]
    further = [
        (key, value)
        for key, value in record.metadata.items()
        if key not in TEXTS and not key.startswith("parameter.")
    ]
    rows = [[escape(key), escape(value)] for key, value in general + further]
    return html.section("What produced it", html.table(["", ""], rows)) * bool(rows)


def _is_drawn(record: Record, name: str) -> bool:
    """Return True for a channel of few numbers that change."""
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


def _time_unit(record: Record) -> str:
    return record.metadata.get("units", "").rpartition(", ")[2]


def _unit(record: Record, quantity: str) -> str:
    """Return the unit of a quantity, or "" if the scene declares no units."""
    units = record.metadata.get("units", "")
    return Units.parse(units).symbol(quantity) if units else ""
