"""How far a step of the planner's search may go."""

import pytest

from sofa_softctl.surrogate.program.trust_region import next_radius


@pytest.mark.parametrize(
    ("far", "actual", "expected"),
    [
        (1.0, 0.9, 2.0),
        (0.5, 0.9, 1.0),
        (1.0, 0.5, 1.0),
        (1.0, 0.2, 0.25),
        (0.4, 0.2, 0.1),
        (0.4, -3.0, 0.1),
    ],
    ids=["good, up to the border", "good, but inside", "fair", "poor", "poor and short", "worse"],
)
def test_the_trust_region_follows_how_good_the_prediction_was(far, actual, expected):
    """A decrease of 1 is predicted, for a step within 1."""
    found = next_radius(1.0, far, actual=actual, predicted=1.0, noise=0.0, radius_max=10.0)
    assert found == expected


def test_it_grows_no_further_than_its_limit_and_rounding_does_not_shrink_it():
    assert next_radius(1.0, 1.0, actual=1.0, predicted=1.0, noise=0.0, radius_max=1.5) == 1.5
    assert next_radius(1.0, 1.0, actual=-1e-13, predicted=1e-13, noise=1e-12, radius_max=9.0) == 1.0
