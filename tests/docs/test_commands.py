"""Every command that a page shows is one that there is, with the options that it has."""

import re
import shlex

import pytest
import typer

from sofa_softctl.cli.app import app
from tests.docs.pages import DOCS, PAGES, ROOT, command_lines

ROOT_COMMAND = typer.main.get_command(app)


def resolved(words):
    """The command of some words, and the words that are its arguments."""
    command, rest = ROOT_COMMAND, list(words)
    while rest and rest[0] in getattr(command, "commands", {}):
        command = command.commands[rest.pop(0)]
    return command, rest


def leaves(command=ROOT_COMMAND, words=("softctl",)):
    """Every command, in words."""
    for name, one in getattr(command, "commands", {}).items():
        yield from leaves(one, (*words, name))
    if not hasattr(command, "commands"):
        yield " ".join(words)


@pytest.mark.parametrize("line", sorted({line for path in PAGES for line in command_lines(path)}))
def test_a_command_of_a_page_can_be_parsed(line):
    command, rest = resolved(shlex.split(line, comments=True)[1:])
    assert not hasattr(command, "commands"), f"no such command: {line}"
    with command.make_context("softctl", rest):
        pass


def test_an_unknown_option_would_be_seen():
    command, rest = resolved(["bench", "scenes", "scenes/trunk.py", "--nothing"])
    with pytest.raises(Exception, match="No such option: --nothing"):
        command.make_context("softctl", rest)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_in_the_text_of_a_page_are_there(path):
    for words in re.findall(r"`softctl (?!device process:)((?:[a-z]+ ?)+)", path.read_text()):
        command, rest = resolved(words.split())
        assert command is not ROOT_COMMAND, words
        assert not (rest and hasattr(command, "commands")), words


@pytest.mark.parametrize("name", [*ROOT_COMMAND.commands])
def test_every_command_is_in_the_readme(name):
    assert f"softctl {name}" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("leaf", [*leaves()])
def test_every_command_is_on_its_page(leaf):
    page = (DOCS / "reference" / "command-line.md").read_text()
    *group, name = leaf.split()
    assert f"`{leaf}`" in page or re.search(rf"`{' '.join(group)}`.*`{name}`", page)
    assert "{command-help}" in page
