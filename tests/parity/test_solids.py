import importlib.util
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.scene.backend.backend import find_backend

spec = importlib.util.spec_from_file_location(
    "parity_solids", Path(__file__).with_name("solids.py")
)
solids = importlib.util.module_from_spec(spec)
spec.loader.exec_module(solids)


@pytest.mark.parametrize("name", solids.CASES)
def test_motion_is_the_recorded_one_of_sofa(name, tolerant):
    """1e-10 of the largest coordinate: sums in another order stay below 1e-12 over 20 steps."""
    with np.load(solids.RECORD) as record:
        expected = record[name]
    found = solids.run(find_backend("embedded").Sofa, name)
    assert np.ptp(expected, axis=0).max() > 1e-3  # something moves
    assert np.abs(found - expected).max() <= 1e-10 * np.abs(expected).max()
