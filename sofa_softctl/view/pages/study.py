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
from sofa_softctl.view.words import format_value, plural

PANEL_SIZE = (3.3, 2.35)
"""Width and height of a panel [inch]."""


def distribution_figure(name: str, values: np.ndarray) -> str:
    """Return a histogram of runs by the value of a measure, or "" for a single value."""
    column = measure_column(name, values)
    if column is None:
        return ""
    return svg(*PANEL_SIZE, lambda figure: plot_distribution(figure.subplots(), column))


def panel_figures(
    study: Results, parameters: list[Column], name: str, values: np.ndarray
) -> Iterator[tuple[str, str]]:
    """Yield figures of a measure over each parameter, then each pair, with captions."""
    failed, worst, scale = study.failed, worst_runs(study, values), color_scale(values)
    for column in parameters:

        def draw_one(figure: Figure, column: Column = column) -> None:
            axes = figure.subplots()
            plot_marginal(axes, column, values, failed, worst)
            axes.set_ylabel(name)

        yield svg(*PANEL_SIZE, draw_one), f"{name} over {column.name}"
    for i, below in enumerate(parameters):
        for across in parameters[:i]:

            def draw_two(figure: Figure, across: Column = across, below: Column = below) -> None:
                mesh = plot_pair(figure.subplots(), across, below, values, failed, scale)
                figure.colorbar(mesh, label=name)

            yield svg(*PANEL_SIZE, draw_two), f"{name} over {across.name} and {below.name}"


_ENDINGS = dict(
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


def findings_of(study: Results) -> list[tuple[str, str]]:
    """Return sentences with their level 'bad', 'look' or 'good'; failures first."""
    items = [*_endings(study), *_missing_runs(study), *_not_finite(study), *_origin(study)]
    return sorted(items, key=lambda finding: ORDER.index(finding[1]))


def _endings(study: Results) -> Iterator[tuple[str, str]]:
    for kind, count in study.counts().items():
        percent = f"{100.0 * count / len(study.rows):.3g} %"
        if kind in ("REACHED", OK):
            ending = "reached their goals" if kind == "REACHED" else _ENDINGS[OK]
            yield f"{plural(count, 'run')} {ending} ({percent}).", "good"
        elif kind in _ENDINGS:
            yield f"{kind}: {plural(count, 'run')} {_ENDINGS[kind]} ({percent}).", "bad"
        else:
            yield f"{kind}: {plural(count, 'run')} did not reach their goals ({percent}).", "bad"


def _missing_runs(study: Results) -> Iterator[tuple[str, str]]:
    missing = study.runs - len(study.rows)
    if missing > 0:
        yield f"{missing:,} of {study.runs:,} runs are not done yet.", "look"


def _not_finite(study: Results) -> Iterator[tuple[str, str]]:
    is_ok = np.array([status == OK for status in study.rows["status"].to_pylist()], dtype=bool)
    for name in study.number_columns:
        count = int((~np.isfinite(study.numbers(name)) & is_ok).sum())
        if count:
            yield f"{name} is missing or not finite in {plural(count, 'run')} that ended.", "look"


def _origin(study: Results) -> Iterator[tuple[str, str]]:
    for text in study.damaged:
        yield text, "look"
    states = {digest for digest in study.rows["digest"].to_pylist() if digest}
    if len(states) > 1:
        yield (
            f"Rows were made of {len(states)} different states of files and versions: compare the "
            "column digest.",
            "look",
        )
    for text in changes_since(study.path, study.about):
        yield f"Since the rows were made: {text}.", "look"


REASONS_MAX, EXAMPLES_MAX = 20, 5
"""Maximum number of listed reasons of failure, and of runs per reason."""
MOVIES_MAX, MOVIE_BYTES_MAX = 6, 6_000_000
"""Maximum number of movies, and of their bytes in total."""
MEASURES_MAX, OPEN_MAX = 12, 3
"""Maximum number of drawn measures, and of open ones among them."""
FIGURES_MAX, WORST_MAX = 36, 5
"""Maximum number of figures over parameters in total, and of listed runs per measure."""
ROWS_MAX, VALUES_MAX, TEXT_LENGTH_MAX = 200, 6, 60
"""Maximum number of rows of the table, of listed values, and of characters in a cell."""


def page(study: Results) -> str:
    """Return the text of the HTML file.

    Args:
        study: Results of the study, which may still run.
    """
    sections = [
        html.section("What was found", html.findings(findings_of(study))),
        _failures(study),
        _movies(study),
        *_measures(study),
        _texts(study),
        _rows(study),
        _parameters(study),
        _study(study),
        _provenance(study),
    ]
    return html.page(f"Study {study.name}", _tiles(study), sections)


def _tiles(study: Results) -> str:
    seconds = study.numbers("seconds")
    finite = seconds[np.isfinite(seconds)]
    median = float(np.median(finite)) if finite.size else np.nan
    return html.tiles(
        [
            (f"{len(study.rows):,}", f"of {study.runs:,} runs are done"),
            (f"{int(study.failed.sum()):,}", "failed, or did not reach their goals"),
            (f"{median:.3g} s" if np.isfinite(median) else "–", "computing time of a run, median"),
            (escape(_version(study)), "version of softctl"),
        ]
    )


def _failures(study: Results) -> str:
    reasons = study.reasons()
    if not reasons:
        return ""
    folder = shlex.quote(str(study.path))
    rows = []
    for status, line, runs in reasons[:REASONS_MAX]:
        examples = ", ".join(map(str, runs[:EXAMPLES_MAX])) + ", …" * (len(runs) > EXAMPLES_MAX)
        command = f"softctl batch rerun {folder} {runs[0]} --movie"
        details = _details(study.row(str(runs[0])))
        cells = [escape(status), f"{len(runs):,}", f"{_cut(line, 300)}{details}", examples]
        rows.append([*cells, f"<code>{escape(command)}</code>"])
    further = plural(len(reasons) - REASONS_MAX, "further reason")
    note = "Reasons that differ only in numbers count as one."
    note += f" {further}: softctl batch show --failures." if len(reasons) > REASONS_MAX else ""
    heads = ["status", "n:runs", "reason", "such as", "again"]
    return html.section("Failures", html.table(heads, rows), note)


def _details(row: dict[str, Any]) -> str:
    """Return output and traceback of a run that failed, to open at a click."""
    texts = [row[name].rstrip() for name in ("output", "traceback") if row.get(name)]
    if not texts:
        return ""
    body = "".join(f"<pre>{escape(text[-2000:])}</pre>" for text in texts)
    return html.details(f"Output and traceback of run {row['index']}", body)


def _movies(study: Results) -> str:
    """Return the movies of failures in the folder."""
    figures: list[str] = []
    hidden_count = size = 0
    if not (study.path / "movies").is_dir():
        return ""
    for row in study.pick(np.flatnonzero(study.failed)):
        file = study.path / "movies" / f"{row['run']}.gif"
        if not file.is_file():
            continue
        size += file.stat().st_size
        if len(figures) == MOVIES_MAX or size > MOVIE_BYTES_MAX:
            hidden_count += 1
            continue
        data = base64.b64encode(file.read_bytes()).decode()
        values = ", ".join(f"{name} = {format_value(row[name])}" for name in study.parameters)
        caption = f"Run {row['index']}, {_ending_of(row)}: {values}"
        figures.append(
            f'<figure><img alt="run {row["index"]}" src="data:image/gif;base64,{data}">'
            f"<figcaption>{escape(caption)}</figcaption></figure>"
        )
    note = f"{plural(hidden_count, 'further movie')} in the folder movies." if hidden_count else ""
    body = f'<div class="pictures">{"".join(figures)}</div>'
    return html.section("Movies of failures", body, note) if figures or hidden_count else ""


def _measures(study: Results) -> list[str]:
    """Return a section for each measure."""
    columns = study.number_columns
    if not len(study.rows) or not columns:
        return []
    parameters, figures_left = parameter_columns(study)[:COLUMNS_MAX], FIGURES_MAX
    sections = []
    for number, name in enumerate(columns[:MEASURES_MAX]):
        values, _ = measure_values(study, name)
        panels = list(islice(panel_figures(study, parameters, name, values), max(figures_left, 0)))
        figures_left -= len(panels)
        figures = [(distribution_figure(name, values), f"Distribution of {name}"), *panels]
        texts = "".join(html.figure(text, caption) for text, caption in figures if text)
        body = _numbers(values) + _worst(study, name, values)
        pictures = f'<div class="panels">{texts}</div>' * bool(texts)
        body += pictures if number < OPEN_MAX else html.details("Figures", pictures) * bool(texts)
        sections.append(html.section(escape(name), body))
    if len(columns) > MEASURES_MAX or figures_left <= 0:
        text = "Further figures: softctl batch plot FOLDER --to FILE.png --measure COLUMN."
        sections.append(html.section("Not drawn", f"<p>{text}</p>"))
    return sections


def _numbers(values: np.ndarray) -> str:
    finite = values[np.isfinite(values)]
    quantiles = np.percentile(finite, [0.0, 5.0, 50.0, 95.0, 100.0]) if finite.size else []
    cells = [f"{finite.size:,}", *(f"{value:.5g}" for value in quantiles)]
    heads = ["n:runs", "n:least", "n:5 %", "n:median", "n:95 %", "n:greatest"]
    return html.table(heads[: len(cells)], [cells])


def _worst(study: Results, name: str, values: np.ndarray) -> str:
    worst = greatest(values, WORST_MAX)
    rows = [
        [str(row["index"]), escape(_ending_of(row)), f"{values[k]:.5g}", *_cells(study, row)]
        for k, row in zip(worst, study.pick(worst), strict=True)
    ]
    heads = ["n:run", "ended", f"n:{name}", *study.parameters]
    return f"<h3>Greatest values</h3>{html.table(heads, rows)}" * bool(rows)


def _texts(study: Results) -> str:
    """Return a table of the numbers of runs by the values of measures that are texts."""
    rows = []
    for name in study.measures:
        if str(study.rows.schema.field(name).type) != "string":
            continue
        counts = study.rows[name].drop_null().value_counts().to_pylist()
        counts.sort(key=lambda pair: -pair["counts"])
        shown = [f"{_cut(pair['values'])}: {pair['counts']:,}" for pair in counts[:VALUES_MAX]]
        remark = [f"and {len(counts) - VALUES_MAX:,} more"] * (len(counts) > VALUES_MAX)
        rows.append([escape(name), ", ".join([*shown, *remark])])
    return html.section("Texts", html.table(["measure", "values"], rows)) * bool(rows)


def _rows(study: Results) -> str:
    """Return a table of the first rows, failures first."""
    failed = study.failed
    indices = [*np.flatnonzero(failed)[:ROWS_MAX], *np.flatnonzero(~failed)[:ROWS_MAX]][:ROWS_MAX]
    if not indices:
        return ""
    rows = [
        [
            str(row["index"]),
            escape(row["run"]),
            escape(_ending_of(row)),
            *_cells(study, row),
            *(_cut(format_value(row[name])) for name in study.measures),
            _cut((row["reason"] or "").partition("\n")[0]),
        ]
        for row in study.pick(np.array(indices))
    ]
    heads = ["n:run", "name", "ended", *study.parameters, *study.measures, "reason"]
    count = len(study.rows) - len(rows)
    note = f"Failures first; {count:,} more in the folder rows." if count else "Failures first."
    body = html.details(plural(len(rows), "row"), html.table(heads, rows))
    return html.section("Rows", body, note)


def _parameters(study: Results) -> str:
    rows = []
    for name in study.parameters:
        counts = study.rows[name].drop_null()
        values = counts.to_pylist()
        different = list(dict.fromkeys(map(format_value, values)))
        text = ", ".join(map(_cut, different[:VALUES_MAX]))
        if len(different) > VALUES_MAX:
            ends = f"{format_value(min(values))} to {format_value(max(values))}: "
            text = ("" if isinstance(values[0], list) else escape(ends)) + text + ", …"
        rows.append([escape(name), f"{len(different):,}", text])
    heads = ["parameter", "n:values", ""]
    return html.section("Parameters", html.table(heads, rows)) * bool(rows)


def _study(study: Results) -> str:
    file = study.path / "study.toml"
    if not file.is_file():
        return ""
    text = file.read_text(encoding="utf-8", errors="replace")
    return html.section("The study", html.details("study.toml", f"<pre>{escape(text)}</pre>"))


def _provenance(study: Results) -> str:
    about = study.about
    rows = [["scene", escape(str(about.get("scene", "")))]]
    rows += [[escape(str(k)), escape(str(v))] for k, v in about.get("versions", {}).items()]
    rows.append(["digest of the package", escape(str(about.get("package", ""))[:16])])
    files = [[escape(p), escape(d[:16])] for p, d in about.get("sources", {}).items()]
    body = html.table(["", ""], rows)
    if files:
        names = html.table(["file that runs read", "digest"], files)
        body += html.details(plural(len(files), "file"), names)
    return html.section("What produced it", body)


def _version(study: Results) -> str:
    versions = study.about.get("versions", {})
    return str(next((v for k, v in versions.items() if "softctl" in k), "–"))


def _ending_of(row: dict[str, Any]) -> str:
    """Return the status of a run, or its verdict if the status is OK."""
    return str(row["status"] if row["status"] != OK else row["verdict"] or OK)


def _cells(study: Results, row: dict[str, Any]) -> Sequence[str]:
    return [_cut(format_value(row[name])) for name in study.parameters if name not in OWN]


def _cut(text: str, length_max: int = TEXT_LENGTH_MAX) -> str:
    """Return a text for HTML, cut if it is long."""
    return escape(text if len(text) <= length_max else f"{text[: length_max - 1]}…")
