"""Tables on terminals of any width, and in pipes, have all of their text."""

import io
import random
import re
from collections import Counter
from pathlib import Path

import pytest
from rich.console import Console

from sofa_softctl.view.terminal.table import PIPE_WIDTH, Table, make_console

ROOT = Path(__file__).parents[3] / "sofa_softctl"
FRAME = re.compile(r"[\s│┃┏┓┗┛┡┩╇┳┻━─┌┐└┘├┤┬┴┼╭╮╰╯]")


def printed(table, width):
    file = io.StringIO()
    Console(file=file, width=width).print(table)
    return file.getvalue()


def letters(text):
    return Counter(FRAME.sub("", text))


def random_table(seed):
    """A table with names of up to 60 letters and numbers of up to 12, and all of its text."""
    draw = random.Random(seed)
    table = Table(title="t" * draw.randint(0, 90), caption="c" * draw.randint(0, 90))
    count = draw.randint(1, 12)
    for k in range(count):
        is_number = k > 0 and draw.random() < 0.6
        table.add_column(f"h{k}" * draw.randint(1, 6), justify="right" if is_number else "left")
    for _ in range(draw.randint(1, 4)):
        table.add_row(*("n/" * draw.randint(1, 30) for _ in range(count)))
    heads = "".join(str(column.header) for column in table.columns)
    cells = "".join(cell for column in table.columns for cell in column.cells)
    return table, heads, f"{table.title}{table.caption}{cells}"


@pytest.mark.parametrize("width", [30, 80, PIPE_WIDTH])
@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_cut(seed, width):
    table, heads, text = random_table(seed)
    shown = printed(table, width)
    assert max(map(len, shown.splitlines())) <= width
    missing = letters(heads + text) - letters(shown)
    assert not missing and "…" not in shown


def test_a_grid_cuts_nothing():
    grid = Table.grid(padding=(0, 2))
    grid.add_row("path", "a/very/long/path/" * 9)
    assert letters(printed(grid, 40)) == letters("path" + "a/very/long/path/" * 9)


def test_numbers_are_not_broken():
    """A table whose numbers do not fit is a list."""
    table = Table("name", *[])
    for k in range(8):
        table.add_column(f"column {k}", justify="right")
    table.add_row("a long name of a body", *(f"{k}.234567e-05" for k in range(8)))
    shown = printed(table, 80)
    assert all(f"{k}.234567e-05" in shown for k in range(8)) and "┃" not in shown
    assert "┃" in printed(table, 200)


def test_names_are_whole_in_a_pipe(monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    table = Table("name", title="title " * 50)
    table.add_row("x" * 500)
    make_console().print(table)
    shown = capsys.readouterr().out
    assert "x" * 500 in shown and "title " * 49 in shown


def test_all_tables_are_of_this_kind():
    others = [
        path
        for path in ROOT.rglob("*.py")
        if "rich.table" in path.read_text() and path.name != "table.py"
    ]
    assert not others
