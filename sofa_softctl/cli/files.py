"""Check output files before the work, not after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from sofa_softctl.base.files import check_writable
from sofa_softctl.errors import SoftctlError, UsageError


def check_outputs(
    *,
    reads: Sequence[Path] = (),
    plot: Path | None = None,
    movie: Path | None = None,
    out: Path | None = None,
    **others: Path | None,
) -> None:
    """Refuse output files that could not be written when the work is done.

    Args:
        reads: Files that the command reads, and must not overwrite.
        plot: File of --plot.
        movie: File of --movie; what renders and encodes it must be installed.
        out: File of --out.
        others: Files of other options, by the option's name.

    Raises:
        UsageError: A suffix that the option does not take, or a file that is named twice.
        SoftctlError: A file cannot be written, or what writes it is not installed.
    """
    files = {"plot": plot, "movie": movie, "out": out, **others}
    given = {f"--{name}": path for name, path in files.items() if path is not None}
    if plot is not None:
        from sofa_softctl.view.plots.figure import check_suffix as check_plot

        check_name(check_plot, plot)
    if movie is not None:
        from sofa_softctl.view.movie.movie import check_suffix as check_movie

        check_name(check_movie, movie)
    _check_distinct(reads, given)
    for path in given.values():
        check_writable(path)
    if movie is not None:
        from sofa_softctl.view.movie.encoding import check_encoder
        from sofa_softctl.view.movie.renderer import check_renderer

        check_renderer()
        check_encoder(movie)


def check_name(check: Callable[[Path], None], path: Path) -> None:
    """UsageError in place of the SoftctlError with which `check` refuses the name of a file."""
    try:
        check(path)
    except SoftctlError as error:
        raise UsageError(str(error)) from error


def _check_distinct(reads: Sequence[Path], given: dict[str, Path]) -> None:
    seen = {path.resolve(): "which the command reads" for path in reads}
    for option, path in given.items():
        place = path.resolve()
        if place in seen:
            raise UsageError(
                f"{option} would overwrite '{path}', {seen[place]}. Give each file its own name."
            )
        seen[place] = f"the file of {option}"
