import numpy as np
import pytest

from sofa_softctl.base import colors
from sofa_softctl.base.axes import (
    LEGEND_ENTRIES_MAX,
    legend_beside,
    plane_of,
    scale_positive,
    set_equal_limits,
)


def new_axes():
    from matplotlib.figure import Figure

    return Figure().subplots()


def test_the_plane_is_that_of_the_largest_motion_of_what_moves_first():
    t = np.linspace(0.0, 1.0, 9)
    still = np.tile([100.0, 200.0, 300.0], (9, 1))
    moving = np.stack([0.1 * t, 3.0 * t, 2.0 * t], axis=1)
    assert plane_of(still, moving) == (1, 2)
    assert plane_of(moving[:, None]) == (1, 2)  # of several effectors
    assert plane_of(still, still) == (0, 1)


def test_several_points_that_stay_apart_do_not_make_a_plane():
    """Where they are does not count, only how far each one moves."""
    stay = np.tile([[0.0, 0.0, 0.0], [50.0, 0.0, 0.0]], (9, 1, 1))
    stay[:, 1, 2] += np.linspace(0.0, 3.0, 9)
    stay[:, 0, 1] += np.linspace(0.0, 2.0, 9)
    assert plane_of(stay) == (1, 2)


@pytest.mark.parametrize("points", [[[3.0, 4.0]], [[0.0, 21.0], [14.0, 21.0]]])
def test_a_point_and_a_line_have_room_on_both_sides(points):
    axes = new_axes()
    set_equal_limits(axes, np.array(points))
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    assert right > left and 0.5 < (top - bottom) / (right - left) <= 1.0
    for x, y in points:
        assert left < x < right and bottom < y < top


def test_values_of_one_size_are_on_a_linear_axis_from_zero():
    axes = new_axes()
    scale_positive(axes, np.array([0.02, 0.08]))
    assert axes.get_yscale() == "linear" and axes.get_ylim()[0] == 0.0


def test_an_exact_zero_does_not_stretch_a_logarithmic_axis():
    axes = new_axes()
    scale_positive(axes, np.array([0.0, 1e-30, 1e-3, 2.0]))
    assert axes.get_yscale() == "log" and 1e-7 < axes.get_ylim()[0] < 1e-5


def test_a_legend_counts_what_it_has_no_room_for():
    axes = new_axes()
    for number in range(LEGEND_ENTRIES_MAX + 5):
        axes.plot([0, 1], label=f"cable {number}")
    legend_beside(axes)
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert len(texts) == LEGEND_ENTRIES_MAX and texts[-1] == "and 6 more"


def test_effectors_have_paler_shades_of_the_color_of_a_tip():
    shades = [colors.effector(number, 4) for number in range(4)]
    assert shades[0] == colors.TIP and len(set(shades)) == 4
    brightness = [sum(int(shade[k : k + 2], 16) for k in (1, 3, 5)) for shade in shades]
    assert brightness == sorted(brightness)


def test_things_have_colors_of_their_own():
    own = (colors.GOAL, colors.TIP, colors.CONTACT, colors.LIMIT, colors.OBSTACLE, colors.GROUND)
    assert len(set(own) | set(colors.PALETTE)) == len(own) + len(colors.PALETTE)
