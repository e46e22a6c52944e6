"""Plot of a run: that of the first controller that has one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sofa_softctl._internal.atomic_file import replacing
from sofa_softctl.errors import SoftctlError
from sofa_softctl.scene.report import History
from sofa_softctl.view.plots.plan import check_suffix


def save_run_plot(path: str | Path, controllers: Sequence[tuple[Any, History]]) -> None:
    """Write a plot (.png, .svg or .pdf) of a run.

    Args:
        path: File to write; it appears when it is complete.
        controllers: What `scene.run.run` gave: controllers, each with its history.

    Raises:
        SoftctlError: no controller has a plot, there is nothing to draw yet, or a suffix that
            cannot be written.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    path = Path(path)
    check_suffix(path)
    for controller, history in controllers:
        figure = Figure(dpi=130, layout="constrained")
        FigureCanvasAgg(figure)
        if controller.plot(figure, history):
            with replacing(path) as name:
                figure.savefig(name)
            return
    raise SoftctlError(
        "There is nothing to plot: no controller of the scene has a plot. InverseController and "
        "IdentificationController have one; any SceneController may, by its method `plot`."
    )
