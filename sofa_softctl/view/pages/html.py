"""Building blocks of self-contained HTML pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
:root { color-scheme: light dark; --ink: #1f272e; --soft: #5b6570; --line: #e3e8ed;
  --edge: #b8c0c8; --good: #12805c; --look: #a86200; --bad: #c22f1f; --card: #fff; --page: #f4f6f8;
  --blue: #0072b2; --orange: #d55e00; --data: #3a424a; --wash: #fdf0ee; --gray: #4d4d4d; }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #e2e7ec; --soft: #a3adb8; --line: #2c343d; --edge: #55606b; --good: #2fa57c;
    --look: #c98a2b; --bad: #e2604f; --card: #181d23; --page: #101418; --blue: #58b0e6;
    --orange: #f08a3c; --data: #c3ccd5; --wash: #2b1b1b; --gray: #b0b0b0; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 980px; margin: 0 auto; padding: 36px 20px 64px; }
h1 { font-size: 26px; margin: 0 0 2px; letter-spacing: -.01em; }
h2 { font-size: 17px; margin: 0 0 4px; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 20px 24px; margin-top: 18px; }
p { margin: 4px 0 10px; max-width: 76ch; } .soft { color: var(--soft); font-size: 13.5px; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th { text-align: left; font-weight: 600; color: var(--soft); font-size: 12.5px; }
th, td { padding: 6px 10px 6px 0; border-bottom: 1px solid var(--line); vertical-align: middle; }
tr:last-child td { border-bottom: 0; }
td.n + td:not(.n), th.n + th:not(.n) { padding-left: 8px; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.scroll { overflow-x: auto; }
ul.found { list-style: none; margin: 8px 0 0; padding: 0; }
ul.found li { padding: 7px 0 7px 30px; position: relative; border-top: 1px solid var(--line); }
ul.found li:first-child { border-top: 0; }
ul.found li::before { position: absolute; left: 0; top: 9px; width: 19px; height: 19px;
  border-radius: 50%; color: #fff; font-size: 12px; line-height: 19px; text-align: center; }
li.good::before { content: "\\2713"; background: var(--good); }
li.look::before { content: "!"; background: var(--look); }
li.bad::before { content: "\\00d7"; background: var(--bad); }
.doubted { border: 2px solid var(--bad); border-radius: 8px; padding: 8px 14px 4px;
  background: var(--wash); margin: 10px 0; }
.doubted .why { margin: 0 0 6px; max-width: none; } .doubted .why b { color: var(--bad); }
.doubt { color: var(--bad); } .doubted .range .bar, .doubted .range circle { opacity: .45; }
.range { width: 190px; height: 16px; display: block; }
.range .axis { stroke: var(--line); stroke-width: 2; } .range .bar { fill: var(--blue); }
.range .start { stroke: var(--soft); stroke-width: 1.5; }
.range circle { fill: var(--card); stroke: var(--blue); stroke-width: 2; }
figure { margin: 12px 0 4px; overflow-x: auto; }
figure svg { width: 100%; height: auto; display: block; } svg text { fill: var(--ink); }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(240px, 1fr)); gap: 14px; }
.pictures img { width: 100%; display: block; border-radius: 6px; }
.panels { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(270px, 100%), 1fr));
  gap: 6px 14px; }
h3 { font-size: 13.5px; margin: 14px 0 2px; } code, pre { font-size: 12.5px; }
pre { overflow-x: auto; background: var(--page); padding: 10px; border-radius: 6px; }
td pre { max-width: 60ch; } td code { white-space: nowrap; }
figcaption { color: var(--soft); font-size: 13px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 14px;
  margin-top: 16px; }
.tile b { display: block; font-size: 20px; font-weight: 600; }
.tile span { color: var(--soft); font-size: 12.5px; }
details { margin-top: 10px; } summary { cursor: pointer; color: var(--blue); font-size: 14px; }
@media (max-width: 640px) { main { padding: 20px 10px 40px; } section { padding: 14px 12px; }
  figure.wide svg { min-width: 640px; } }
@media print { body { background: #fff; font-size: 12px; } main { max-width: none; padding: 0; }
  section { border: 0; padding: 8px 0; } figure, tr, .tile { break-inside: avoid; }
  h2 { break-after: avoid; } * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""


def page(title: str, head: str, sections: Iterable[str]) -> str:
    """Return the text of a self-contained HTML file.

    Args:
        title: Title as plain text.
        head: HTML below the title, such as `tiles`.
        sections: HTML of the cards; empty ones are left out.
    """
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{escape(title)}</h1>\n{head}\n"
        + "\n".join(filter(None, sections))
        + "\n</main>\n</body>\n</html>\n"
    )


def tiles(values: Iterable[tuple[str, str]]) -> str:
    """Return large numbers side by side, each with its meaning below it."""
    cells = "".join(f'<div class="tile"><b>{a}</b><span>{b}</span></div>' for a, b in values)
    return f'<div class="tiles">{cells}</div>'


def findings(items: Iterable[tuple[str, str]]) -> str:
    """Return sentences as a list, marked by their level 'bad', 'look' or 'good'."""
    lines = "".join(f'<li class="{level}">{escape(text)}</li>' for text, level in items)
    return f'<ul class="found">{lines}</ul>'


def section(title: str, body: str, note: str = "") -> str:
    """Return a card with a title, and a smaller note below it."""
    text = f'<p class="soft">{note}</p>' if note else ""
    return f"<section>\n<h2>{title}</h2>\n{text}{body}\n</section>"


def note(text: str) -> str:
    """Return a smaller paragraph of HTML."""
    return f'<p class="soft">{text}</p>'


def details(summary: str, body: str) -> str:
    """Return a section that opens at a click."""
    return f"<details><summary>{escape(summary)}</summary>{body}</details>"


def figure(svg: str, caption: str, *, wide: bool = False) -> str:
    """Return a drawing with a caption; narrow screens scroll a wide one instead of shrinking it."""
    text = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    kind = ' class="wide"' if wide else ""
    return f"<figure{kind}>{svg}{text}</figure>"


def mark_untrusted(number: str) -> str:
    """Return a number, marked as not to be trusted."""
    return f'<span class="doubt" title="not to be trusted">\u2717\u202f{number}</span>'


def table(heads: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; heads of columns with numbers begin with 'n:'."""
    heads = list(heads)
    kinds = [' class="n"' if head.startswith("n:") else "" for head in heads]
    top = "".join(
        f"<th{kind}>{escape(head.removeprefix('n:'))}</th>"
        for head, kind in zip(heads, kinds, strict=True)
    )
    body = "".join(
        "<tr>" + "".join(f"<td{k}>{c}</td>" for c, k in zip(row, kinds, strict=True)) + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><tr>{top}</tr>{body}</table></div>'
