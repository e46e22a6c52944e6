"""The command line: every command is a module of this folder, one function each."""

from __future__ import annotations

import io
import os
import sys

import typer

from sofa_softctl.cli.root import app
from sofa_softctl.errors import ParameterError, ReachError, SoftctlError, UsageError
from sofa_softctl.status import ExitStatus

__all__ = ["app", "main", "run_app"]


def main() -> None:
    """Run softctl; see `run_app`."""
    run_app(app)


def run_app(app: typer.Typer) -> None:
    """Run a command line, and exit with an `ExitStatus`, and a message on errors."""
    for name in ("stdout", "stderr"):  # a service may have none
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - as long as the process
    for stream in (sys.stdout, sys.stderr):  # a terminal without umlauts gets \xfc
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    _announce_compilation()
    status = _run(app)
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # `softctl components | head`: output is closed
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = ExitStatus.FAILED
    if "Sofa" in sys.modules:
        from sofa_softctl.runtime.bindings.modules import is_embedded

        if not is_embedded(sys.modules["Sofa"]):  # SOFA may abort when Python cleans up after it
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    sys.exit(status)


def _announce_compilation() -> None:
    """Announce the compilation of kernels, unless --quiet or --json is given."""
    if not {"-q", "--quiet", "--json"} & set(sys.argv):
        from sofa_softctl.base.kernels.compile_ahead import AHEAD
        from sofa_softctl.view.terminal.errors import show_compilation

        AHEAD.on_start = show_compilation


def _run(app: typer.Typer) -> int:
    try:
        app(standalone_mode=True)
    except SystemExit as call:
        return call.code if isinstance(call.code, int) else int(call.code is not None)
    except Exception as error:
        from sofa_softctl.plugins import user_frames
        from sofa_softctl.view.terminal import errors

        if isinstance(error, SoftctlError):
            errors.show_error(error)
        elif user_frames(error) or isinstance(error, SyntaxError):
            errors.show_users_error(error)
        else:
            errors.show_fault(error)
        if isinstance(error, ReachError):
            return ExitStatus.NOT_REACHED
        is_usage_error = isinstance(error, UsageError | ParameterError)
        return ExitStatus.USAGE if is_usage_error else ExitStatus.FAILED
    return ExitStatus.DONE
