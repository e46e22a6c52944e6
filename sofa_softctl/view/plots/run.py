"""Plots of a run, drawn by its controllers."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sofa_softctl.base.axes import Figure
from sofa_softctl.errors import SoftctlError
from sofa_softctl.scene.control.report import History
from sofa_softctl.view.plots.figure import new_figure, styled_figure

NO_PLOT_MESSAGE = (
    "There is nothing to plot: no controller of the scene has a plot. InverseController and "
    "IdentificationController have one; any SceneController may, by its method `plot`."
)


def check_plot(controllers: Sequence[Any]) -> None:
    """Raise SoftctlError before a run if no controller of its scene has a plot."""
    from sofa_softctl.scene.control.controller import SceneController

    default = SceneController.plot
    if all(getattr(type(item), "plot", default) is default for item in controllers):
        raise SoftctlError(NO_PLOT_MESSAGE)


def save_run_plot(path: str | Path, controllers: Sequence[tuple[Any, History]]) -> list[Path]:
    """Write the plots of a run's controllers as .png, .svg or .pdf.

    Args:
        path: File to write; it appears when it is complete. Plots after the first one get
            the name of their controller, such as run-NAME.png.
        controllers: Controllers with their histories, from `scene.run.run`.

    Returns:
        Paths of the files.

    Raises:
        SoftctlError: no controller has a plot, there is nothing to draw yet, or a suffix that
            cannot be written.
    """
    files: list[Path] = []
    for controller, history in controllers:
        file = Path(path)
        if files:
            file = file.with_stem(f"{file.stem}-{controller.getName()}")
        with suppress(_NothingDrawn), new_figure(file) as figure:
            if not _has_plot(figure, controller.plot(figure, history)):
                raise _NothingDrawn
            files.append(file)
    if not files:
        raise SoftctlError(NO_PLOT_MESSAGE)
    return files


def draw_run(controllers: Sequence[tuple[Any, History]]) -> Figure:
    """Return the plot of the first controller that has one.

    Args:
        controllers: Controllers with their histories.

    Raises:
        SoftctlError: No controller has a plot, or there is nothing to draw yet.
    """
    for controller, history in controllers:
        with styled_figure() as figure:
            if _has_plot(figure, controller.plot(figure, history)):
                return figure
    raise SoftctlError(NO_PLOT_MESSAGE)


class _NothingDrawn(Exception):
    """A controller has no plot: its figure is not written."""


def _has_plot(figure: Any, returned: bool | None) -> bool:
    """Return True if a controller drew something, even if its `plot` returned None."""
    return bool(figure.axes) if returned is None else returned
