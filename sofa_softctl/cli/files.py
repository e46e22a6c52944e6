"""Arguments that name files and scenes, checked before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from sofa_softctl.base.files import check_writable
from sofa_softctl.base.processes import TerminationSignal
from sofa_softctl.cli.options import parameters
from sofa_softctl.errors import SceneError, SoftctlError, UsageError
from sofa_softctl.plugins import user_frames


def check_outputs(
    *,
    reads: Sequence[Path] = (),
    plot: Path | None = None,
    movie: Path | None = None,
    out: Path | None = None,
    can_be_page: bool = False,
    **further: Path | None,
) -> None:
    """Refuse output files that could not be written when the work is done.

    Args:
        reads: Files that the command reads, and must not overwrite.
        plot: File of --plot.
        movie: File of --movie; its encoder must be installed.
        out: File of --out.
        can_be_page: Whether the movie may be a page, .html.
        further: Files of other options, by the option's name.

    Raises:
        UsageError: A suffix is invalid for its option, or a file is named twice.
        SoftctlError: A file cannot be written, or its writer is not installed.
    """
    files = {"plot": plot, "movie": movie, "out": out, **further}
    paths_by_option = {f"--{name}": path for name, path in files.items() if path is not None}
    if plot is not None:
        from sofa_softctl.view.plots.figure import check_suffix as check_plot

        check_name(check_plot, plot)
    if movie is not None:
        from sofa_softctl.view.browser import standalone
        from sofa_softctl.view.movie.movie import check_suffix as check_movie

        check_name(standalone.check_suffix if can_be_page else check_movie, movie)
    _check_distinct(reads, paths_by_option)
    for path in paths_by_option.values():
        check_writable(path)
    if movie is not None:
        standalone.check_writer(movie)


def check_name(check: Callable[[Path], None], path: Path) -> None:
    """Raise a UsageError instead of the SoftctlError of `check` for a file name."""
    try:
        check(path)
    except SoftctlError as error:
        raise UsageError(str(error)) from error


def _check_distinct(reads: Sequence[Path], paths_by_option: dict[str, Path]) -> None:
    uses = {path.resolve(): "which the command reads" for path in reads}
    for option, path in paths_by_option.items():
        resolved = path.resolve()
        if resolved in uses:
            raise UsageError(
                f"{option} would overwrite '{path}', {uses[resolved]}. Give each file its own name."
            )
        uses[resolved] = f"the file of {option}"


def load_plugins(files: list[Path] | None, backend: str) -> None:
    """Choose the backend, and load installed plugins and plugin files."""
    from sofa_softctl.plugins import load_files
    from sofa_softctl.scene.backend.backend import find_backend

    find_backend(backend)
    load_files(files or [])


def prepare(files: list[Path] | None, strict: bool) -> None:
    """Prepare a separate process before it opens a scene: load plugins, set strictness."""
    from sofa_softctl.plugins import load_files
    from sofa_softctl.scene.plausibility.strict import set_strict

    load_files(files or [])
    set_strict(strict)


@contextmanager
def exit_is_an_error(scene: Path) -> Iterator[None]:
    """Raise SceneError if a scene calls exit() in the block."""
    try:
        yield
    except SystemExit as ended:
        if isinstance(ended, TerminationSignal) or not user_frames(ended):
            raise  # by a signal; or of a library: standard output was closed
        error = SceneError(f"{scene} called exit({ended.code!r}). Raise an exception instead.")
        raise error.with_traceback(ended.__traceback__) from None


Addition = Callable[[Any], object]
"""Function called with the root of a scene before it is initialised."""


def chain_additions(*additions: Addition | None) -> Addition | None:
    """Return a function that calls all additions, or None without any."""
    calls = [addition for addition in additions if addition is not None]

    def add(root: Any) -> None:
        for addition in calls:
            addition(root)

    return add if calls else None


def key_addition(texts: list[str] | None) -> Addition | None:
    """Return the addition that presses the keys of `--key`.

    Raises:
        UsageError: A text is not a time and a key.
    """
    if not texts:
        return None
    from sofa_softctl.scene.control.keys import KeyPress, KeyPresses

    keys = [KeyPress.parse(text) for text in texts]
    return lambda root: root.addObject(KeyPresses(name="softctl_keys", root=root, keys=keys))


def unpressed_keys(session: Any) -> str:
    """Return a hint for a run without `--key` if a controller listens to keys, else ''."""
    from sofa_softctl.scene.graph.nodes import key_hearers

    names = [controller.getPathName() for controller in key_hearers(session.root)]
    if not names:
        return ""
    return f"{names[0]} hears keys. There is no window here: --key t=1.5:+ presses one."


def open_session(
    scene: Path,
    backend: str,
    values: list[str] | None,
    *,
    quiet: bool,
    add: Callable[[Any], object] | None = None,
) -> Any:
    """Open a session of a scene, and print its backend unless quiet."""
    from sofa_softctl.scene.backend.backend import find_backend
    from sofa_softctl.scene.session.session import Session

    chosen = find_backend(backend)
    if not quiet:
        typer.echo(f"Backend: {chosen.describe()}")
    elif chosen.note:
        typer.echo(chosen.note, err=True)
    return Session(scene, backend=backend, parameters=parameters(values), add=add)
