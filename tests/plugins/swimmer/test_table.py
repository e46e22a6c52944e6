"""The study of planning with and without a map, where the mass matrix is in closed form."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from softctl_swimmer.body import fish
from softctl_swimmer.cli import app
from softctl_swimmer.flow.potential import Flow
from softctl_swimmer.motion.inertia import IsolatedInertia
from softctl_swimmer.planning import replay as replays
from softctl_swimmer.planning import study as studies
from softctl_swimmer.planning.counted import CountedMasses
from softctl_swimmer.planning.entries import MassEntries
from softctl_swimmer.planning.gait_plan import plan_gait
from softctl_swimmer.planning.gait_table import GaitTable
from softctl_swimmer.planning.gaits import follow_angles, wave
from softctl_swimmer.planning.motion_map import HINGES, MotionMap
from softctl_swimmer.planning.objectives import OBJECTIVES
from softctl_swimmer.planning.rivals import best_sine, random_gaits
from softctl_swimmer.planning.study import Study
from softctl_swimmer.planning.swimming import SwimmingDynamics
from softctl_swimmer.planning.table import PaperRow, Times, contest_of, measure, time_flow
from softctl_swimmer.show import show_table
from typer.testing import CliRunner

from sofa_softctl.status import Status
from sofa_softctl.surrogate import Settings, TensorSpline

TIMES = Times(0.5, 2.0)


@pytest.fixture(scope="module")
def study():
    """Two hinges, 2.5 s."""
    exact = MassEntries(IsolatedInertia(fish(3)))
    masses = TensorSpline(replace(exact, slopes=False), 0.3, lower=[-1.2] * 2, upper=[1.2] * 2)
    dynamics = SwimmingDynamics(MotionMap(masses, fish(3)), dt=0.05, torque=0.08)
    return Study(
        "fish", Flow.from_swimmer(fish(3), 42), exact, dynamics, 81, instants=51, limit=1.0
    )


@pytest.fixture(scope="module")
def row(study):
    return measure(study, "forward", TIMES, random_gaits(contest_of(study), 5))


@pytest.mark.soak
def test_a_plan_beats_random_gaits_and_the_best_sine(row):
    assert row.status == "SOLVED"
    assert row.progress > row.start > 0.0
    assert row.random[0] < row.random[1] < row.progress and 0.0 < row.sine < row.progress
    assert row.exact == pytest.approx(row.progress, rel=1e-3) and row.torque < 1.01


@pytest.mark.soak
def test_ratios_are_counts_and_measured_times(row):
    """Each motion of 51 instants asks for 50 new poses; the start tries 32 waves."""
    assert row.corners == 81 and row.map_seconds == 81 * 0.5
    assert row.kept > 50 * row.iterations and row.asked > row.kept
    spent = row.map_seconds + row.plan_seconds
    assert row.fewer == row.asked / 81 and row.faster == pytest.approx(row.asked * 0.5 / spent)
    assert row.honestly_faster == pytest.approx(row.kept * 2.0 / spent)
    assert json.loads(json.dumps(row.to_dict()))["paper"]["corners"] == 732


@pytest.mark.soak
def test_steps_on_the_map_are_off_by_its_error(row):
    """The spline is right to some 1e-5 of the entries."""
    assert 1e-12 < row.error < 1e-4 and row.error < row.error_of_displacement < 1e-2


def test_the_flow_is_timed_with_and_without_slopes(study):
    times = time_flow(study)
    assert 0.0 < times.f and 0.0 < times.f_slopes


def test_questions_are_counted_once_for_a_planner_that_keeps_answers(study):
    counted = CountedMasses(study.dynamics.embedding.masses)
    poses = np.array([[0.1, 0.2], [0.1 + 1e-6, 0.2], [0.3, 0.2]])
    np.testing.assert_array_equal(counted.at(poses).value, counted.masses.at(poses).value)
    counted.at(poses[:1])
    counted.curvature(poses, np.zeros((3, 36)))
    assert (counted.queries, counted.distinct, counted.curvature_poses) == (7, 2, 2)


def test_a_study_can_be_of_another_duration_and_strength(study):
    other = study.with_plan(3.0, 0.5)
    assert other.instants == 61 and other.dynamics.torque == 0.5
    assert (
        study.with_plan(2.5).dynamics.torque == study.dynamics.torque
        and study.with_plan(2.5).instants == 51
    )


@pytest.mark.soak
def test_random_gaits_are_as_large_as_their_limits_allow(study):
    task = contest_of(study)
    found, again = random_gaits(task, 3, seed=3), random_gaits(task, 3, seed=3)
    assert len(found) == 3 and all(
        np.array_equal(x.a, y.a) for x, y in zip(found, again, strict=True)
    )
    sizes = [max(np.abs(g.u).max(), np.abs(g.a[:, HINGES]).max() / task.reach) for g in found]
    assert 0.9 < min(sizes) and max(sizes) <= 1.0


@pytest.mark.soak
def test_the_best_sine_keeps_to_its_budget_and_its_limits(study, monkeypatch):
    clock = itertools.count()
    monkeypatch.setattr("softctl_swimmer.planning.rivals.perf_counter", lambda: next(clock))
    goal = OBJECTIVES["forward"](study.dynamics.embedding)
    best, motions = best_sine(contest_of(study), goal, 80)
    assert 0.0 < best and 40 < motions <= 80
    assert best_sine(contest_of(study), goal, 0) == (0.0, 0)


@pytest.mark.soak
def test_the_table_stands_beside_the_papers(row, capsys):
    show_table([row], PaperRow())
    text = capsys.readouterr().out
    assert "1,412" in text and "732" in text and "SOLVED" in text and "best sine wave" in text


@pytest.fixture
def planned(study, monkeypatch):
    """The command finds this swimmer prepared, and its plan made: `test_gait_plan` makes others."""
    swing = wave(
        study.dynamics.dt * np.arange(13),
        amplitude=np.full(2, 0.4),
        phase=np.arange(2.0),
        frequency=0.5,
    )
    begun = follow_angles(study.dynamics, swing)
    found = plan_gait(study.dynamics, instants=13, start=begun, settings=Settings(iterations=1))
    found = replace(found, plan=replace(found.plan, status=Status.SOLVED, message=""))
    monkeypatch.setattr(replays, "solve_gait", lambda *_, **__: found)
    monkeypatch.setattr(studies, "prepare", lambda *_, **__: study)


@pytest.mark.soak
@pytest.mark.usefixtures("planned")
def test_the_command_writes_a_gait_that_leads_where_it_says(study, tmp_path):
    out, plot, movie = (tmp_path / name for name in ("gait.csv", "gait.png", "swim.gif"))
    asked = [
        "plan",
        "--duration",
        "0.6",
        "--out",
        str(out),
        "--plot",
        str(plot),
        "--movie",
        str(movie),
        "--json",
    ]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    gait = follow_angles(study.dynamics, GaitTable.load(out, 2).angles)
    goal = OBJECTIVES["forward"](study.dynamics.embedding)
    made = goal.progress_of(study.dynamics.embedding, gait.a)
    assert said["status"] == "SOLVED" and made == pytest.approx(said["progress"])
    assert plot.read_bytes()[:4] == b"\x89PNG" and movie.read_bytes()[:4] == b"GIF8"


@pytest.mark.usefixtures("planned")
def test_a_gait_that_the_flow_does_not_confirm_is_not_written(study, monkeypatch, tmp_path):
    heavy = MassEntries(IsolatedInertia(replace(fish(3), fluid_density=9000.0)))
    monkeypatch.setattr(studies, "prepare", lambda *_, **__: replace(study, exact=heavy))
    out = tmp_path / "gait.csv"
    done = CliRunner().invoke(app, ["plan", "--duration", "0.6", "--out", str(out)])
    assert done.exit_code == 3 and "Do not execute it" in done.output and not out.exists()


@pytest.mark.parametrize(
    ("asked", "status", "message"),
    [
        (["table", "--body", "whale"], 2, "--body takes fish, eel, tadpole; got 'whale'"),
        (["table", "--objective", "up"], 2, "takes forward, backward"),
        (["plan", "--out", "gait.txt"], 2, "--out takes .csv; got 'gait.txt'"),
        (["plan", "--out", "gait.csv", "--torque", "inf"], 2, "Invalid value for '--torque'"),
        (["plan", "--out", "/none/gait.csv"], 2, "'/none/gait.csv' cannot be written"),
        (["plan", "--out", "gait.csv", "--movie", "a.mp4"], 2, "--movie takes .gif; got 'a.mp4'"),
        (["table", "--vertices", "12", "--quiet"], 1, "their meshes, 1.27 times as large, may"),
    ],
)
def test_bad_requests_are_refused(asked, status, message):
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == status
    assert message in " ".join(done.output.replace("│", " ").split())


def test_files_are_not_lost(tmp_path):
    out, store = tmp_path / "gait.csv", tmp_path / "fish.csv"
    out.write_text("mine")
    for asked, message in (
        (["--out", str(out)], "exists. Give another name, or --force"),
        (["--out", str(store), "--store", str(store)], "must be different files"),
    ):
        done = CliRunner().invoke(app, ["plan", *asked])
        assert done.exit_code == 2
        assert message in " ".join(done.output.replace("│", " ").split())
    assert out.read_text() == "mine"
