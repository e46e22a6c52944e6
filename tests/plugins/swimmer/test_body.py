"""Bodies, joints and poses: what is refused, and by which words."""

import math
import re

import numpy as np
import pytest
from softctl_swimmer import Flow, Hinge, Link, Swimmer, ellipsoid_surface, fish

from sofa_softctl.errors import SceneError

LINK = Link((0.1, 0.03, 0.05))
HINGE = Hinge(0, (-0.11, 0.0, 0.0), (0.11, 0.0, 0.0))


def refused(message, links, hinges=(), **options):
    with pytest.raises(SceneError, match=re.escape(message)):
        Swimmer(tuple(links), tuple(hinges), **options)


@pytest.mark.soak
def test_a_neutrally_buoyant_fish_weighs_what_it_displaces():
    M, _ = fish().rigid_mass(np.zeros(3))
    assert M[0, 0] == pytest.approx(4 * 1000 * 4 / 3 * math.pi * 0.1 * 0.03 * 0.05, rel=1e-12)


def test_the_papers_fish_can_bend_within_its_limits_anywhere():
    swimmer = fish()
    for corner in np.ndindex(3, 3, 3):
        swimmer.check_pose(1.2 * (np.array(corner) - 1.0))


@pytest.mark.parametrize("count", [1, 2, 5, 7])
def test_a_fish_has_as_many_links_as_asked_for(count):
    swimmer = fish(count)
    assert len(swimmer.links) == count
    assert swimmer.jacobians(np.zeros(count - 1))[0].shape == (count, 6, 5 + count)


def test_a_pose_at_which_links_overlap_is_refused_with_both_and_the_angles():
    with pytest.raises(SceneError, match=re.escape("Links 0 and 1 overlap at joint angles [2.8]")):
        Flow.from_swimmer(fish(2), 60).solve([2.8])


def test_links_that_touch_are_told_from_links_that_overlap():
    swimmer = fish(2, semi_axes=(0.1, 0.1, 0.1), gap=0.1, limit=3.0)
    touching = 2 * math.acos(0.1 / 0.15)  # both spheres touch the plane that halves the bend
    with pytest.raises(SceneError, match="Links 0 and 1 touch at joint angles"):
        swimmer.check_pose([touching])
    swimmer.check_pose([touching - 1e-6])


def test_meshes_that_may_touch_are_refused_although_their_ellipsoids_do_not():
    flow = Flow.from_swimmer(fish(2, gap=0.002), 20)
    with pytest.raises(SceneError, match="so close that their meshes, 1.203 times as large"):
        flow.solve([0.0])


def test_angles_that_are_no_angles_are_refused():
    with pytest.raises(ValueError, match="expected 3 finite numbers"):
        fish().poses([0.0, 0.0])
    with pytest.raises(ValueError, match="expected 3 finite numbers"):
        fish().poses([0.0, math.nan, 0.0])


def test_joint_limits_that_hold_no_angle_are_refused():
    for limits in ((0.5, 0.5), (1.0, -1.0), (-4.0, 4.0), (math.nan, 1.0), (0.5,)):
        hinge = Hinge(0, (-0.11, 0.0, 0.0), (0.11, 0.0, 0.0), limits=limits)
        refused("which hold no range of angles", (LINK, LINK), (hinge,))


def test_joint_limits_within_which_links_always_overlap_are_refused():
    inside = Hinge(0, (-0.02, 0.0, 0.0), (0.02, 0.0, 0.0), limits=(-0.3, 0.3))
    refused("At every pose tried within the joint limits, links overlap", (LINK, LINK), (inside,))


def test_wrong_bodies_are_refused():
    refused("expected at least one link", ())
    refused("2 links has 0 hinges", (LINK, LINK))
    refused("Link 1 has semi_axes (0.1, 0, 0.1)", (LINK, Link((0.1, 0, 0.1))), (HINGE,))
    refused("Link 0 has density -1", (Link((0.1, 0.1, 0.1), -1),))
    refused("fluid_density is 0", (LINK,), fluid_density=0)
    refused(
        "has parent 1; expected a link of 0 to 0", (LINK, LINK), (Hinge(1, (0,) * 3, (0,) * 3),)
    )
    refused("has the axis (0, 0, 0)", (LINK, LINK), (Hinge(0, (0,) * 3, (0,) * 3, (0, 0, 0)),))
    refused("has in_child (0, 0)", (LINK, LINK), (Hinge(0, (0,) * 3, (0, 0)),))


def test_a_flow_wants_one_mesh_for_each_link():
    with pytest.raises(ValueError, match="1 meshes for 2 links"):
        Flow.from_swimmer(fish(2), skins=[ellipsoid_surface(LINK.semi_axes, 60)])
