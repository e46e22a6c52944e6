"""Forecasts of how libraries grow."""

import numpy as np
import pytest

from sofa_softctl.library.building.forecast import forecast
from sofa_softctl.library.building.stopping import tasks_wanted


def grown(seed, rate=0.02, size=40, slope=2.5):
    """Tasks asked with 1, 2, ... motions, where k motions fail rate (k / size)^-slope of them."""
    rng, counts = np.random.default_rng(seed), []
    while True:
        k = len(counts) + 1
        wanted = tasks_wanted(0.01, k)
        tasks = int(rng.geometric(min(1.0, rate * (k / size) ** -slope)))
        counts.append(min(tasks, wanted))
        if tasks > wanted:
            return counts


@pytest.mark.soak
@pytest.mark.parametrize("slope", [1.5, 2.5, 4.0])
def test_most_libraries_end_where_it_says(slope):
    """An interval for 80 %, from the first 32 motions: at least 16 of 24 (one in a hundred has
    less), and its middle is right within a factor of two in most."""
    held, near = 0, 0
    for seed in range(24):
        whole = grown(seed, slope=slope)
        low, middle, high = forecast(whole[:32], 0.01).motions
        held += low <= len(whole) <= high
        near += 0.5 <= middle / len(whole) <= 2.0
    assert held >= 16 and near >= 18


def test_tasks_that_are_left_are_forecast():
    """Over 24 libraries, the sum to a factor of two."""
    left, expected = 0.0, 0.0
    for seed in range(24):
        whole = grown(seed)
        left += sum(whole[32:])
        expected += forecast(whole[:32], 0.01).tasks[1]
    assert 0.5 < expected / left < 2.0


def test_tasks_that_are_known_since_the_last_motion_count_as_known():
    """One motion that knew 100 tasks in a row. If shares of unknown ones are as likely in each
    decade from 1e-4 on, it knows the wanted number of further ones, too, in three cases of four."""
    assert forecast([100], 0.05).motions[1] == 1.0
    assert forecast([1], 0.05).motions[2] > 1.0
