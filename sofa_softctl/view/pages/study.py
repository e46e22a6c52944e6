"""Page of a study."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Iterator, Sequence
from html import escape
from itertools import islice
from typing import Any

import numpy as np

from sofa_softctl.base.axes import Figure
from sofa_softctl.batch.study.row import OK, OWN, STATUSES
from sofa_softctl.batch.table.folder import changes_since
from sofa_softctl.batch.table.results import Results
from sofa_softctl.view.pages import html
from sofa_softctl.view.pages.run import ORDER
from sofa_softctl.view.pages.svg import svg
from sofa_softctl.view.plots.batch import (
    COLUMNS_MAX,
    Column,
    greatest,
    measure_column,
    measure_values,
    parameter_columns,
    worst_runs,
)
from sofa_softctl.view.plots.batch_panels import (
    color_scale,
    plot_distribution,
    plot_marginal,
    plot_pair,
)
from sofa_softctl.view.words import counted, plain

SIZE = (3.3, 2.35)
"""Of a panel [inch]."""


def distribution_figure(name: str, values: np.ndarray) -> str:
    """Runs by the value of a measure; empty: all have the same."""
    column = measure_column(name, values)
    if column is None:
        return ""
    return svg(*SIZE, lambda figure: plot_distribution(figure.subplots(), column))


def panel_figures(
    found: Results, parameters: list[Column], name: str, values: np.ndarray
) -> Iterator[tuple[str, str]]:
    """A measure over each parameter, then over each pair of them, with captions."""
    failed, worst, scale = found.failed, worst_runs(found, values), color_scale(values)
    for column in parameters:

        def draw_one(figure: Figure, column: Column = column) -> None:
            axes = figure.subplots()
            plot_marginal(axes, column, values, failed, worst)
            axes.set_ylabel(name)

        yield svg(*SIZE, draw_one), f"{name} over {column.name}"
    for i, below in enumerate(parameters):
        for across in parameters[:i]:

            def draw_two(figure: Figure, across: Column = across, below: Column = below) -> None:
                drawn = plot_pair(figure.subplots(), across, below, values, failed, scale)
                figure.colorbar(drawn, label=name)

            yield svg(*SIZE, draw_two), f"{name} over {across.name} and {below.name}"


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


REASONS = 20
"""Reasons of failure that are listed."""
EXAMPLES = 5
"""Runs that are named for each."""
MOVIES, MOVIE_BYTES = 6, 6_000_000
"""Movies that are shown, and their size in all [bytes]."""
MEASURES, OPEN = 12, 3
"""Measures that are drawn, and of these not folded."""
FIGURES = 36
"""Figures over parameters, of all measures together."""
WORST = 5
"""Runs that are listed for each measure."""
ROWS = 200
"""Rows of the table."""
VALUES = 6
"""Values of a parameter or of a text that are listed."""
LONGEST = 60
"""Of a text in a cell [characters]."""


def page(found: Results) -> str:
    """The text of the HTML file.

    Args:
        found: The study; one that still runs is reported as far as it is.
    """
    sections = [
        html.section("What was found", html.findings(findings_of(found))),
        _failures(found),
        _movies(found),
        *_measures(found),
        _texts(found),
        _rows(found),
        _parameters(found),
        _study(found),
        _produced(found),
    ]
    return html.page(f"Study {found.name}", _tiles(found), sections)


def _tiles(found: Results) -> str:
    seconds = found.numbers("seconds")
    known = seconds[np.isfinite(seconds)]
    each = float(np.median(known)) if known.size else np.nan
    return html.tiles(
        [
            (f"{len(found.rows):,}", f"of {found.runs:,} runs are done"),
            (f"{int(found.failed.sum()):,}", "failed, or did not reach their goals"),
            (f"{each:.3g} s" if np.isfinite(each) else "–", "computing time of a run, median"),
            (escape(_version(found)), "version of softctl"),
        ]
    )


def _failures(found: Results) -> str:
    reasons = found.reasons()
    if not reasons:
        return ""
    folder = shlex.quote(str(found.path))
    rows = []
    for status, line, runs in reasons[:REASONS]:
        named = ", ".join(map(str, runs[:EXAMPLES])) + ", …" * (len(runs) > EXAMPLES)
        again = f"softctl batch rerun {folder} {runs[0]} --movie"
        details = _details(found.row(str(runs[0])))
        cells = [escape(status), f"{len(runs):,}", f"{_cut(line, 300)}{details}", named]
        rows.append([*cells, f"<code>{escape(again)}</code>"])
    more = counted(len(reasons) - REASONS, "further reason")
    note = "Reasons that differ in numbers alone count as one."
    note += f" {more}: softctl batch show --failures." if len(reasons) > REASONS else ""
    heads = ["status", "n:runs", "reason", "such as", "again"]
    return html.section("Failures", html.table(heads, rows), note)


def _details(row: dict[str, Any]) -> str:
    """Parameters of a run that failed, its output and traceback, folded."""
    texts = [row[name].rstrip() for name in ("output", "traceback") if row.get(name)]
    if not texts:
        return ""
    body = "".join(f"<pre>{escape(text[-2000:])}</pre>" for text in texts)
    return html.folded(f"Output and traceback of run {row['index']}", body)


def _movies(found: Results) -> str:
    """Movies of failures that lie in the folder."""
    shown: list[str] = []
    left = size = 0
    if not (found.path / "movies").is_dir():
        return ""
    for row in found.pick(np.flatnonzero(found.failed)):
        file = found.path / "movies" / f"{row['run']}.gif"
        if not file.is_file():
            continue
        size += file.stat().st_size
        if len(shown) == MOVIES or size > MOVIE_BYTES:
            left += 1
            continue
        data = base64.b64encode(file.read_bytes()).decode()
        values = ", ".join(f"{name} = {plain(row[name])}" for name in found.parameters)
        told = f"Run {row['index']}, {_ended(row)}: {values}"
        shown.append(
            f'<figure><img alt="run {row["index"]}" src="data:image/gif;base64,{data}">'
            f"<figcaption>{escape(told)}</figcaption></figure>"
        )
    note = f"{counted(left, 'further movie')} in the folder movies." if left else ""
    body = f'<div class="pictures">{"".join(shown)}</div>'
    return html.section("Movies of failures", body, note) if shown or left else ""


def _measures(found: Results) -> list[str]:
    """A section for each measure."""
    columns = found.number_columns
    if not len(found.rows) or not columns:
        return []
    parameters, left = parameter_columns(found)[:COLUMNS_MAX], FIGURES
    sections = []
    for number, name in enumerate(columns[:MEASURES]):
        values, _ = measure_values(found, name)
        panels = list(islice(panel_figures(found, parameters, name, values), max(left, 0)))
        left -= len(panels)
        figures = [(distribution_figure(name, values), f"Distribution of {name}"), *panels]
        drawn = "".join(html.figure(text, caption) for text, caption in figures if text)
        body = _numbers(values) + _worst(found, name, values)
        pictures = f'<div class="panels">{drawn}</div>' * bool(drawn)
        body += pictures if number < OPEN else html.folded("Figures", pictures) * bool(drawn)
        sections.append(html.section(escape(name), body))
    if len(columns) > MEASURES or left <= 0:
        text = "Further figures: softctl batch plot FOLDER --to FILE.png --measure COLUMN."
        sections.append(html.section("Not drawn", f"<p>{text}</p>"))
    return sections


def _numbers(values: np.ndarray) -> str:
    known = values[np.isfinite(values)]
    shown = np.percentile(known, [0.0, 5.0, 50.0, 95.0, 100.0]) if known.size else []
    cells = [f"{known.size:,}", *(f"{value:.5g}" for value in shown)]
    heads = ["n:runs", "n:least", "n:5 %", "n:median", "n:95 %", "n:greatest"]
    return html.table(heads[: len(cells)], [cells])


def _worst(found: Results, name: str, values: np.ndarray) -> str:
    places = greatest(values, WORST)
    rows = [
        [str(row["index"]), escape(_ended(row)), f"{values[place]:.5g}", *_cells(found, row)]
        for place, row in zip(places, found.pick(places), strict=True)
    ]
    heads = ["n:run", "ended", f"n:{name}", *found.parameters]
    return f"<h3>Greatest values</h3>{html.table(heads, rows)}" * bool(rows)


def _texts(found: Results) -> str:
    """Measures that are texts: how often there is which."""
    rows = []
    for name in found.measures:
        if str(found.rows.schema.field(name).type) != "string":
            continue
        counts = found.rows[name].drop_null().value_counts().to_pylist()
        counts.sort(key=lambda each: -each["counts"])
        shown = [f"{_cut(each['values'])}: {each['counts']:,}" for each in counts[:VALUES]]
        more = [f"and {len(counts) - VALUES:,} more"] * (len(counts) > VALUES)
        rows.append([escape(name), ", ".join([*shown, *more])])
    return html.section("Texts", html.table(["measure", "values"], rows)) * bool(rows)


def _rows(found: Results) -> str:
    """The first rows, failures first."""
    failed = found.failed
    places = [*np.flatnonzero(failed)[:ROWS], *np.flatnonzero(~failed)[:ROWS]][:ROWS]
    if not places:
        return ""
    rows = [
        [
            str(row["index"]),
            escape(row["run"]),
            escape(_ended(row)),
            *_cells(found, row),
            *(_cut(plain(row[name])) for name in found.measures),
            _cut((row["reason"] or "").partition("\n")[0]),
        ]
        for row in found.pick(np.array(places))
    ]
    heads = ["n:run", "name", "ended", *found.parameters, *found.measures, "reason"]
    left = len(found.rows) - len(rows)
    note = f"Failures first; {left:,} more in the folder rows." if left else "Failures first."
    body = html.folded(counted(len(rows), "row"), html.table(heads, rows))
    return html.section("Rows", body, note)


def _parameters(found: Results) -> str:
    rows = []
    for name in found.parameters:
        counts = found.rows[name].drop_null()
        given = counts.to_pylist()
        different = list(dict.fromkeys(map(plain, given)))
        text = ", ".join(map(_cut, different[:VALUES]))
        if len(different) > VALUES:
            ends = f"{plain(min(given))} to {plain(max(given))}: "
            text = ("" if isinstance(given[0], list) else escape(ends)) + text + ", …"
        rows.append([escape(name), f"{len(different):,}", text])
    heads = ["parameter", "n:values", ""]
    return html.section("Parameters", html.table(heads, rows)) * bool(rows)


def _study(found: Results) -> str:
    file = found.path / "study.toml"
    if not file.is_file():
        return ""
    text = file.read_text(encoding="utf-8", errors="replace")
    return html.section("The study", html.folded("study.toml", f"<pre>{escape(text)}</pre>"))


def _produced(found: Results) -> str:
    about = found.about
    rows = [["scene", escape(str(about.get("scene", "")))]]
    rows += [[escape(str(k)), escape(str(v))] for k, v in about.get("versions", {}).items()]
    rows.append(["digest of the package", escape(str(about.get("package", ""))[:16])])
    files = [[escape(p), escape(d[:16])] for p, d in about.get("sources", {}).items()]
    body = html.table(["", ""], rows)
    if files:
        names = html.table(["file that runs read", "digest"], files)
        body += html.folded(counted(len(files), "file"), names)
    return html.section("What produced it", body)


def _version(found: Results) -> str:
    versions = found.about.get("versions", {})
    return str(next((v for k, v in versions.items() if "softctl" in k), "–"))


def _ended(row: dict[str, Any]) -> str:
    """Status of a run, or its verdict where that says more."""
    return str(row["status"] if row["status"] != OK else row["verdict"] or OK)


def _cells(found: Results, row: dict[str, Any]) -> Sequence[str]:
    return [_cut(plain(row[name])) for name in found.parameters if name not in OWN]


def _cut(text: str, longest: int = LONGEST) -> str:
    """A text for HTML, cut where it is long."""
    return escape(text if len(text) <= longest else f"{text[: longest - 1]}…")
