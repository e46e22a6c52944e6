"""Frames of contacts."""

import numpy as np
import pytest

from sofa_softctl.runtime.kernels.contact.frames import contact_frames


@pytest.mark.parametrize("diagonal", [False, True])
def test_frames_are_right_handed_and_begin_with_the_normal(diagonal):
    """(1, 1, 1) has no shifted normal to make a tangent of, and gets another one."""
    normals = np.random.default_rng(0).normal(size=(20, 3))
    if diagonal:
        normals[:] = [1.0, 1.0, 1.0]
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    frames = contact_frames(normals)
    assert frames[:, 0] == pytest.approx(normals, abs=0.0)
    # 1e-14: products of three rounded unit vectors
    assert frames @ frames.transpose(0, 2, 1) == pytest.approx(
        np.tile(np.eye(3), (20, 1, 1)), abs=1e-14
    )
    assert np.linalg.det(frames) == pytest.approx(np.ones(20), abs=1e-14)


def test_no_contacts_have_no_frames():
    assert contact_frames(np.empty((0, 3))).shape == (0, 3, 3)
