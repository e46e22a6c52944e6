"""The same topologies here and in SOFA v25.06."""

import json

import numpy as np
import pytest

from tests.parity import topologies

with open(topologies.RECORD) as file:
    RECORDS = json.load(file)


@pytest.mark.parametrize("name", topologies.CASES)
def test_topologies_are_those_of_sofa(name, Sofa, tolerant):
    """Elements number for number; positions to 1e-13 of some units: rounding of a few products.

    After 20 steps to 1e-11: the solves multiply it by their condition, about 100. The springs have
    no stiffness, of which a scene is warned.
    """
    tolerance = 1e-11 if name.startswith("moving") else 1e-13
    found, expected = topologies.run(Sofa, name), RECORDS[name]
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        if key.endswith("position"):
            assert np.asarray(found[key]) == pytest.approx(
                np.asarray(value), rel=tolerance, abs=tolerance
            )
        else:
            assert found[key] == value, key
