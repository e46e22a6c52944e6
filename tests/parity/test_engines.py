"""The same outputs of engines and regions here and in SOFA v25.06."""

import json

import numpy as np
import pytest

from sofa_softctl.runtime.helper.message import warnings_as_errors
from tests.parity import engines

with open(engines.RECORD) as file:
    RECORDS = json.load(file)


@pytest.mark.parametrize("name", engines.CASES)
def test_outputs_are_those_of_sofa(name, Sofa):
    """Numbers to 1e-13, the rounding of a few products of numbers near 1; the rest as it is."""
    with warnings_as_errors(False):  # go on where SOFA goes on
        found = engines.run(Sofa, name)
    assert len(found) == len(RECORDS[name])
    for computed, expected in zip(found, RECORDS[name], strict=True):
        assert computed.keys() >= expected.keys()
        for key, value in expected.items():
            if isinstance(value, str):
                assert computed[key] == value, key
                continue
            assert np.size(computed[key]) == np.size(value), key
            if np.size(value):
                assert np.shape(computed[key]) == np.shape(value), key
                assert computed[key] == pytest.approx(np.asarray(value), rel=1e-13, abs=1e-13), key
