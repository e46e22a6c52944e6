"""Colours that stand side by side differ for colour-blind readers."""

from itertools import combinations

import numpy as np
import pytest

from sofa_softctl.base import colors

SIMULATED = {
    "no deficiency": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
"""Linear RGB as it is seen: Machado, Oliveira, Fernandes 2009, severity 1.0."""
XYZ = np.array(
    [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
)  # of linear sRGB
WHITE = XYZ.sum(axis=1)
SIDE_BY_SIDE = {
    "curves and cables": (*colors.PALETTE, colors.CONTACT),
    "in a movie": (colors.GOAL, colors.TIP, colors.CONTACT, colors.SLACK),
    "bodies": (*colors.BODIES, colors.BALL, colors.GROUND),
    "cables slack and taut": (*colors.PALETTE, colors.SLACK),
    "a plan": (colors.GOAL, colors.TIP, colors.OBSTACLE, colors.GROUND, colors.BODIES[0]),
}
DISTANCE_MIN = {"tritanopia": 8.0}
"""Distance in CIELAB, 12 where none is named; a difference of 2 to 3 is just visible."""


def lab(color, matrix):
    """CIELAB of a colour as it is seen (CIE 15)."""
    value = np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)]) / 255.0
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    ratio = XYZ @ np.clip(matrix @ linear, 0.0, 1.0) / WHITE
    f = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_lab_is_that_of_the_standard():
    """White has lightness 100 and no hue; pure red (53.2, 80.1, 67.2), as tabulated for sRGB."""
    assert lab("#ffffff", np.eye(3)) == pytest.approx([100.0, 0.0, 0.0], abs=1e-9)
    assert lab("#ff0000", np.eye(3)) == pytest.approx([53.2, 80.1, 67.2], abs=0.1)


@pytest.mark.parametrize("sight", SIMULATED)
@pytest.mark.parametrize("group", SIDE_BY_SIDE)
def test_colours_side_by_side_can_be_told_apart(sight, group):
    """Olive and orange cables were one colour for protanopes (0.4), two of the bodies, too (2)."""
    seen = {color: lab(color, SIMULATED[sight]) for color in SIDE_BY_SIDE[group]}
    distance = {
        pair: round(float(np.linalg.norm(seen[pair[0]] - seen[pair[1]])), 1)
        for pair in combinations(seen, 2)
    }
    assert min(distance.values()) >= DISTANCE_MIN.get(sight, 12.0), min(
        distance.items(), key=lambda item: item[1]
    )
