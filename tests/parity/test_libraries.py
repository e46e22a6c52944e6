"""The same scene of stlib3 and splib3 here and in SOFA v25.06."""

import json

import numpy as np
import pytest

from tests.parity import libraries


@pytest.mark.parametrize("name", ["alone", "mixed", "ends", "body"])
def test_a_scene_of_the_libraries_moves_as_in_sofa(name, Sofa):
    """1e-12 of some units: rounding, which solves multiply by their condition, below 1e4.

    The body's conjugate gradients need two iterations, so that they do not stop early.
    """
    with open(libraries.RECORD) as file:
        record = json.load(file)
    assert record["backend"] == "sofa"
    found, expected = libraries.run(Sofa)[name], record["positions"][name]
    assert np.array(found) == pytest.approx(np.array(expected), abs=1e-12)
