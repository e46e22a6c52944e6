"""Rotations by three angles."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sofa_softctl.runtime.mesh.rotation import quaternion_zyx, rotation_zyx


@pytest.mark.parametrize("angles", [(30.0, -50.0, 110.0), (90.0, 0.0, 270.0), (0.0, -90.0, 12.3)])
def test_angles_are_about_the_fixed_axes_x_then_y_then_z(angles):
    expected = Rotation.from_euler("xyz", angles, degrees=True)
    assert rotation_zyx(angles) == pytest.approx(expected.as_matrix(), abs=1e-15)
    q = quaternion_zyx(np.array(angles))
    assert Rotation.from_quat(q).as_matrix() == pytest.approx(expected.as_matrix(), abs=1e-15)
