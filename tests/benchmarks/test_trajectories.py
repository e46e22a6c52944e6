import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.trajectories import measure as library
from benchmarks.trajectories.measure import (
    PAPER,
    PAPER_SAVED,
    EnergyStudy,
    at_limit,
    measure_energies,
    measure_energy,
    solve_chain,
)
from benchmarks.trajectories.plot import save_energy_plot
from benchmarks.trajectories.table import NAMES, show_energy
from scenes.elastic_arm.problem import STIFFNESS, grasp_error, position
from scenes.elastic_arm.tasks import Goal, goals
from sofa_softctl.errors import SoftctlError

pytestmark = pytest.mark.study

pytest.importorskip("casadi")


@pytest.fixture(scope="module")
def measured():
    told = []
    return measure_energy(told.append, objects=1), told


def test_springs_save_in_the_first_tasks(measured):
    """Seed 0, one object: not the study's means, but their order."""
    found, _ = measured
    assert 0.02 < found.cost["rigid"] < 0.3
    assert 0.1 < found.saved["constant"] < 0.4
    assert found.saved["variable"] > found.saved["constant"]
    rigid, constant = (found.chains[name].cost.mean() for name in ("rigid", "constant"))
    assert found.saved["constant"] == pytest.approx(1.0 - constant / rigid)


def test_each_motion_starts_where_the_one_before_ended(measured):
    for name in ("rigid", "constant", "variable"):
        first = measured[0].chains[name].first
        for one, other in zip(first, first[1:], strict=False):
            end, start = one.motion.x[-1], other.motion.x[0]
            assert other.turned == pytest.approx(one.turned + end[0])
            assert start[1] == pytest.approx(end[1], abs=1e-7)
            if len(start) > 4:
                assert start[4:6] - start[:2] == pytest.approx(end[4:6] - end[:2], abs=1e-7)


def test_each_motion_ends_at_its_goal(measured):
    for chain in measured[0].chains.values():
        for placed in chain.first:
            p = [placed.goal.alpha - placed.turned, 0, 0, 0, placed.goal.rho]
            assert grasp_error(placed.motion.x[-1], np.array(p)) < 1e-6


def test_own_stiffness_is_the_mean_of_the_best_ones(measured):
    found, _ = measured
    own = found.chains["own"].stiffness
    assert own[np.isfinite(own[:, 0])][0] == pytest.approx(found.stiffness["beside"])
    paper = found.chains["constant"].stiffness
    assert paper == pytest.approx(np.tile(STIFFNESS, (2, 1)))


def test_choosing_the_stiffness_beside_a_constant_one_never_costs_more(measured):
    """The same starts, and the paper's stiffness is one of the choices: where the solver starts."""
    constant, beside = (measured[0].chains[name] for name in ("constant", "beside"))
    assert beside.starts == constant.starts
    assert np.all(beside.cost < constant.cost)


def test_progress_and_json(measured):
    found, told = measured
    assert len(told) == 5 and told[0].startswith("variable: 2 motions")
    rows = json.loads(json.dumps(found.to_dict()))["actuation"]
    for name, row in rows.items():
        chain = found.chains[name]
        assert row["cost"] == found.cost[name]
        assert row["failures"] == np.isnan(chain.cost).sum() == chain.failures == 0
        assert row["seconds_each"] == pytest.approx(sum(chain.seconds) / 2)  # two motions
        assert row["saved"] == found.saved.get(name)


def test_motions_that_cannot_be_done_are_counted_and_the_arm_waits():
    """Rigid: at 4 rad/s q_1 turns by 1.2 rad in 0.3 s, and goals 2 rad away are too far."""
    start, _ = goals(0, 1)
    rho, alpha = np.hypot(*position(start.q)), np.arctan2(*position(start.q)[::-1])
    far, near = (
        Goal(float(rho), float(alpha) - 2.0, 0.4),
        Goal(float(rho), float(alpha) - 0.02, 0.0),
    )
    chain = solve_chain("rigid", STIFFNESS, start, [far, near], 0.3)
    assert chain.failures == 1 and np.isnan(chain.cost[0]) and chain.cost[1] > 0.0
    assert [placed.turned for placed in chain.first] == [start.q[0]]
    assert at_limit(chain) == 0.0


def test_table_has_each_number_in_its_column(measured, capsys, monkeypatch):
    """Beside the paper's: costs in the second and third column, savings in the next two."""
    monkeypatch.setenv("COLUMNS", "160")
    found, _ = measured
    show_energy(EnergyStudy([found]))
    lines = [each.split("│") for each in capsys.readouterr().out.splitlines() if "│" in each]
    shown = {cells[1].strip(): [each.strip() for each in cells[2:6]] for cells in lines}
    for name, label in NAMES.items():
        paper, saved = PAPER.get(name), PAPER_SAVED.get(name)
        here = "" if name == "rigid" else f"{found.saved[name]:.1%}"
        cost = [f"{paper:.3f}" if paper else "", f"{found.cost[name]:.3f}"]
        assert shown[label] == [*cost, f"{saved:.1%}" if saved else "", here]


def test_several_seeds_give_a_spread(measured, capsys, monkeypatch):
    """Each seed has positions of its own; the table has the least and the largest of both."""
    monkeypatch.setenv("COLUMNS", "190")
    monkeypatch.setattr(library, "measure_energy", lambda report, seed: measured_at(seed))
    other = replace(measured[0], seed=1, chains=measured[0].chains | {"rigid": doubled(measured)})
    measured_at = {0: measured[0], 1: other}.__getitem__
    found = measure_energies(seeds=2)
    show_energy(found)
    least, largest = measured[0].cost["rigid"], other.cost["rigid"]
    assert largest == pytest.approx(2.0 * least)
    shown = capsys.readouterr().out
    assert f"{least:.3f} to {largest:.3f}" in shown and "of 2 seeds" in shown
    assert [each["seed"] for each in found.to_dict()["seeds"]] == [0, 1]


def doubled(measured):
    """The rigid arm's chain at twice the cost."""
    chain = measured[0].chains["rigid"]
    return replace(chain, cost=2.0 * chain.cost)


def test_plot_is_written(measured, tmp_path, drawn, check_readable):
    pytest.importorskip("matplotlib")
    save_energy_plot(tmp_path / "energy.png", EnergyStudy([measured[0]]))
    check_readable(drawn[0])
    assert (tmp_path / "energy.png").stat().st_size > 20_000
    with pytest.raises(SoftctlError, match="png"):
        save_energy_plot(tmp_path / "energy.txt", EnergyStudy([measured[0]]))
