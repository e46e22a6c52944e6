"""Decisions a second, both ways."""

from pathlib import Path

import pytest

from benchmarks.learning_throughput import _episodes, measure_throughput
from sofa_softctl.errors import WorkerError
from sofa_softctl.learning.environments.named import maker_of

pytestmark = pytest.mark.study

TINY = Path(__file__).parents[1] / "learning" / "tiny.py"


def test_both_ways_are_measured_in_turns():
    """A process for each episode of ten decisions mostly starts."""
    turns = []
    found = measure_throughput(
        maker_of(str(TINY)), (str(TINY), {}), 1, 0.2, rounds=1, progress=turns.append
    )
    assert turns == [1, 2] and found.steps == 2
    assert found.rate > found.separate > 0.0
    assert 0.5 < found.starting < 1.0
    assert found.to_dict()["ratio"] == pytest.approx(found.rate / found.separate)


def test_a_process_that_does_not_start_is_named(capfd):
    space = maker_of(str(TINY)).make_env().action_space
    with pytest.raises(WorkerError, match="No process could be started for 'none.py'"):
        _episodes(("none.py", {}), 0, 0.1, space)
    capfd.readouterr()
