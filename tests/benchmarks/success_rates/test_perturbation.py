"""Rest shapes that differ by next to nothing."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.success_rates.perturbation import RELATIVE, with_perturbed_rest
from sofa_softctl.errors import SceneError
from sofa_softctl.scene.session.loader import load_scene
from sofa_softctl.scene.session.session import Session

SCENES = Path(__file__).parents[3] / "scenes"


def rest_positions(seed):
    """Of the ring, and of its ground."""
    create = with_perturbed_rest(load_scene(SCENES / "rolling_ring.py").create, seed)
    root = Session(create).root
    return root.ring.dofs.rest_position.value, root.ground.dofs.position.value


def test_bodies_are_shifted_by_so_little_of_the_robots_size_and_alike_for_a_seed():
    """Normal numbers of 720 nodes: their deviation is known to 5 % (three of its own, over the root
    of 2 * 2160)."""
    plain, ground = rest_positions(0)
    one, its_ground = rest_positions(1)
    again, _ = rest_positions(1)
    other, _ = rest_positions(2)
    assert np.std(one - plain) == pytest.approx(RELATIVE * 40.0, rel=0.05)  # 40 mm across
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    assert 0.0 < np.abs(its_ground - ground).max() < 1e-7


def test_a_scene_without_a_shape_cannot_be_perturbed():
    def createScene(root):
        root.addChild("point").addObject("MechanicalObject", position=[[1.0, 2.0, 3.0]])

    with pytest.raises(SceneError, match="no rest shape to perturb"):
        Session(with_perturbed_rest(createScene, 1))
