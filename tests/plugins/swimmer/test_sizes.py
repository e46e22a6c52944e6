"""The study of larger swimmers."""

import numpy as np
import pytest
from softctl_swimmer.planning.sizes import measure_grids, measure_skins
from softctl_swimmer.show import show_sizes


@pytest.mark.soak
def test_skins_are_timed_and_converge(capsys):
    """Of second order in the width of triangles: vertices times 2.3, errors over 2.3."""
    coarse, fine, finest = measure_skins([(3, 42), (3, 98), (3, 400)])
    assert np.isnan(finest.error) and fine.error < 0.5 * coarse.error < 0.05
    assert coarse.megabytes == 126**2 * 8 / 1e6 and fine.vertices == 294
    assert finest.f_slopes > finest.f > finest.factors > 0.0
    show_sizes([coarse, finest], measure_grids([2]))
    text = capsys.readouterr().out
    assert "1,200" in text and "cells of a wave" in text


def test_a_wave_passes_few_of_the_corners_of_a_box():
    two, three = measure_grids([2, 3])
    assert (two.box, three.box) == (81, 729)
    assert 9 < two.wave < 81 and two.wave < three.wave < 729
