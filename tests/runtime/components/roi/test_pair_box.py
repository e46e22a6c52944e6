"""PairBoxROI: the shell between two boxes."""

import itertools

import numpy as np
import pytest

from sofa_softctl.runtime.simulation import simulation

POINTS = np.array(list(itertools.product(range(4), repeat=3)), dtype=float)


@pytest.fixture
def region(root):
    """Makes one beside a state of 4 x 4 x 4 points."""

    def make(**values):
        root.addObject("MechanicalObject", position=POINTS)
        found = root.addObject("PairBoxROI", **values)
        simulation.init(root)
        return found

    return make


@pytest.mark.parametrize("turned", [False, True])
def test_the_shell_of_a_grid(region, turned):
    """The surface of 4 x 4 x 4 points without the 2 x 2 x 2 inside; corners in either order."""
    outer, inner = [0, 0, 0, 3, 3, 3], [0.5, 0.5, 0.5, 2.5, 2.5, 2.5]
    if turned:
        outer, inner = outer[3:] + outer[:3], inner[3:] + inner[:3]
    found = region(inclusiveBox=outer, includedBox=inner)
    outside = (POINTS == 0).any(axis=1) | (POINTS == 3).any(axis=1)
    assert found.indices.array().tolist() == np.flatnonzero(outside).tolist()
    assert found.pointsInROI.toList() == POINTS[outside].tolist()


def test_points_on_a_face_of_the_inner_box_are_left_out(region):
    found = region(inclusiveBox=[0, 0, 0, 3, 0, 0], includedBox=[1, -1, -1, 2, 1, 1])
    assert found.pointsInROI.toList() == [[0, 0, 0], [3, 0, 0]]


@pytest.mark.filterwarnings("ignore")
def test_a_box_of_zeros_holds_nothing(region):
    """As in SOFA, where neither box has a default."""
    assert len(region(inclusiveBox=[0, 0, 0, 3, 3, 3]).indices) == 0
