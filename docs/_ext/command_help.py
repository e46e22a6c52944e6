"""The directive `{command-help}`: a section for each command, with what its `--help` prints."""

from collections.abc import Iterator, Sequence
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from typer.testing import CliRunner

from sofa_softctl.cli.app import app

WIDTH = "84"
"""Columns of a help text."""


class CommandHelp(SphinxDirective):
    """`softctl` itself, then every command in the order of its help."""

    def run(self) -> Sequence[nodes.Node]:
        """One section for each command."""
        found = []
        for words in ((), *commands(typer.main.get_command(app))):
            title = f"softctl {' '.join(words)}".strip()
            section = nodes.section("", nodes.title("", title), ids=[title.replace(" ", "-")])
            section += nodes.literal_block("", help_text(words), language="text")
            found.append(section)
        return found


def commands(group: Any, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words after `softctl` of each command that is neither hidden nor deprecated."""
    for name, command in group.commands.items():
        if command.hidden or command.deprecated:
            continue
        words = (*before, name)
        if hasattr(command, "commands"):
            yield from commands(command, words)
        else:
            yield words


def help_text(words: Sequence[str]) -> str:
    """What `softctl WORDS --help` prints."""
    environment = {"COLUMNS": WIDTH, "TERMINAL_WIDTH": WIDTH, "NO_COLOR": "1", "TERM": "dumb"}
    done = CliRunner().invoke(app, [*words, "--help"], env=environment, prog_name="softctl")
    if done.exit_code:
        raise RuntimeError(f"softctl {' '.join(words)} --help ended with {done.exit_code}.")
    lines = [line.rstrip() for line in done.output.strip("\n").splitlines()]
    return "\n".join(lines).strip("\n")


def setup(sphinx: Sphinx) -> dict[str, bool]:
    """Make the directive known."""
    sphinx.add_directive("command-help", CommandHelp)
    return {"parallel_read_safe": True}
