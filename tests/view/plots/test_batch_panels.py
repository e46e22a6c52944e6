"""Panels of studies: failed runs have a colour of their own."""

import numpy as np
import pytest

from sofa_softctl.view.plots.batch_columns import Column
from sofa_softctl.view.plots.batch_panels import FAILED_CELL, color_scale, plot_pair


@pytest.fixture
def axes():
    from matplotlib.figure import Figure

    return Figure().add_subplot()


def test_cells_of_which_all_runs_failed_have_their_colour(axes):
    """Of four cells: a value; failed; failed and a value; not run. The last one stays empty."""
    across = Column("a", np.array([0.0, 1.0, 0.0, 0.0]), ("low", "high"))
    below = Column("b", np.array([0.0, 0.0, 1.0, 1.0]), ("low", "high"))
    values = np.array([1.0, np.nan, np.nan, 3.0])
    failed = np.array([False, True, True, False])
    artist = plot_pair(axes, across, below, values, failed, color_scale(values))
    filled, shown = axes.collections
    assert shown is artist
    assert np.ma.getmaskarray(filled.get_array()).tolist() == [[True, False], [True, True]]
    assert np.ma.getmaskarray(artist.get_array()).tolist() == [[False, True], [False, True]]
    from matplotlib.colors import to_rgb

    filled.update_scalarmappable()
    assert np.allclose(filled.get_facecolors()[1][:3], to_rgb(FAILED_CELL))
    (crosses,) = axes.lines
    assert crosses.get_xydata().tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_a_study_without_failures_has_no_such_cells(axes):
    across = Column("a", np.array([0.0, 1.0]), ("low", "high"))
    values = np.array([1.0, 2.0])
    plot_pair(axes, across, across, values, np.array([False, False]), color_scale(values))
    assert len(axes.collections) == 1
