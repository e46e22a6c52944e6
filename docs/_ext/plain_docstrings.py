"""Docstrings of this package for autodoc: Google style in plain text, not reStructuredText.

What reStructuredText would read as markup (`*`, `|`, a trailing `_`) is escaped, indented blocks
and trees of lines are shown as they are, and sections such as Args become lists, as napoleon does
it. Attributes have no sections: napoleon would take "Weight: of each term" for a type.
"""

import re
import textwrap
from collections.abc import Iterator
from typing import Any

from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config, GoogleDocstring

MARKUP = re.compile(r"`[^`]+`|[*|\\]|_(?=\W|$)")
"""Text in backticks, which stays as it is, or a sign that gets a backslash."""
SECTION = re.compile(r"(Args|Returns|Raises|Yields|Data|Example|Examples|Note):")
"""First words of a section: what is indented below it is no drawing."""
SOURCE = re.compile(r"(^Source:.*\n)((?: +.+\n?)+)", re.MULTILINE)
"""The line of a source, and the indented lines that it goes on in."""


def plain(lines: list[str]) -> Iterator[str]:
    """The lines of a docstring, with drawings as literal blocks and without accidental markup."""
    text = SOURCE.sub(lambda found: found[1] + textwrap.dedent(found[2]), "\n".join(lines))
    lines = text.split("\n")
    before, literal = "", False
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if not line.strip():
            yield line
            continue
        indent = len(line) - len(line.lstrip())
        drawn = literal if indent else False
        if not drawn:
            drawn = _is_drawn(line, after) or (indent > 0 and _stands_alone(before))
        if drawn and not literal:
            yield from ("", "::", "")
        literal, before = drawn, line
        yield (line if indent else f"    {line}") if drawn else MARKUP.sub(_escaped, line)


def _is_drawn(line: str, after: str) -> bool:
    """Whether a line belongs to a tree of lines."""
    return line[:1] in "├└│" or after[:1] in ("├", "└", "│")


def _stands_alone(before: str) -> bool:
    """Whether what is indented below a line belongs to no section of the docstring."""
    return not (before.startswith(" ") or SECTION.match(before))


def _escaped(found: re.Match[str]) -> str:
    text = found.group()
    return text if text.startswith("`") else f"\\{text}"


def process(sphinx: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """A docstring as autodoc takes it; `lines` is changed in place."""
    lines[:] = plain(lines)
    if what in ("class", "exception", "function", "method", "module"):
        config = Config(napoleon_custom_sections=[("Data", "params_style")])
        lines[:] = GoogleDocstring(lines, config, sphinx, what, name, obj, options).lines()


def skip(sphinx: Sphinx, what: str, name: str, obj: Any, skipped: bool, options: Any) -> bool:
    """Leave out event methods, and what the base class of components writes down of each class."""
    del sphinx, what, obj, options
    return skipped or bool(re.match(r"on[A-Z]", name)) or name in INTERNAL


INTERNAL = ("data_names", "data_types", "link_types", "recorded", "recorded_contacts")


def setup(sphinx: Sphinx) -> dict[str, bool]:
    """Join autodoc."""
    sphinx.connect("autodoc-process-docstring", process)
    sphinx.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True}
