"""Searches from several starts by worker processes, and the minima at which they end."""

import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context, parent_process
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.base.executors.local import LocalExecutor
from sofa_softctl.errors import IdentificationError, SimulationError, WorkerError
from sofa_softctl.identification.fitting.estimate import estimate
from sofa_softctl.identification.fitting.starts import distinct_minima
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import Parameter
from sofa_softctl.identification.report.make import make_report

FREQUENCY = Parameter("w", 9.0, "1/s", lower=2.0, upper=20.0)


@dataclass(eq=False)
class Pendulum(Experiment):
    """The angle cos(w t) of a pendulum: a fit has a minimum at every other count of swings."""

    time: np.ndarray
    measured: np.ndarray
    fastest: float = np.inf
    """Larger frequencies cannot be simulated [1/s]."""
    deadly: float = np.inf
    """Larger ones kill a worker process [1/s]..."""
    deaths: tuple[str, int] = ("", 0)
    """... so often: folder, in which each leaves a file, and how often."""
    name: str = "pendulum"
    inputs: tuple = ()
    channels: tuple = (Channel("angle", "rad", deviation=0.02),)
    parameters: tuple = (FREQUENCY,)

    def outputs(self, rho):
        return np.cos(rho[0] * self.time)[:, None]

    def sensitivities(self, rho):
        if rho[0] > self.fastest:
            raise SimulationError("it swings too fast.")
        if rho[0] > self.deadly and parent_process() is not None:
            die(*self.deaths)
        slope = -self.time * np.sin(rho[0] * self.time)
        return self.outputs(rho), slope[:, None, None]


def die(folder, times):
    """End this process, if so many did not before."""
    for k in range(times):
        try:
            Path(folder, str(k)).touch(exist_ok=False)
        except FileExistsError:
            continue
        os.kill(os.getpid(), signal.SIGKILL)


def pendulum(every=0.05, **given):
    """3 s of a pendulum of 10 / s, with noise."""
    time = np.arange(0.0, 3.001, every)
    y = np.cos(10.0 * time) + 0.02 * np.random.default_rng(3).standard_normal(len(time))
    return Pendulum(time, y[:, None], **given)


def made():
    """For workers."""
    return [pendulum()]


@pytest.fixture(scope="module")
def fitted():
    """Estimates with so many workers, which start once for all tests."""
    with LocalExecutor(1) as one, LocalExecutor(2) as two:
        pools = (None, one, two)
        yield lambda count, model, **given: estimate(
            [model], executor=pools[count], **{"starts": 9, "seed": 1} | given
        )


def numbers(found):
    """All of an estimate but its wall time, to the last bit."""
    searches = [
        (s.start.tobytes(), s.rho.tobytes(), s.cost, s.termination, s.information.tobytes())
        for s in found.searches
    ]
    failed = [(start.tobytes(), why) for start, why in found.failed]
    return found.rho.tobytes(), found.cost, found.evaluations, found.warnings, searches, failed


@pytest.mark.soak
@pytest.mark.parametrize("estimate_noise", [False, True])
def test_estimates_are_the_same_bit_for_bit_with_any_number_of_workers(fitted, estimate_noise):
    """Also where starts cannot be simulated and are moved."""
    one = pendulum(fastest=14.0)
    given = {"estimate_noise": estimate_noise}
    alone, single, double = (fitted(count, one, **given) for count in (0, 1, 2))
    assert numbers(alone) == numbers(single) == numbers(double)
    assert "starts the model cannot be simulated" in alone.warnings[0]


def test_several_starts_find_the_best_minimum_where_one_ends_in_a_wrong_one(fitted):
    far = [replace(FREQUENCY, start=6.0)]
    one, many = estimate([pendulum()], far), fitted(2, pendulum(), parameters=far)
    assert abs(one.rho[0] - 10.0) > 1.0 and one.cost > 1e4
    assert many.rho == pytest.approx([10.0], abs=0.01)
    assert len(many.minima) > 1 and len(many.searches) == 9
    assert many.minima[0].cost == many.cost
    ends = sorted(i for each in many.minima for i in each.searches)
    assert ends == list(range(9))  # all converged


def test_two_minima_that_fit_alike_are_an_estimate_not_to_be_trusted():
    """Samples every 0.5 s are those of 10 / s and of 4 pi - 10 = 2.57 / s."""
    data, below = [pendulum(every=0.5)], [replace(FREQUENCY, start=5.0, upper=14.0)]
    report = make_report("pendulum", estimate(data, below, starts=12), data)
    (text,) = [one.text for one in report.diagnostics if one.level == "bad"]
    assert text.startswith("The data do not decide between two minima: w = ")
    assert "Record another motion" in text and "of 12 searches ended at the best" in text
    found = report.to_dict()
    rates = sorted(one["parameters"]["w"] for one in found["minima"][:2])
    assert rates == pytest.approx([4.0 * np.pi - 10.0, 10.0], abs=0.05)
    assert found["starts"] == 12 and found["failed_starts"] == []
    numbered = [one["minimum"] for one in found["searches"]]
    assert [numbered.count(k + 1) for k in range(2)] == [
        one["searches"] for one in found["minima"][:2]
    ]


def test_ends_that_the_data_do_not_tell_apart_are_one_minimum(models):
    """Released from a place, only k / m and c / m are seen: ends differ, the minimum is one."""
    k, c, m = models.Swing.parameters
    data = [models.swing(1, place=0.02)]
    first, second = (
        estimate(data, [k, c, replace(m, start=start)]).searches[0] for start in (0.4, 0.3)
    )
    assert abs(first.rho[0] - second.rho[0]) > 1.0
    (one,) = distinct_minima((first, second))
    assert one.count == 2


def test_a_search_whose_worker_is_killed_is_done_again(fitted, tmp_path):
    folder = str(tmp_path)
    killed = fitted(2, pendulum(deadly=15.0, deaths=(folder, 1)))
    assert (tmp_path / "0").exists()
    assert numbers(killed) == numbers(fitted(0, pendulum()))


def test_a_search_that_kills_every_worker_is_reported_and_costs_no_other(fitted, tmp_path):
    one = pendulum(deadly=15.0, deaths=(str(tmp_path), 99))
    found = fitted(2, one)
    (text,) = found.warnings
    count = len(found.failed)
    assert count >= 1 and len(found.searches) == 9 - count
    assert len(list(tmp_path.iterdir())) == 2 * count
    assert text.startswith(f"{count} of 9 searches are missing, as their worker processes died")
    assert "was killed by SIGKILL" in text
    assert found.rho == pytest.approx([10.0], abs=0.01)
    failed = make_report("pendulum", found, [one]).to_dict()["failed_starts"]
    assert len(failed) == count and "SIGKILL" in failed[0]["reason"]


@pytest.mark.soak
def test_nothing_is_left_when_every_search_kills_its_worker(fitted, tmp_path):
    one = pendulum(deadly=0.0, deaths=(str(tmp_path), 99))
    with pytest.raises(WorkerError, match="2 of 2 searches lost their .*SIGKILL.*fewer workers"):
        fitted(2, one, starts=2)


def test_a_pool_that_breaks_is_an_error(tmp_path):
    """ProcessPoolExecutor loses all tasks with one worker."""
    one = pendulum(deadly=0.0, deaths=(str(tmp_path), 99))
    with (
        ProcessPoolExecutor(1, get_context("spawn")) as executor,
        pytest.raises(WorkerError, match="while parameters were searched from start"),
    ):
        estimate([one], starts=2, executor=executor)


def test_experiments_that_cannot_be_sent_are_made_by_a_function(fitted):
    class Own(Pendulum):
        """Defined in a function: cannot be pickled."""

    own = Own(*vars(pendulum()).values())
    locked = pendulum()
    locked.lock = threading.Lock()
    for model in (own, locked):
        with pytest.raises(IdentificationError, match="cannot be sent to worker .* Give `make`"):
            fitted(1, model, starts=2)
    assert numbers(fitted(1, own, starts=2, make=made)) == numbers(fitted(0, own, starts=2))


@pytest.mark.soak
def test_progress_is_called_at_the_end_of_each_search(fitted):
    told = []
    found = fitted(2, pendulum(), progress=lambda *values: told.append(values))
    assert sorted(number for number, _, _ in told) == list(range(9))
    assert sorted(cost for *_, cost in told) == [one.cost for one in found.searches]
