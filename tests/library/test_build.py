"""Building libraries: Algorithm 1, its file, kills, workers, and problems without a solution."""

import os
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from sofa_softctl.base.executors.local import LocalExecutor
from sofa_softctl.errors import LibraryError, WorkerError
from sofa_softctl.library.building.build import Builder
from sofa_softctl.library.building.solving import TaskChain, solve
from sofa_softctl.library.building.stopping import PredictedInfeasible, Window, tasks_wanted
from sofa_softctl.library.building.verify import verify
from sofa_softctl.library.motions.storage import FORMAT, LibraryFile, load
from sofa_softctl.library.motions.trials import FeasibilitySettings
from sofa_softctl.library.ocp.shooting import Program


def pendulum(reach=2.4):
    """From rest to rest at an angle up to 2.4 rad in 1.5 s, moved by a torque of at most 15 N m: a
    problem that is far from linear, solved in 10 ms."""
    import casadi as ca

    from sofa_softctl.library.ocp.problem import OptimalControlProblem, Parameter, Variable

    return OptimalControlProblem(
        name="pendulum",
        states=[Variable("angle [rad]"), Variable("rate [rad/s]")],
        inputs=[Variable("torque [N m]", -15.0, 15.0)],
        parameters=[Parameter("start [rad]", -reach, reach), Parameter("end [rad]", -reach, reach)],
        dynamics=lambda x, u, z, p: [x[1], u[0] - 9.81 * ca.sin(x[0])],
        initial=lambda z, p: [p[0], 0.0],
        terminal=lambda x, z, p: [x[0] - p[1], x[1]],
        cost=lambda x, u, z, p: u[0] ** 2,
        error=lambda x, z, p: abs(x[0] - p[1]) + 0.1 * abs(x[1]),
        tolerance=0.02,
        terminal_tolerances=[0.02, 0.2],
        horizon=1.5,
        intervals=10,
        steps=4,
    )


@pytest.fixture(scope="module")
def program():
    return Program(pendulum())


def made(path, program, **given):
    file = LibraryFile.create(path, program.model)
    return Builder(program, file, **{"failure_rate": 0.3} | given)


def same(one, other):
    assert len(one) == len(other)
    for a, b in zip(one.entries, other.entries, strict=True):
        np.testing.assert_array_equal(a.p, b.p)
        np.testing.assert_allclose(a.v, b.v, atol=1e-12)


@pytest.mark.processes
def test_it_ends_when_few_tasks_fail(program, tmp_path):
    builder = made(tmp_path / "a", program, failure_rate=0.2)
    library, counts = builder.build(), builder.counts
    assert builder.done and builder.bound <= 0.2
    assert builder.window.tasks >= tasks_wanted(0.2, len(library))
    assert 5 < len(library) == counts.solved - counts.infeasible - counts.degenerate - counts.spared
    by_library = counts.by_sensitivity + counts.by_qp + counts.by_shifts + counts.by_steps
    assert counts.plannings == counts.solved + by_library == sum(builder.grown)
    assert len(builder.grown) == len(library) + 1
    rng = np.random.default_rng(5)
    answers = [library.query(rng.uniform(-2.4, 2.4, 2)) for _ in range(100)]
    good = [answer for answer in answers if answer.status.ok]
    assert len(good) > 80  # the bound
    for answer in good[:25]:
        angle, rate = swung(answer.motion.u[:, 0], answer.p)
        assert abs(angle - answer.p[1]) + 0.1 * abs(rate) <= 0.02 + 1e-6  # simulations: 1e-6


def swung(torques, p):
    """State at the end, by another integrator than the library's and the planner's."""
    x = np.array([p[0], 0.0])
    for torque in torques:

        def dynamics(t, x, torque=torque):
            return [x[1], torque - 9.81 * np.sin(x[0])]

        x = solve_ivp(dynamics, (0.0, 0.15), x, method="DOP853", rtol=1e-10, atol=1e-10).y[:, -1]
    return x


def test_the_file_holds_the_library_and_what_was_done(program, tmp_path):
    builder = made(tmp_path / "a", program)
    library = builder.build()
    found = load(tmp_path / "a")
    same(found, library)
    assert found.model.digest == library.model.digest == program.digest
    assert found.model.tolerance == 0.02 and found.model.terminal_tolerances == (0.02, 0.2)
    p = np.array([0.4, -0.9])
    one, other = found.query(p), library.query(p)
    np.testing.assert_allclose(one.v, other.v, atol=1e-5)  # Z: 4 bytes
    assert one.status.ok and one.report.reason == other.report.reason
    assert one.error == pytest.approx(other.error, abs=1e-5)
    again = Builder(program, LibraryFile(tmp_path / "a"))
    assert again.counts == builder.counts


@pytest.mark.processes
def test_workers_make_the_same_library(program, tmp_path):
    alone = made(tmp_path / "a", program, failure_rate=0.6)
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        both = made(tmp_path / "b", program, failure_rate=0.6, executor=executor, make=pendulum)
        same(alone.build(), both.build())
    assert alone.counts.plannings == both.counts.plannings


def stopped(builder, rounds):
    """As if killed after some rounds that were kept."""
    for _ in range(rounds):
        builder.keep(builder.round())
    builder.file.close()


def test_it_goes_on_where_it_was_stopped(program, tmp_path):
    whole = made(tmp_path / "a", program)
    whole.build()
    stopped(made(tmp_path / "b", program), 3)
    rest = Builder(program, LibraryFile(tmp_path / "b"), failure_rate=0.3)
    assert rest.counts.plannings == 24
    same(rest.build(), whole.library)
    assert rest.counts.plannings == whole.counts.plannings


KILLED = """
import sys
sys.path.insert(0, {folder!r})
from test_build import made, pendulum, Program
builder = made({path!r}, Program(pendulum()), failure_rate=1e-6, accuracy=0.1)
builder.build(lambda progress: print(progress.motions, flush=True))
"""


@pytest.mark.processes
def test_a_kill_loses_nothing_that_was_told(tmp_path):
    path = tmp_path / "a"
    script = KILLED.format(folder=str(Path(__file__).parent), path=str(path))
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    told, lines = 0, 0
    with process, process.stdout as output:
        while told < 12 and lines < 500:
            told, lines = int(output.readline()), lines + 1
        os.kill(process.pid, signal.SIGKILL)
    assert told >= 12
    with LibraryFile(path) as file:
        assert len(file) >= told
        assert len(file.library()) == len(file)
        assert file.about("state")["counts"]["solved"] >= told


def test_a_library_of_another_problem_is_refused(program, tmp_path):
    made(tmp_path / "a", program)
    other = Program(pendulum(reach=2.0))
    with pytest.raises(LibraryError, match=r"'pendulum' with parameters .*2.4.*, not .*2.0"):
        Builder(other, LibraryFile(tmp_path / "a"))
    longer = pendulum()
    object.__setattr__(longer, "horizon", 1.6)
    with pytest.raises(LibraryError, match="is for another problem, 'pendulum' with digest"):
        Builder(Program(longer), LibraryFile(tmp_path / "a"))


def test_problems_without_a_solution_are_counted_skipped_and_listed(program, tmp_path):
    """With 15 N m the pendulum does not turn 40 rad in 1.5 s."""
    builder = made(tmp_path / "a", program)
    chain = TaskChain(np.random.default_rng(0))
    found = solve(program, np.array([0.0, 40.0]))
    assert not found.status.ok and found.entry is None
    assert builder._count_and_add(chain, np.array([0.0, 40.0]), found, is_first=True) == []
    assert (builder.counts.infeasible, len(builder.library)) == (1, 0)
    assert builder.skipped[0][:2] == [0.0, 40.0]
    builder.keep([])
    assert LibraryFile(tmp_path / "a").about("state")["skipped"][0][:2] == [0.0, 40.0]


def _ended(*_):
    os._exit(9)


@pytest.mark.processes
def test_tasks_without_a_motion_are_learnt_whenever_the_file_is_written(tmp_path):
    """Up to 6 rad in 1.5 s, which 15 N m do not always do. One builder writes after each round, the
    other one at the end, as times decide otherwise: the same tasks are solved."""
    program, builders = Program(pendulum(reach=6.0)), []
    for name, each in (("a", 1), ("b", 25)):
        builder = made(tmp_path / name, program, failure_rate=1e-6)
        new = []
        for number in range(25):
            new += builder.round()
            if (number + 1) % each == 0:
                builder.keep(new)
                new = []
        builders.append(builder)
    one, other = builders
    assert one.counts.infeasible >= 10 and one.presumed.unsolved > 2
    assert one.presumed.wrong <= 0.2 * (one.presumed.solved + one.presumed.unsolved)
    assert one.presumed == other.presumed and one.skipped == other.skipped
    same(one.library, other.library)


def test_what_was_presumed_in_vain_counts(program, tmp_path, monkeypatch):
    """All tasks are presumed to have no motion, all are solved, and all have one."""
    monkeypatch.setattr(Builder, "_predict_infeasible", lambda builder, tasks: [True] * len(tasks))
    solve_all = FeasibilitySettings(solved_fraction=1.0)
    monkeypatch.setattr("sofa_softctl.library.building.build.FEASIBILITY", solve_all)
    builder = made(tmp_path / "a", program)
    builder.round()
    assert builder.counts.solved == 8 and builder.counts.infeasible == 0
    assert builder.presumed == PredictedInfeasible(unsolved=0, solved=8, wrong=8)


@pytest.mark.processes
def test_a_worker_that_dies_is_told_and_the_library_is_kept(program, tmp_path):
    builder = made(tmp_path / "a", program)
    builder.keep(builder.round())
    known = len(builder.library)
    with ProcessPoolExecutor(1, get_context("spawn")) as executor:
        builder.executor, builder.make = executor, partial(_ended)
        with pytest.raises(WorkerError, match="A worker process ended.*has all motions"):
            for _ in range(50):
                builder.round()
    builder.file.close()
    assert len(load(tmp_path / "a")) == known > 0


def slower():
    """Another problem: as if the file of the first one had been changed."""
    return replace(pendulum(), horizon=1.6)


@pytest.mark.processes
def test_a_worker_whose_problem_is_another_one_is_an_error(program, tmp_path):
    with LocalExecutor(1) as executor:
        builder = made(tmp_path / "a", program, executor=executor, make=slower)
        with pytest.raises(LibraryError, match="made another problem 'pendulum' .* Start again"):
            builder.round()


def dying_once(folder):
    """The pendulum, but the first process that makes it ends."""
    if not (folder / "died").exists():
        (folder / "died").touch()
        os._exit(9)
    return pendulum()


@pytest.mark.processes
def test_a_worker_that_dies_once_changes_nothing(program, tmp_path):
    alone = made(tmp_path / "a", program, failure_rate=0.6)
    with LocalExecutor(2) as executor:
        make = partial(dying_once, tmp_path)
        other = made(tmp_path / "b", program, failure_rate=0.6, executor=executor, make=make)
        same(alone.build(), other.build())
    assert (tmp_path / "died").exists()


def test_tasks_in_a_chain_start_where_the_last_one_that_was_done_ended(program, tmp_path):
    seen = []

    def draw(rng, state, end):
        start = 0.0 if end is None else float(end[0])
        goal = rng.uniform(-1.0, 1.0)
        seen.append((state, None if end is None else end.copy(), goal))
        return np.array([start, goal]), (state or 0) + 1

    chained = Program(pendulum())
    object.__setattr__(chained.problem, "draw", draw)
    builder = made(tmp_path / "a", chained)
    builder.round()
    builder.round()
    first, second = seen[:8], seen[8:16]
    assert all(state is None and end is None for state, end, _ in first)
    assert [state for state, *_ in second] == 8 * [1]
    ends = [end[0] for _, end, _ in second]
    np.testing.assert_allclose(ends, [goal for *_, goal in first], atol=0.02)


@pytest.mark.parametrize("content", [b"", b"no library at all" * 10])
def test_a_file_that_is_no_library_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "a"
    path.write_bytes(content)
    with pytest.raises(LibraryError, match="expected a library of motions|is not a SQLite file"):
        load(path)
    assert path.read_bytes() == content


def test_a_library_that_cannot_be_written_is_told_and_leaves_nothing(program, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(LibraryError, match=r"Cannot write '.*file/library': File exists"):
        made(tmp_path / "file" / "library", program)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_a_missing_truncated_damaged_or_newer_file_is_told(program, tmp_path):
    with pytest.raises(LibraryError, match="there is no such library"):
        load(tmp_path / "none")
    path = tmp_path / "a"
    builder = made(path, program)
    builder.keep(builder.round())
    builder.file.close()
    with pytest.raises(LibraryError, match="exists already"):
        LibraryFile.create(path, program.model)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(LibraryError, match="cannot be used|damaged"):
        load(path)
    path.write_bytes(whole)
    database = sqlite3.connect(path)
    database.execute("UPDATE entries SET data = x'00' WHERE id = 2")
    database.commit()
    with pytest.raises(LibraryError, match="is damaged: its motion 2 cannot be read"):
        load(path)
    for version, advice in ((FORMAT + 1, "Update softctl"), (1, "build it again")):
        database.execute(f"PRAGMA user_version = {version}")
        with pytest.raises(LibraryError, match=f"has format {version}, .* {advice}"):
            load(path)
    database.close()


@pytest.mark.parametrize(("table", "what"), [("entries", "motion"), ("trials", "record of trials")])
def test_a_record_in_the_place_of_another_is_damage(program, tmp_path, table, what):
    """Each is whole, so that nothing but its checksum tells."""
    path = tmp_path / "a"
    builder = made(path, program)
    for _ in range(2):
        builder.keep(builder.round())
    builder.file.close()
    with sqlite3.connect(path) as database:
        database.execute(f"UPDATE {table} SET data = (SELECT data FROM {table} ORDER BY id DESC)")
    database.close()
    with pytest.raises(LibraryError, match=f"is damaged: its {what} 1 cannot be read"):
        load(path)


def contents(path):
    """All that a file holds, as bytes and JSON."""
    with LibraryFile(path) as file:
        about = [file.about(name) for name in ("version", "problem", "model", "state")]
        formulas = [(name, tape.digest) for name, tape in file.model.tapes.items()]
        return len(file), about, formulas, [each.to_bytes() for each in file.library().entries]


@pytest.mark.processes
def test_a_flipped_bit_is_said_or_changes_nothing(program, tmp_path):
    path = tmp_path / "a"
    builder = made(path, program)
    builder.keep(builder.round())
    builder.file.close()
    whole, rng, said = path.read_bytes(), np.random.default_rng(0), 0
    held = contents(path)
    for place in rng.integers(0, 8 * len(whole), 60):
        flipped = bytearray(whole)
        flipped[place // 8] ^= 1 << int(place % 8)
        path.write_bytes(flipped)
        try:
            assert contents(path) == held, place
        except LibraryError as error:
            assert str(path) in str(error), place
            said += 1
    assert said > 30  # most of the file is arrays


@pytest.mark.processes
def test_a_full_disk_ends_the_build_and_keeps_the_motions_before(program, tmp_path):
    """Full at five sizes between the empty file and the whole one: also between two motions."""

    def pages(builder):
        return builder.file._file.row("PRAGMA page_count")[0]

    path, whole, empty = (
        tmp_path / "a",
        made(tmp_path / "b", program),
        made(tmp_path / "a", program),
    )
    whole.build()
    for most in np.linspace(pages(empty) + 1, pages(whole) - 2, 5, dtype=int):
        builder = Builder(program, LibraryFile(path), failure_rate=0.3)
        builder.file._file.execute(f"PRAGMA max_page_count = {most}")  # SQLITE_FULL
        with pytest.raises(LibraryError, match="a: the library cannot grow, the disk is full"):
            builder.build()
        builder.file.close()
        with LibraryFile(path) as file:
            state = file.about("state") or {"grown": [0]}
            assert len(file.library()) == len(state["grown"]) - 1, most
    rest = Builder(program, LibraryFile(path), failure_rate=0.3)
    assert len(rest.library) > 0
    same(rest.build(), whole.library)


def test_a_second_builder_is_refused_while_the_first_builds(program, tmp_path):
    path = tmp_path / "a"
    second = made(path, program)
    refused = 0

    def meanwhile(_):
        nonlocal refused
        with pytest.raises(LibraryError, match=f"{path}: another process builds this library"):
            second.build()
        refused += 1

    first = Builder(program, LibraryFile(path), failure_rate=0.3)
    first.build(meanwhile)
    assert refused > 0
    same(load(path), first.library)
    same(second.build(), first.library)  # it has nothing to do any more
    same(load(path), first.library)


@pytest.mark.processes
def test_a_higher_accuracy_takes_more_motions(program, tmp_path):
    """Two steps of correction come to a tenth of the tolerance from nearer motions alone."""
    usual = made(tmp_path / "a", program)
    finer = made(tmp_path / "b", program, accuracy=0.1)
    assert len(finer.build()) > 1.3 * len(usual.build())


def test_what_answers_are_tested_by_is_the_librarys(make_cart, tmp_path):
    """Of another tolerance, range, error or robot: refused by what differs."""
    path, problem = tmp_path / "cart.library", make_cart()
    LibraryFile.create(path, Program(problem).model).close()
    for given, said in (
        ({"tolerance": 1e-5}, "tolerance 1e-06, not 1e-05"),
        ({"terminal_tolerances": [1e-6, 1e-5]}, "terminal_tolerances"),
        ({"cost_tolerance": 0.2}, "cost_tolerance 0.1, not 0.2"),
        ({"error": lambda x, z, p: abs(x[0] - p[0]) + abs(x[1])}, "error of digest"),
        (
            {
                "parameters": [replace(each, lower=-2.0) for each in problem.parameters],
                "mirror": None,
            },
            "problem|parameters",
        ),
        ({"plant": {"mass": 1.0}}, "plant"),
    ):
        with LibraryFile(path) as file, pytest.raises(LibraryError, match=said):
            Builder(Program(replace(problem, **given)), file)


def test_a_higher_accuracy_goes_on_with_the_work(make_cart, tmp_path):
    """Tasks that were answered less well do not count: it does not end at once."""
    program = Program(make_cart())
    with LibraryFile.create(tmp_path / "cart.library", program.model) as file:
        Builder(program, file, failure_rate=0.3).build()
        assert Builder(program, file, failure_rate=0.3).done
        stricter = Builder(program, file, failure_rate=0.3, accuracy=0.5)
        assert not stricter.done and stricter.window == Window()
        assert stricter.changed == ["accuracy 0.5 (was 1)"]
        stricter.build()
        assert stricter.done


def test_a_blind_verification_solves_nothing(make_cart, tmp_path, monkeypatch):
    """The paper's method: answers are taken as they are, each counted by how it was adapted."""
    program = Program(make_cart())
    with LibraryFile.create(tmp_path / "cart.library", program.model) as file:
        library = Builder(program, file, failure_rate=0.3).build()
    monkeypatch.setattr(program, "solve", None)
    found = verify(library, program, 5, solve=False, simulated=False)
    assert sum(found.corrections.values()) == len(found.errors) == 5 and found.infeasible == 0


def test_a_problem_without_any_motion_is_said(tmp_path):
    """40 to 44 rad in 1.5 s: 40 tasks or so are tried, and none has a motion."""
    far = pendulum()
    object.__setattr__(far.parameters[1], "lower", 40.0)
    object.__setattr__(far.parameters[1], "upper", 44.0)
    with pytest.raises(LibraryError, match=r"None of \d+ tasks of 'pendulum' .*tasks: no motion"):
        made(tmp_path / "a", Program(far), failure_rate=0.5).build()


@pytest.mark.parametrize(
    ("name", "formula", "where"),
    [
        ("cost", lambda x, u, z, p: u[0] ** 2 / 0.0, "initial guess"),
        ("initial", lambda z, p: [(p[0] - 9.0) ** 0.5, 0.0], "initial guess"),
        ("error", lambda x, z, p: (x[0] - 9.0) ** 0.5, "optimum"),
    ],
)
def test_a_formula_without_a_value_is_named(tmp_path, name, formula, where):
    """A division by zero, and roots of negative numbers: `error` is no part of the program."""
    program = Program(replace(pendulum(), **{name: formula}))
    with pytest.raises(LibraryError, match=rf"tasks: '{name}' not finite at the {where}"):
        made(tmp_path / "a", program).build()


def test_building_ends_where_no_motion_can_be_made(tmp_path):
    """`error` has no value above 1 rad, for every sixth task or so: 1 % cannot be reached."""
    whole = pendulum(1.2)
    partly = replace(whole, error=lambda x, z, p: whole.error(x, z, p) + 1e-9 * (1.0 - x[0]) ** 0.5)
    builder = made(tmp_path / "a", Program(partly), failure_rate=0.01)
    assert len(builder.build()) > 1 and builder.done
    assert builder.hopeless and builder.bound > builder.window.least > 0.01
    assert "'error' not finite at the optimum" in builder.reasons


@pytest.mark.processes
def test_optima_that_break_a_limit_between_instants_are_not_kept(tmp_path, make_cart):
    """A wall 20 mm thick at 0.1 m, which plans jump over: four tasks in ten have to pass it."""
    from sofa_softctl.library.ocp.formulas import casadi

    ca = casadi()
    wall = make_cart(
        path=lambda x, u, z, p: [1.0 - 3.0 * ca.exp(-(((x[0] - 0.1) / 0.01) ** 2))],
        initial=lambda z, p: [0.0, 0.0],
        force=20.0,
        tolerance=1e-3,
        terminal_tolerances=[1e-3, 1e-2],
        mirror=None,
    )
    builder = made(tmp_path / "a", Program(wall), failure_rate=0.1)
    library = builder.build()
    assert builder.hopeless and builder.counts.unfit > 10
    assert max(each.p[0] for each in library.entries) < 0.1
    assert "the optimum breaks in simulation: violation of path 1 (more" in builder.reasons


@pytest.mark.parametrize("rate", [0.0, 1.0, float("nan")])
def test_a_failure_rate_that_cannot_be_is_refused(program, tmp_path, rate):
    with pytest.raises(LibraryError, match="failure_rate is the fraction of tasks that may fail"):
        made(tmp_path / "a", program, failure_rate=rate)
