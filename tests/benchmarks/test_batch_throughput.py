"""Throughput of a batch beside loops."""

import pytest

from benchmarks.batch_throughput import LOOPS, throughput
from sofa_softctl.batch.study.file import read_study
from sofa_softctl.errors import StudyError
from tests.batch.studies import written

STUDY = """
scene = "bar.py"
steps = 2
[parameters.young]
range = [300, 900]
count = {count}
"""


@pytest.mark.soak
def test_a_batch_and_loops_do_runs_at_the_same_time(tmp_path):
    path = written(tmp_path, STUDY.format(count=3000))
    found = throughput(read_study(path), "loops of softctl run", 1, 0.5)
    assert found.batch > found.loops > 0.0, "each loop starts a process for each run"
    assert found.ratio == found.batch / found.loops
    assert found.runs >= 3


@pytest.mark.soak
def test_plain_loops_do_a_study(tmp_path):
    found = throughput(
        read_study(written(tmp_path, STUDY.format(count=3000))), "plain loops", 1, 0.5
    )
    assert found.batch > 0.0 and found.loops > 0.0


@pytest.mark.soak
def test_a_study_that_is_too_short_is_an_error(tmp_path):
    with pytest.raises(StudyError, match="was done in less than 500 s. Expected one of more runs"):
        throughput(read_study(written(tmp_path, STUDY.format(count=5))), "plain loops", 1, 500.0)


def test_a_study_that_sets_data_cannot_be_done_by_loops(tmp_path):
    with pytest.raises(StudyError, match="Expected a scene, not a function"):
        throughput(read_study(written(tmp_path)), next(iter(LOOPS)), 1, 1.0)
