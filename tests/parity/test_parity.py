import importlib.util
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.scene.backend.backend import find_backend

HERE = Path(__file__).parent
spec = importlib.util.spec_from_file_location("parity_scenes", HERE / "parity_scenes.py")
scenes = importlib.util.module_from_spec(spec)
spec.loader.exec_module(scenes)


@pytest.mark.parametrize("name", scenes.CASES)
def test_motion_is_the_recorded_one(name):
    """The records are SOFA's own. 1e-9 of the robot's size: sums in another order, amplified over
    200 steps, stay below 1e-12, also with a QP in every step, and with contacts solved to 1e-13.
    Those of LOOSE cannot be solved so far; the reason stands there."""
    with np.load(HERE / "records" / f"{name}.npz") as record:
        expected = record["positions"]
    found = scenes.run(find_backend("embedded").Sofa, name)
    size = np.ptp(expected[0], axis=0).max()
    assert np.abs(found - expected).max() <= scenes.contacts.LOOSE.get(name, 1e-9) * size
