"""What `--help` says: square brackets are markup there, and must not swallow words."""

from collections.abc import Iterator

from rich.text import Text
from typer.main import get_command

from sofa_softctl.cli import app as _commands  # noqa: F401
from sofa_softctl.cli.root import app


def texts(command, name) -> Iterator[tuple[str, str]]:
    """Each text of a command and of those below it, with where it is."""
    yield name, command.help or ""
    yield name, command.epilog or ""
    for parameter in command.params:
        yield f"{name} {parameter.name}", getattr(parameter, "help", None) or ""
    for below, each in getattr(command, "commands", {}).items():
        yield from texts(each, f"{name} {below}")


def test_help_loses_nothing_in_square_brackets():
    """`[s]` alone is the tag of struck text."""
    for where, text in texts(get_command(app), "softctl"):
        assert Text.from_markup(text).plain == text.replace("\\[", "["), where
