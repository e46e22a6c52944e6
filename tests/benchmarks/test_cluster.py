"""Load of a batch on a cluster whose workers are simulated."""

import sys

import pytest

from benchmarks.cluster import cluster_load

pytestmark = [
    pytest.mark.study,
    pytest.mark.skipif(sys.platform != "linux", reason="counts bytes by Linux's TCP_INFO"),
]


@pytest.mark.study
def test_what_runs_cost_is_counted():
    done = []
    found = cluster_load(3, 2, 0.05, 40, lambda progress: done.append(progress.done))
    assert done[-1] == 40 and found.runs == 40
    assert 0.0 < found.rate <= 3 * 2 / 0.05
    assert found.busy == pytest.approx(found.rate * 0.05 / 6)
    assert found.scheduler > 0.0 and found.driver > 0.0
    assert found.shortest == pytest.approx(6 * found.scheduler)
    # A row has 600 bytes and a task 400, which are received and sent, in a message each.
    assert 1000.0 < found.received < 1e5 and 1000.0 < found.sent < 1e5


@pytest.mark.study
def test_it_is_shown(run_benchmark):
    status, out, _ = run_benchmark(
        "cluster", "--workers", 2, "--threads", 1, "--seconds", 0.05, "--runs", 10
    )
    assert status == 0
    assert "2 Dask workers, 2 runs of 0.05 s at once" in out and "shortest run" in out
