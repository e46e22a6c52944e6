"""Unknown numbers: what is refused as one."""

import math

import pytest

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.model.parameter import Parameter


@pytest.mark.parametrize("start", [math.inf, math.nan])
def test_a_search_begins_at_a_finite_number(start):
    """Infinity lies between the bounds 0 and infinity, but nothing can be simulated there."""
    with pytest.raises(IdentificationError, match=f"'k' starts at {start}. Expected a finite numb"):
        Parameter("k", start)


def test_a_number_is_no_name():
    """As of `total_mass(0.05)`, where the name comes first."""
    with pytest.raises(IdentificationError, match=r"its name, a text\. Got: 0\.05"):
        Parameter(0.05, 1.0)


@pytest.mark.parametrize("size", [-3.0, 0.0, math.inf])
def test_a_size_is_a_positive_number(size):
    with pytest.raises(IdentificationError, match=f"'k': size is {size:g}. Expected a positive"):
        Parameter("k", 0.0, size=size)
