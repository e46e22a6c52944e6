"""What `--help` says: square brackets are markup there, and must not swallow words."""

from collections.abc import Iterator

from rich.text import Text
from typer.main import get_command

from sofa_softctl.cli.commands import COMMANDS, first_line
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


def test_the_table_of_commands_has_the_first_lines_of_their_help():
    commands = get_command(app).commands
    for name in COMMANDS.names():
        assert first_line(name) == (commands[name].help or "").partition("\n")[0], name


def test_the_help_imports_no_command(fresh):
    code = """
        import sys
        sys.argv = ["softctl", "--help"]
        import sofa_softctl.cli.app as app
        try:
            app.main()
        except SystemExit:
            print(sorted(name for name in sys.modules if name.startswith("sofa_softctl.cli.")))
    """
    assert (
        fresh(code).stdout.splitlines()[-1].count("sofa_softctl.cli.") == 3
    )  # app, commands, root
