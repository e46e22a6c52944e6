"""Notebooks of tutorial pages: `python -m tests.docs.notebook` writes them from the pages."""

import json
import re

from tests.docs.pages import DOCS, text

PAGES = ("tutorial/own-robot",)
"""Pages that are notebooks, too."""


def notebook(page):
    """A page as a notebook: a cell for each block of Python, and for the text between them."""
    cells = []
    for part in re.split(r"(```python\n.*?```\n)", text(page), flags=re.DOTALL):
        code = re.fullmatch(r"```python\n(.*?)\n```\n", part, re.DOTALL)
        source = (
            code[1]
            if code
            else part.replace(" This page [is a notebook](own-robot.ipynb) too.", "").strip()
        )
        if not source:
            continue
        cell = {
            "id": f"cell-{len(cells)}",
            "metadata": {},
            "source": source.splitlines(keepends=True),
        }
        of_code = {"cell_type": "code", "execution_count": None, "outputs": []}
        cells.append(cell | (of_code if code else {"cell_type": "markdown"}))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    book = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(book, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def file_of(page):
    """The file of a page's notebook."""
    return DOCS / f"{page}.ipynb"


if __name__ == "__main__":
    for page in PAGES:
        file_of(page).write_text(notebook(page))
