"""Plots of a run: those of the controllers that have one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sofa_softctl.errors import SoftctlError
from sofa_softctl.scene.control.report import History
from sofa_softctl.view.plots.figure import new_figure

NOTHING = (
    "There is nothing to plot: no controller of the scene has a plot. InverseController and "
    "IdentificationController have one; any SceneController may, by its method `plot`."
)


def check_plot(controllers: Sequence[Any]) -> None:
    """SoftctlError when none of a scene's controllers has a plot: before the run, not after it."""
    from sofa_softctl.scene.control.controller import SceneController

    none = SceneController.plot
    if all(getattr(type(one), "plot", none) is none for one in controllers):
        raise SoftctlError(NOTHING)


def save_run_plot(path: str | Path, controllers: Sequence[tuple[Any, History]]) -> list[Path]:
    """Write plots (.png, .svg or .pdf) of a run: of the first controller that has one, and others.

    Args:
        path: File to write; it appears when it is complete. The plot of a further controller NAME
            goes to a file beside it, such as run-NAME.png.
        controllers: What `scene.run.run` gave: controllers, each with its history.

    Returns:
        The files.

    Raises:
        SoftctlError: no controller has a plot, there is nothing to draw yet, or a suffix that
            cannot be written.
    """
    written: list[Path] = []
    for controller, history in controllers:
        file = Path(path)
        if written:
            file = file.with_stem(f"{file.stem}-{controller.getName()}")
        with suppress(_NothingDrawn), new_figure(file) as figure:
            if not _drawn(figure, controller.plot(figure, history)):
                raise _NothingDrawn
            written.append(file)
    if not written:
        raise SoftctlError(NOTHING)
    return written


class _NothingDrawn(Exception):
    """A controller has no plot: its figure is not written."""


def _drawn(figure: Any, said: bool | None) -> bool:
    """Whether a controller drew something, also where its `plot` returns None."""
    return bool(figure.axes) if said is None else said
