"""Commands of benchmarks: wrong options, and files that cannot be read or written."""

import os
import re
import shlex
import subprocess
import sys
from types import SimpleNamespace

import pytest
import typer

from sofa_softctl.base.extras import install_command
from tests.docs.pages import PAGES, ROOT
from tests.support.benchmark_commands import FOLDER, app_of, module_of
from tests.test_bad_files import CONTENTS

COMMANDS = (
    *(
        "inverse",
        "planning",
        "dimensions",
        "trajectories",
        "libraries",
        "loop",
        "intervals",
        "causes",
    ),
    *("contact_search", "success_rates", "cluster", "learning_throughput", "surrogate_error"),
    "batch_throughput",
)
NAME = "A plot needs a name in .png, .svg or .pdf, got '"
WRONG = [
    ("planning", "--scenes . --plot p.txt", NAME + "p.txt'"),
    ("trajectories", "--plot p.jpeg", NAME + "p.jpeg'"),
    ("loop", "--plot p", NAME + "p'"),
    ("inverse", "--scenes . --contacts glue", "--contacts must be one of"),
    ("dimensions", "--scenes . --lines 5", "some of 4, 6 and 8, such as 6,8; got '5'."),
    ("dimensions", "--scenes . --grid dense", "--grid must be cells, sparse or both; got 'dense'."),
    ("intervals", "--problem p.py", "--problem needs --data FILE, a motion, and has no --case."),
    ("intervals", "--true lag=1", "--data, --true and --generator are of --problem FILE.py:NAME."),
]
"""Benchmark, options, message: the command line is wrong, status 2."""
NOT_WRITABLE = [
    ("trajectories", "--plot folder.png", "Cannot write 'folder.png': it is a folder"),
    ("loop", "--plot folder.png", "Cannot write 'folder.png': it is a folder"),
    ("success_rates", "--scenes . --out folder.png", "Cannot write 'folder.png': it is a folder"),
    ("contact_search", "--out /dev/null/s.csv", "Cannot write '/dev/null/s.csv': "),
]
"""Benchmark, options, message: there is nothing to be written, or not there, status 1."""
WITHOUT_CASADI = """
import runpy
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "casadi":
            raise ModuleNotFoundError("No module named 'casadi'", name="casadi")

sys.meta_path.insert(0, Missing())
sys.argv[1:] = ["--plot", "p.png"]
runpy.run_module("benchmarks.trajectories", run_name="__main__")
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty folder but for another one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.png").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("status", "name", "options", "message"),
    [*((2, *one) for one in WRONG), *((1, *one) for one in NOT_WRITABLE)],
)
def test_it_is_refused_before_the_work(run_benchmark, place, status, name, options, message):
    ended, _, err = run_benchmark(name, *options.split())
    assert (ended, message in err) == (status, True), err
    assert err.startswith("Error: ") and "Traceback" not in err
    assert [path.name for path in place.iterdir()] == ["folder.png"]


@pytest.mark.parametrize(
    "name", ["arm_library", "identification_mesh", "kernel_list", "peers", "pick_place"]
)
def test_help_is_shown_and_nothing_begun(place, name):
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}", "--help"],
        env={**os.environ, "PYTHONPATH": str(FOLDER.parent)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: ")
    assert [path.name for path in place.iterdir()] == ["folder.png"]


@pytest.mark.parametrize("kind", [kind for kind in CONTENTS if kind != "empty"])
@pytest.mark.parametrize(
    ("name", "messages"),
    [
        ("contact_search", ("is not a file of this benchmark", "begins")),
        ("intervals", ("is not a file of this benchmark",)),
        ("causes", ("is not a file of this benchmark",)),
        ("success_rates", ("is not a file of this benchmark",)),
    ],
)
def test_a_file_of_another_kind_is_named(run_benchmark, tmp_path, name, messages, kind):
    file = tmp_path / "rows.csv"
    file.write_bytes(CONTENTS[kind])
    status, _, err = run_benchmark(name, "--out", file)
    assert status == 1 and file.name in err and err.startswith("Error: "), err
    assert any(message in err for message in messages)
    assert file.read_bytes() == CONTENTS[kind]


def test_without_scenes_the_folder_is_asked_for(run_benchmark, place):
    for name in ("inverse", "planning", "dimensions", "success_rates"):
        status, _, err = run_benchmark(name)
        assert status == 1 and "There is no folder 'scenes' of scenes" in err


def test_studies_that_need_no_scenes_run_anywhere(run_benchmark, place, monkeypatch):
    monkeypatch.setattr(
        "benchmarks.trajectories.measure.measure_energies",
        lambda tell, **options: SimpleNamespace(to_dict=dict),
    )
    status, out, _ = run_benchmark("trajectories", "--json")
    assert status == 0 and out.strip() == "{}"


def test_a_missing_extra_is_named(place):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_CASADI],
        env={**os.environ, "PYTHONPATH": str(FOLDER.parent)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    needed = f"Error: Optimal control problems need CasADi: {install_command('library')}"
    assert done.stderr.startswith(needed) and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("page", "name"),
    sorted(
        {
            (str(path.relative_to(ROOT)), name)
            for path in PAGES
            for name in re.findall(r"python -m benchmarks\.([a-z_.]+)", path.read_text())
        }
    ),
)
def test_a_benchmark_that_a_page_names_is_there(page, name):
    assert module_of(name).is_file()


@pytest.mark.parametrize("name", COMMANDS)
def test_options_that_pages_show_are_there(name):
    command = typer.main.get_command(app_of(name))
    for path in PAGES:
        shown = rf"python -m benchmarks\.{name}(?![.\w])([^`#\n]*)"
        for line in re.findall(shown, path.read_text()):
            words = shlex.split(line.split(",")[0].rstrip(").;"))
            words = ["1" if word == "R" else word for word in words if word not in ("|", ">")]
            with command.make_context(name, words, resilient_parsing=False):
                pass


def test_an_example_of_the_help_begins_with_its_command(run_benchmark):
    status, out, _ = run_benchmark("success_rates", "--help")
    assert status == 0 and "python -m benchmarks.success_rates --only ring,ball" in out
