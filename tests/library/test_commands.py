"""softctl library: building, asking, verifying, exporting, from the command line."""

import csv
import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sofa_softctl.cli.app import app
from sofa_softctl.errors import LibraryError, SoftctlError, UsageError
from sofa_softctl.library.building.solving import TaskChain
from sofa_softctl.library.motions.storage import LibraryFile, load
from sofa_softctl.library.ocp.problem import load_problem
from sofa_softctl.library.ocp.shooting import Program

CART = Path(__file__).parents[2] / "scenes" / "problems" / "flexible_cart.py"
PENDULUM = f"{Path(__file__).with_name('test_build.py')}"


@pytest.fixture(scope="module")
def problem(tmp_path_factory):
    """A file with a problem of one's own."""
    path = tmp_path_factory.mktemp("problem") / "mine.py"
    text = Path(PENDULUM).read_text(encoding="utf-8")
    start, end = text.index("def pendulum"), text.index("@pytest.fixture")
    problems = "PROBLEMS = {'pendulum': lambda: pendulum(1.2)}"
    path.write_text(f"{text[start:end]}\n{problems}\n", encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def built(problem, tmp_path_factory):
    out = tmp_path_factory.mktemp("library") / "pendulum.library"
    told = run("build", problem, "--out", str(out), "--failure-rate", "0.2", "--json")
    return str(out), json.loads(told)


def run(*words, good=True, status=0):
    found = CliRunner().invoke(app, [*words] if words[0] == "info" else ["library", *words])
    if isinstance(found.exception, SystemExit):
        assert found.exit_code == status
    elif good and found.exception is not None:
        raise found.exception
    return found.output


def test_a_library_is_built_and_gone_on_with(built, problem):
    out, told = built
    assert told["bound"] <= 0.2 and told["motions"] > 2 and told["bytes"] > 1000
    again = json.loads(run("build", problem, "--out", out, "--failure-rate", "0.2", "--json"))
    assert again["plannings"] == told["plannings"]
    said = " ".join(run("build", problem, "--out", out, "--failure-rate", "0.2").split())
    assert "is finished already: no task is tried. Go on with a smaller --failure-rate" in said
    more = json.loads(run("build", problem, "--out", out, "--failure-rate", "0.15", "--json"))
    assert more["plannings"] > told["plannings"]
    words = ("build", problem, "--out", out, "--failure-rate", "0.15")
    assert "fail, at 95 % confidence" in run(*words)


def test_building_ends_at_the_largest_number_of_motions(problem, tmp_path):
    out = str(tmp_path / "few.library")
    told = run("build", problem, "--out", out, "--motions", "2")
    assert "It ended at the largest number of motions" in told
    assert 2 <= len(load(out)) <= 10  # at most a round of chains more


@pytest.mark.processes
def test_what_a_library_takes_is_said_before(problem):
    told = json.loads(run("build", problem, "--estimate", "--json"))
    low, middle, high = told["motions"]
    assert 2 < low <= middle <= high < 500 and 1000 < told["bytes"] < 100_000
    assert told["seconds"][0] > 0.0 and told["tried"] > 2 and told["infeasible"] == 0.0
    assert "motions are expected" in run("build", problem, "--estimate")
    with pytest.raises(UsageError, match="--out FILE"):
        run("build", problem)
    with pytest.raises(UsageError, match="--estimate writes no library"):
        run("build", problem, "--estimate", "--out", "a.library")


def test_an_estimate_ends_at_the_largest_number_of_motions(problem):
    told = json.loads(run("build", problem, "--estimate", "--motions", "2", "--json"))
    assert told["motions"] == [2.0, 2.0, 2.0]


def test_other_settings_begin_the_test_anew_and_say_so(problem, tmp_path):
    out = str(tmp_path / "a.library")
    run("build", problem, "--out", out, "--failure-rate", "0.4", "--steps", "2")
    said = run("build", problem, "--out", out, "--failure-rate", "0.4", "--steps", "0")
    assert "goes on with steps 0 (was 2)" in " ".join(said.split())
    assert json.loads(run("info", out, "--json"))["steps"] == 0


def test_a_library_without_motions_has_nothing_to_export(problem, tmp_path):
    path = tmp_path / "empty.library"
    LibraryFile.create(path, Program(load_problem(problem)).model).close()
    with pytest.raises(SoftctlError, match="The library holds no motion yet: go on with softctl"):
        run("export", str(path), str(tmp_path / "a.npz"))


def test_a_motion_is_asked_for_and_written(built, tmp_path):
    out, _ = built
    told = json.loads(run("query", out, "0.3", "0.5", "--json", "--out", str(tmp_path / "m.csv")))
    assert told["status"] == "SOLVED" and told["message"] == ""
    assert told["report"]["passed"] and told["error"] <= 0.02
    assert told["correction"] in ("LINEAR", "TANGENT_QP")
    assert told["cost"] > 0.0 and told["cost_lower_bound"] is None
    assert told["cost_bound_unknown"].startswith("dynamics are not linear or")
    assert "how far above the optimum is unknown: dynamics are" in run("query", out, "0.3", "0.5")
    with open(tmp_path / "m.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    names = [variable.name for variable in (*load(out).model.inputs, *load(out).model.states)]
    assert rows[0] == ["time", *names] and len(rows) == 12 and "[N m]" in names[0]
    assert [float(row[1]) for row in rows[1:-1]] == pytest.approx([u for (u,) in told["u"]])
    assert float(rows[1][2]) == pytest.approx(0.3)
    assert float(rows[-1][2]) == pytest.approx(0.5, abs=0.02)  # as simulated: the tolerance
    run("query", out, "0.3", "-0.5", "--plot", str(tmp_path / "m.png"))
    assert (tmp_path / "m.png").stat().st_size > 10_000
    beyond = tmp_path / "beyond.csv"
    words = ("query", out, "0.3", "1.4", "--out", str(beyond))
    assert "Beyond the problem's range" in run(*words, status=3) and not beyond.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["abc", "1"], r"parameter 1, start \[rad\], must be a finite number. Got: 'abc'."),
        (["0.3", "1,5"], r"parameter 2, end \[rad\], must be a finite number. Got: '1,5'."),
        (["nan", "1"], r"parameter 1, start \[rad\], .* Got: 'nan'. Give one number each for"),
        (["0.3"], r"expected 2 numbers, for start \[rad\], end \[rad\]. Got 1: 0.3."),
        (["0.3", "0.5", "0.7"], r"expected 2 numbers, .* Got 3: 0.3 0.5 0.7."),
    ],
)
def test_a_parameter_that_is_no_number_is_named(built, words, said):
    with pytest.raises(UsageError, match=f"^{built[0]}: {said}"):
        run("query", built[0], *words)


def test_an_answer_that_is_rejected_is_not_written(built, tmp_path):
    """40 rad in 1.5 s: what the torque's limits leave ends elsewhere."""
    path = tmp_path / "m.csv"
    path.write_text("kept")
    words = ("query", built[0], "0.3", "40.0", "--out", str(path))
    told = json.loads(run(*words, "--json", status=3))
    assert told["status"] == "REJECTED" and not told["report"]["passed"]
    assert "Not accepted: error" in told["message"] and "Do not execute it." in told["message"]
    assert "Do not execute it." in run(*words, status=3)
    assert path.read_text() == "kept"
    path.unlink()
    run(*words, status=3)
    assert not path.exists()


@pytest.mark.parametrize("name", ["error", "tolerance", "terminal_tolerances"])
def test_a_problem_without_what_answers_are_tested_by_is_not_built(
    problem, tmp_path, monkeypatch, name
):
    lines = Path(problem).read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(f"        {name}=")]
    assert len(kept) == len(lines) - 1
    (tmp_path / "lacks.py").write_text("".join(kept), encoding="utf-8")
    monkeypatch.setattr(Program, "solve", None)  # nothing is solved
    out = tmp_path / "new.library"
    with pytest.raises(LibraryError, match=f"'pendulum' needs {name}: .* Declare what an answer"):
        run("build", str(tmp_path / "lacks.py"), "--out", str(out))
    assert not out.exists()


@pytest.mark.processes
def test_answers_are_verified_with_tasks_never_seen(built, problem, tmp_path):
    out, _ = built
    words = ("verify", out, problem, "--tasks", "30")
    told = json.loads(run(*words, "--json", "--plot", str(tmp_path / "accuracy.png")))
    assert told["good"] > 0.8 and abs(told["loss"]) < 0.01
    assert told["errors"]["mean"] < 0.5 * told["unrefined"]["mean"]
    assert sum(told["statuses"].values()) == 30
    assert (tmp_path / "accuracy.png").stat().st_size > 10_000
    assert "30 tasks never seen before" in run(*words)


def test_what_a_library_holds_is_told_and_plotted(built, tmp_path):
    out, built_told = built
    told = json.loads(run("info", out, "--json", "--plot", str(tmp_path / "coverage.png")))
    assert told["motions"] >= built_told["motions"] and told["problem"] == "pendulum"
    assert (tmp_path / "coverage.png").stat().st_size > 10_000
    assert "end [rad]" in run("info", out)


@pytest.mark.parametrize("suffix", ["npz", "csv"])
def test_all_motions_are_exported(built, tmp_path, suffix):
    out, _ = built
    path = tmp_path / f"motions.{suffix}"
    run("export", out, str(path))
    library = load(out)
    p = np.array([entry.p for entry in library.entries])
    if suffix == "npz":
        with np.load(path, allow_pickle=False) as arrays:
            np.testing.assert_array_equal(arrays["p"], p)
            assert arrays["x"].shape == (len(p), 11, 2)
    else:
        rows = np.loadtxt(path, delimiter=",", skiprows=1)
        (head,) = csv.reader(path.read_text().splitlines()[:1])
        assert head[:2] == [parameter.name for parameter in library.model.parameters]
        assert head[3:5] == ["torque, interval 0 [N m]", "torque, interval 1 [N m]"]
        np.testing.assert_allclose(rows[:, :2], p)
    with pytest.raises(SoftctlError, match=".npz or .csv"):
        run("export", out, str(tmp_path / "motions.txt"))


def test_problems_are_found_by_name(problem):
    assert load_problem(problem).name == "pendulum"
    assert load_problem(f"{problem}:pendulum").name == "pendulum"
    with pytest.raises(LibraryError, match="'elastic_arm' is not a Python file.*FILE.py:NAME"):
        load_problem("elastic_arm")
    with pytest.raises(LibraryError, match="has no problem 'cart'.*It has: pendulum"):
        load_problem(f"{problem}:cart")
    with pytest.raises(LibraryError, match="there is no such file"):
        load_problem("nowhere.py")


def test_a_problem_is_given_itself_and_what_is_none_is_said(tmp_path, problem):
    text = Path(problem).read_text()
    (tmp_path / "itself.py").write_text(f"{text}\nPROBLEMS['pendulum'] = PROBLEMS['pendulum']()\n")
    assert load_problem(str(tmp_path / "itself.py")).name == "pendulum"
    (tmp_path / "none.py").write_text("PROBLEMS = {'f': lambda: None}")
    with pytest.raises(
        LibraryError, match="none.py:f is not a problem.*Got: None, without name, sta"
    ):
        load_problem(str(tmp_path / "none.py"))


def test_a_library_is_not_verified_with_another_problem(built):
    with pytest.raises(LibraryError, match="for another problem"):
        run("verify", built[0], str(CART), "--tasks", "1")


@pytest.mark.processes
def test_a_verification_that_ctrl_c_ends_shows_the_tasks_done(
    built, problem, monkeypatch, tmp_path
):
    """The key is pressed in the fourth task, which is done to its end."""
    drawn, draw = [], TaskChain.draw

    def press(chain, problem):
        drawn.append(1)
        if len(drawn) == 4:
            os.kill(os.getpid(), signal.SIGINT)
        return draw(chain, problem)

    monkeypatch.setattr(TaskChain, "draw", press)
    plot = tmp_path / "verify.png"
    words = ("verify", built[0], problem, "--tasks", "30", "--plot", str(plot))
    told = run(*words, status=130)
    assert "4 tasks never seen before" in told
    assert "Stopped by Ctrl-C: the figures are of 4 of 30 tasks." in told
    assert plot.exists()
