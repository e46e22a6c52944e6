"""Notebooks of tutorials: they are their pages, and their cells run one after the other."""

import subprocess
import sys
from contextlib import chdir

import pytest

from tests.docs.notebook import PAGES, file_of, notebook
from tests.docs.pages import ROOT, run, text

CELLS = """
import ast, json, sys, types
main = sys.modules["__main__"] = types.ModuleType("__main__")  # as in a notebook, without a file
for cell in json.load(open(sys.argv[1]))["cells"]:
    if cell["cell_type"] == "code":
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "cell", "exec"), vars(main))
        if last is not None:
            shown = eval(compile(ast.Expression(last.value), "cell", "eval"), vars(main))
            methods = [name for name in dir(shown) if name.startswith("_repr_")]
            print("shown:", [name for name in methods if getattr(shown, name)()])
print(main.result)
"""
"""Runs the cells of a notebook; of each value that one ends with, the kinds that are shown."""


@pytest.mark.parametrize("page", PAGES)
def test_a_notebook_is_its_page(page):
    """`python -m tests.docs.notebook` writes it."""
    assert file_of(page).read_text() == notebook(page)


@pytest.mark.processes
def test_an_own_robot_is_simulated_and_seen_in_a_notebook(tmp_path):
    pytest.importorskip("pandas")
    command = [sys.executable, "-c", CELLS, file_of("tutorial/own-robot")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert not done.returncode, done.stderr
    assert "Verdict.REACHED [] []" in done.stdout
    reached = "Goal reached: 0.22 mm off at the end"
    assert (
        f'"{reached}"' in text("tutorial/own-robot").replace("\n", " ") and reached in done.stdout
    )
    for line in ("20 mm: REACHED", "40 mm: CLOSEST Goal not reached", "60 mm: CLOSEST"):
        assert line in done.stdout
    assert done.stdout.count("shown: ['_repr_png_']") == 2  # picture and plot
    assert done.stdout.count("'_repr_html_'") >= 3  # result, table, summary of the session


def test_the_page_on_python_shows_what_it_says(tmp_path):
    pytest.importorskip("pandas")
    (tmp_path / "scenes").symlink_to(ROOT / "scenes")
    with chdir(tmp_path):
        names = run("how-to/run-from-python")
    assert names["effort"].shape == (11, 1)
    assert names["picture"].pixels.shape == (600, 800, 3)
    assert names["more"].summary.steps == 20 and len(names["errors"]) == 3
    assert {path.name for path in tmp_path.iterdir()} == {
        *("scenes", "finger.png", "end.png", "finger.gif")
    }
