"""How far a surrogate is from its scene, by the rate of tensions."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.surrogate_error import measure_surrogate
from sofa_softctl.errors import SceneError
from sofa_softctl.learning import LineTask
from tests.learning.strip import SURROGATE, bend

pytestmark = pytest.mark.study

STRIP = Path(__file__).parents[1] / "learning" / "strip.py"


@pytest.fixture(scope="module")
def task():
    """Long enough for a pull to come to its end."""
    return LineTask(STRIP, bend(decisions=40), SURROGATE)


def test_errors_of_slow_pulls_grow_with_their_rate(task):
    """What the map leaves out is damping and inertia, small and linear in the rate at first."""
    turns = []
    slow, faster, quick = measure_surrogate(
        task, (10.0, 30.0, 1000.0), episodes=2, progress=turns.append
    )
    assert turns == [1, 2, 3] and (slow.rate, quick.rate) == (10.0, 1000.0)
    assert faster.pull == pytest.approx(3.0 * slow.pull, rel=0.15)
    assert slow.pull < 0.01 and slow.pull < 0.05 * quick.pull
    assert slow.random < faster.random < quick.random
    assert slow.lost == 0.0 and set(slow.to_dict()) == {"rate", "pull", "random", "lost"}


def test_the_same_seed_gives_the_same_figures(task):
    first, again = (measure_surrogate(task, (500.0,), episodes=1, seed=3) for _ in range(2))
    assert first == again


def test_rates_follow_from_the_tasks_own_or_are_asked_for(task):
    rates = [one.rate for one in measure_surrogate(task, episodes=1)]
    assert rates == pytest.approx([share * task.rate for share in (0.1, 0.3, 1.0, 3.0)])
    free = replace(bend(), action=[replace(one, rate=None) for one in bend().action])
    with pytest.raises(SceneError, match="no rate: name the rates"):
        measure_surrogate(LineTask(STRIP, free, SURROGATE), episodes=1)
