"""Markers in a camera's frame: the rigid transform is found, and what does not fit is told."""

import numpy as np
import pytest

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.fem.registration import check_handedness, register

POINTS = np.array([[0.0, 0.0, 0.0], [30.0, 0.0, 0.0], [0.0, 20.0, 0.0], [10.0, 5.0, 40.0]])


@pytest.fixture
def camera():
    """A rotation about a skew axis, and a translation."""
    axis = np.array([1.0, 2.0, -2.0]) / 3.0
    K = np.cross(np.eye(3), axis)
    rotation = np.eye(3) - np.sin(2.0) * K + (1.0 - np.cos(2.0)) * K @ K
    return rotation, np.array([500.0, -80.0, 1200.0])


def seen_by(camera, points=POINTS):
    return points @ camera[0].T + camera[1]


def test_a_rigid_transform_is_found(camera):
    """Exactly determined but for rounding: 1e-12 of the distances."""
    found = register(seen_by(camera), POINTS)
    assert found.rotation == pytest.approx(camera[0], abs=1e-12)
    assert found.translation == pytest.approx(camera[1], abs=1e-9)
    assert found.rms < 1e-9
    assert found.place(POINTS) == pytest.approx(seen_by(camera))


def test_markers_in_a_plane_give_no_reflection(camera):
    """Three points fit their mirror image as well: a rotation is wanted."""
    found = register(seen_by(camera)[:3], POINTS[:3])
    assert np.linalg.det(found.rotation) == pytest.approx(1.0)
    assert found.rotation == pytest.approx(camera[0], abs=1e-12)


def test_residuals_of_noise_are_of_its_size(camera):
    """Twelve coordinates less six that are fitted: rms of distances is 0.1 sqrt(6 / 4)."""
    rng = np.random.default_rng(0)
    found = [
        register(seen_by(camera) + rng.normal(scale=0.1, size=(4, 3)), POINTS).rms ** 2
        for _ in range(200)
    ]
    assert np.mean(found) == pytest.approx(0.01 * 6.0 / 4.0, rel=0.15)


def test_a_marker_that_was_not_seen_is_left_out(camera):
    markers = seen_by(camera)
    markers[1] = np.nan
    found = register(markers, POINTS)
    assert found.rotation == pytest.approx(camera[0], abs=1e-12)
    assert np.isnan(found.residuals[1])


def test_markers_in_another_unit_are_told(camera):
    with pytest.raises(IdentificationError, match="spread is 0.001 times .* same unit of length"):
        register(seen_by(camera) / 1000.0, POINTS)


def test_swapped_markers_are_named(camera):
    """The others pull the transform towards them, so that the worst need not be a swapped one."""
    with pytest.raises(IdentificationError, match="marker '[abcd]' is .* from its.*swapped"):
        register(seen_by(camera)[[3, 1, 2, 0]], POINTS, names=["a", "b", "c", "d"])


@pytest.mark.parametrize(
    ("count", "says"), [(2, "three or more measured markers, got 2"), (0, "one line")]
)
def test_too_few_markers_or_a_line_are_told(camera, count, says):
    line = np.outer([0.0, 1.0, 2.0], [3.0, 4.0, 0.0])
    points = POINTS[:count] if count else line
    with pytest.raises(IdentificationError, match=says):
        register(seen_by(camera, points), points)


def test_a_point_for_each_marker_is_needed(camera):
    with pytest.raises(IdentificationError, match=r"got \(4, 3\) markers and \(3, 3\) points"):
        register(seen_by(camera), POINTS[:3])


@pytest.mark.parametrize("mirror", [(1, 1, -1), (-1, 1, 1)])
def test_left_handed_axes_are_refused_where_all_markers_show_them(camera, mirror):
    """Also where the robot moved a little, 1 of 40; three markers, or a plane, cannot show it."""
    moved = POINTS + 0.5 * np.random.default_rng(0).standard_normal(POINTS.shape)
    there = seen_by(camera, moved) * mirror
    with pytest.raises(IdentificationError, match="axes are left-handed: .* Exchange two axes"):
        check_handedness(there, POINTS)
    check_handedness(seen_by(camera, moved), POINTS)
    check_handedness(there[:3], POINTS[:3])
    there[3] = np.nan
    check_handedness(there, POINTS)
    flat = np.vstack((POINTS[:3], [[30.0, 20.0, 0.0]]))
    check_handedness(seen_by(camera, flat) * mirror, flat)
