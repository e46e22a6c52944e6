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

from sofa_softctl._internal.executors.local import LocalExecutor
from sofa_softctl.errors import LibraryError, WorkerError
from sofa_softctl.library.build import Builder, TaskChain, solve
from sofa_softctl.library.ocp.shooting import Program
from sofa_softctl.library.storage import FORMAT, LibraryFile, load


def pendulum(reach=1.2):
    """From rest to rest at an angle up to 1.2 rad in a second, moved by a torque of at most 9 N m:
    a problem that is not linear, solved in 10 ms."""
    import casadi as ca

    from sofa_softctl.library.ocp.problem import OptimalControlProblem, Parameter, Variable

    return OptimalControlProblem(
        name="pendulum",
        states=[Variable("angle [rad]"), Variable("rate [rad/s]")],
        inputs=[Variable("torque [N m]", -9.0, 9.0)],
        parameters=[Parameter("start [rad]", -reach, reach), Parameter("end [rad]", -reach, reach)],
        dynamics=lambda x, u, z, p: [x[1], u[0] - 9.81 * ca.sin(x[0])],
        initial=lambda z, p: [p[0], 0.0],
        terminal=lambda x, z, p: [x[0] - p[1], x[1]],
        cost=lambda x, u, z, p: u[0] ** 2,
        error=lambda x, z, p: float(abs(x[0] - p[1]) + 0.1 * abs(x[1])),
        tolerance=0.02,
        horizon=1.0,
        intervals=10,
        steps=2,
    )


@pytest.fixture(scope="module")
def program():
    return Program(pendulum())


def made(path, program, **given):
    file = LibraryFile.create(path, program.model)
    return Builder(program, file, **{"successes": 30} | given)


def same(one, other):
    assert len(one) == len(other)
    for a, b in zip(one.entries, other.entries, strict=True):
        np.testing.assert_array_equal(a.p, b.p)
        np.testing.assert_allclose(a.v, b.v, atol=1e-12)


def test_it_ends_when_enough_tasks_in_a_row_need_no_new_motion(program, tmp_path):
    builder = made(tmp_path / "a", program)
    library, counts = builder.build(), builder.counts
    assert builder.done and counts.run == counts.longest == 30
    assert 5 < len(library) == counts.solved - counts.infeasible - counts.degenerate
    assert counts.plannings == counts.solved + counts.by_sensitivity + counts.by_qp
    rng, errors = np.random.default_rng(5), []
    for _ in range(100):
        p = rng.uniform(-1.2, 1.2, 2)
        errors.append(library.query(p, check=program).simulated_error)
    assert np.mean(np.array(errors) <= 0.02) > 0.9  # 30 in a row: 97 % at the median


def test_the_file_holds_the_library_and_what_was_done(program, tmp_path):
    builder = made(tmp_path / "a", program)
    library = builder.build()
    found = load(tmp_path / "a")
    same(found, library)
    np.testing.assert_array_equal(found.errors, library.errors)
    p = np.array([0.4, -0.9])
    np.testing.assert_allclose(found.query(p).v, library.query(p).v, atol=1e-5)  # Z: 4 bytes
    again = Builder(program, LibraryFile(tmp_path / "a"))
    assert again.counts == builder.counts


def test_workers_make_the_same_library(program, tmp_path):
    alone = made(tmp_path / "a", program, successes=8)
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        both = made(tmp_path / "b", program, successes=8, executor=executor, make=pendulum)
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
    rest = Builder(program, LibraryFile(tmp_path / "b"), successes=30)
    assert rest.counts.plannings == 24
    same(rest.build(), whole.library)
    assert rest.counts.plannings == whole.counts.plannings


KILLED = """
import sys
sys.path.insert(0, {folder!r})
from test_build import made, pendulum, Program
builder = made({path!r}, Program(pendulum()), successes=10**6)
builder.build(lambda progress: print(progress.motions, flush=True))
"""


def test_a_kill_loses_nothing_that_was_told(tmp_path):
    path = tmp_path / "a"
    script = KILLED.format(folder=str(Path(__file__).parent), path=str(path))
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    told = 0
    while told < 12:
        told = int(process.stdout.readline())
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    with LibraryFile(path) as file:
        assert len(file) >= told
        assert len(file.library()) == len(file)
        assert file.about("state")["counts"]["solved"] >= told


def test_a_library_of_another_problem_is_refused(program, tmp_path):
    made(tmp_path / "a", program)
    other = Program(pendulum(reach=1.0))  # the range is no part of the problem
    Builder(other, LibraryFile(tmp_path / "a"))
    longer = pendulum()
    object.__setattr__(longer, "horizon", 1.1)
    with pytest.raises(LibraryError, match="is for another problem, 'pendulum' with digest"):
        Builder(Program(longer), LibraryFile(tmp_path / "a"))


def test_problems_without_a_solution_are_counted_skipped_and_listed(program, tmp_path):
    """With 9 N m the pendulum does not turn 40 rad in a second."""
    builder = made(tmp_path / "a", program)
    chain = TaskChain(np.random.default_rng(0))
    found = solve(program, np.array([0.0, 40.0]))
    assert not found.status.ok and found.entry is None
    assert builder._take(chain, np.array([0.0, 40.0]), found) is None
    assert (builder.counts.infeasible, len(builder.library)) == (1, 0)
    assert builder.skipped[0][:2] == [0.0, 40.0]
    builder.keep([])
    assert LibraryFile(tmp_path / "a").about("state")["skipped"][0][:2] == [0.0, 40.0]


def _ended(*_):
    os._exit(9)


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
    return replace(pendulum(), horizon=1.5)


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


def test_a_worker_that_dies_once_changes_nothing(program, tmp_path):
    alone = made(tmp_path / "a", program, successes=8)
    with LocalExecutor(2) as executor:
        make = partial(dying_once, tmp_path)
        other = made(tmp_path / "b", program, successes=8, executor=executor, make=make)
        same(alone.build(), other.build())
    assert (tmp_path / "died").exists()


def test_tasks_in_a_chain_start_where_the_last_one_that_was_done_ended(program, tmp_path):
    seen = []

    def draw(rng, state, end):
        seen.append((state, None if end is None else end.copy()))
        start = 0.0 if end is None else float(end[0])
        return np.array([start, rng.uniform(-1.0, 1.0)]), (state or 0) + 1

    chained = Program(pendulum())
    object.__setattr__(chained.problem, "draw", draw)
    builder = made(tmp_path / "a", chained)
    builder.round()
    builder.round()
    first, second = seen[:8], seen[8:16]
    assert all(state is None and end is None for state, end in first)
    assert [state for state, _ in second] == 8 * [1]
    ends = [end[0] for _, end in second]
    wanted = [entry.p[1] for entry in builder.library.entries[:8]]
    np.testing.assert_allclose(ends, wanted, atol=0.02)


@pytest.mark.parametrize("content", [b"", b"no library at all" * 10])
def test_a_file_that_is_no_library_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "a"
    path.write_bytes(content)
    with pytest.raises(LibraryError, match="expected a library of motions|is no SQLite file"):
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
    with pytest.raises(LibraryError, match="motion 2 is damaged"):
        load(path)
    database.execute(f"PRAGMA user_version = {FORMAT + 1}")
    database.close()
    with pytest.raises(LibraryError, match=f"has format {FORMAT + 1}"):
        load(path)


def test_a_higher_accuracy_takes_more_motions(program, tmp_path):
    """Errors grow with the square of distances: a quarter of them, motions at half the distance."""
    usual = made(tmp_path / "a", program)
    finer = made(tmp_path / "b", program, accuracy=0.25)
    assert len(finer.build()) > 1.3 * len(usual.build())


def test_what_remains_is_the_mean_time_to_a_run_of_successes(program, tmp_path):
    """Of 4,000 simulated runs at the same share of successes; 3 standard errors are 4 %."""
    builder = made(tmp_path / "a", program, successes=20)
    builder.recent.extend([True] * 949 + [False] * 49)  # 50 of 1,000, by the rule of succession
    builder.counts.run = 5
    rng, tasks = np.random.default_rng(0), []
    for _ in range(4000):
        run, count = 5, 0
        while run < 20:
            run, count = (run + 1 if rng.random() < 0.95 else 0), count + 1
        tasks.append(count)
    assert builder.remaining() == pytest.approx(np.mean(tasks), rel=0.04)
    builder.counts.run = 20
    assert builder.remaining() == 0.0
    builder.recent.clear()
    builder.successes = 10**6
    assert builder.remaining() == np.inf
