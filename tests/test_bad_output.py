"""Files that cannot be written and options that do not fit: refused before the work, not after."""

import os
import subprocess
import sys

import pytest

from sofa_softctl.base.extras import install_command

SCENE = """
from pathlib import Path
import Sofa.Core

class Worker(Sofa.Core.Controller):
    def onAnimateBeginEvent(self, event):
        Path(__file__).with_name("worked").touch()

def createScene(root, size=1.0):
    Path(__file__).with_name("built").touch()
    root.addObject(Worker(name="worker"))
    root.addObject("DefaultAnimationLoop")
"""
SURROGATE = """
SURROGATE = {"scale": 1.0}
TASKS = {"reach": None}
"""
PROBLEM = """
from pathlib import Path
from scenes.flexible_loop.problem import LoopProblem
from sofa_softctl.library import OptimalControlProblem, Parameter, Variable

def cart():
    return OptimalControlProblem(
        name="cart",
        states=[Variable("position [m]"), Variable("speed [m/s]")],
        inputs=[Variable("force [N]", -20.0, 20.0)],
        parameters=[Parameter("distance [m]", -1.0, 1.0)],
        dynamics=lambda x, u, z, p: [x[1], u[0]],
        initial=lambda z, p: [0.0, 0.0],
        terminal=lambda x, z, p: [x[0] - p[0], x[1]],
        cost=lambda x, u, z, p: u[0] ** 2,
        error=lambda x, z, p: abs(x[0] - p[0]),
        tolerance=0.1,
        terminal_tolerances=[0.1, 0.1],
        horizon=1.0,
        intervals=5,
        steps=1,
    )

PROBLEMS = {"cart": cart, "loop": LoopProblem}
"""
NAME = "A plot needs a name in .png, .svg or .pdf, got '"
MOVIE = "A movie needs a name in .gif, .mp4 or .html, got '"
TWICE = "Give each file its own name."
FOLDER = "Choose a folder that may be written to"

RUN = ["run", "scene.py", "--steps", "2"]
PLAN = ["plan", "scene.py", "--task", "reach"]
IDENTIFY = ["identify", "problem.py:loop"]
QUERY = ["library", "query", "cart.library", "0.5"]
VERIFY = ["library", "verify", "cart.library", "problem.py:cart"]
BUILD = ["library", "build", "problem.py:cart"]
COMPARE = ["bench", "compare", "scene.py"]

WRONG = [
    # The name says another kind of file.
    (RUN, "--plot plot.bmp", NAME + "plot.bmp'"),
    (RUN, "--plot plot", NAME + "plot'"),
    (RUN, "--movie movie.avi", MOVIE + "movie.avi'"),
    (RUN, "--movie movie.png", MOVIE + "movie.png'"),
    (PLAN, "--plot plan.jpg", NAME + "plan.jpg'"),
    (PLAN, "--movie plan.mov", "A movie needs a name in .gif or .mp4, got 'plan.mov'"),
    (QUERY, "--plot answer.tiff", NAME + "answer.tiff'"),
    (["info", "cart.library"], "--plot info.gif", NAME + "info.gif'"),
    (VERIFY, "--plot accuracy", NAME + "accuracy'"),
    (["library", "export", "cart.library"], "all.json", "exported to .npz or .csv, got 'all.json'"),
    (COMPARE, "--plot both.bmp", NAME + "both.bmp'"),
    # One file for two things.
    (
        RUN,
        "--record all.png --plot all.png",
        f"would overwrite 'all.png', the file of --plot. {TWICE}",
    ),
    (RUN, "--record all.gif --movie ./all.gif", "'all.gif', the file of --movie."),
    (
        RUN,
        "--record scene.py",
        f"--record would overwrite 'scene.py', which the command reads. {TWICE}",
    ),
    (PLAN, "--out all.png --plot all.png", "--out would overwrite 'all.png', the file of --plot."),
    (PLAN, "--out scene.py", "--out would overwrite 'scene.py', which the command reads."),
    (PLAN, "--out a.mcap --store a.mcap", "--store would overwrite 'a.mcap', the file of --out."),
    (QUERY, "--out cart.library", "--out would overwrite 'cart.library', which the command reads."),
    # Options that exclude each other, or take another value.
    (RUN, "--duration 1", "Give either steps or a duration, not both."),
    (RUN, "--backend unity", "--backend takes auto, embedded, sofa; got 'unity'."),
    (RUN, "--set size=big", "parameter 'size' takes a float such as 1.0, got 'big'."),
    (RUN, "--set sise=3", "The scene takes no parameter 'sise'. Did you mean 'size'?"),
    (RUN, "--set size", "--set needs NAME=VALUE, got 'size'."),
    (RUN, "--camera top", "--camera is a view: give --movie FILE"),
    (RUN, "--movie m.gif --camera above", "--camera: expected auto, front, right, back, left, top"),
    (RUN, "--movie m.gif --camera 30", "or AZIMUTH,ELEVATION in degrees"),
    (RUN, "--movie m.gif --camera 30,95", "from -90 to 90, such as 30,20; got '30,95'"),
    (RUN, "--movie m.gif --camera nan,0", "such as 30,20; got 'nan,0'"),
    (PLAN, "--camera front", "--camera is a view: give --movie FILE too."),
    (PLAN, "--tolerance -1", "--tolerance must be positive, got -1."),
    (
        PLAN,
        "--exact --store arm.corners",
        "--store is about the grid, and --exact plans without it.",
    ),
    (BUILD, "", "Say where the library goes, --out FILE, or ask for --estimate."),
    (BUILD, "--out cart.library --seed 5", "--seed 5 is for a new library: cart.library continues"),
    (IDENTIFY, "", "There is nothing to identify from: give recordings"),
    (IDENTIFY, "--data none.csv --set-start kappa", "--set-start needs NAME=NUMBER, got 'kappa'."),
]
"""Command, options, message: the command line is wrong, status 2."""
NOT_WRITABLE = [
    (RUN, "--plot folder.png", "Cannot write 'folder.png': it is a folder"),
    (
        RUN,
        "--plot /dev/null/plot.png",
        "'/dev/null/plot.png': '/dev/null' is not a folder",
    ),
    (RUN, "--plot /proc/plot.png", FOLDER),
    (RUN, "--plot scene.py/plot.png", "Cannot write 'scene.py/plot.png': "),
    (RUN, "--plot pipe.png", "Cannot write 'pipe.png': it is not a file that can be replaced"),
    (
        RUN,
        "--movie /dev/null/movie.gif",
        "'/dev/null/movie.gif': '/dev/null' is not a folder",
    ),
    (RUN, "--movie folder.gif", "Cannot write 'folder.gif': it is a folder"),
    (RUN, "--plot plot.png", "There is nothing to plot: no controller of the scene has a plot"),
    (RUN, "--movie movie.gif", "There is nothing to show: 'scene.py' has no body"),
    (PLAN, "--store folder.png", "Cannot write 'folder.png': it is a folder"),
    (QUERY, "--out folder.png", "Cannot write 'folder.png': it is a folder"),
    (QUERY, "--plot scene.py/plot.png", "Cannot write 'scene.py/plot.png': "),
    (VERIFY, "--plot /dev/null/plot.png", "Cannot write '/dev/null/plot.png': "),
    (BUILD, "--out folder.png", "Cannot write 'folder.png': it is a folder"),
    (BUILD, "--out /dev/null/cart.library", "Cannot write '/dev/null/cart.library': "),
    (
        ["library", "export", "cart.library"],
        "/dev/null/all.csv",
        "Cannot write '/dev/null/all.csv'",
    ),
    (COMPARE, "--plot folder.png", "Cannot write 'folder.png': it is a folder"),
]
"""Command, options, message: there is nothing to be written, or not there, status 1."""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A small library of the cart, begun with seed 0."""
    from typer.testing import CliRunner

    from sofa_softctl.cli.app import app

    folder = tmp_path_factory.mktemp("library")
    (folder / "problem.py").write_text(PROBLEM)
    words = ["library", "build", f"{folder}/problem.py:cart", "--out", f"{folder}/cart.library"]
    done = CliRunner().invoke(app, [*words, "--motions", "2", "--quiet"], catch_exceptions=False)
    assert done.exit_code == 0
    return (folder / "cart.library").read_bytes()


@pytest.fixture
def place(tmp_path, monkeypatch, library):
    """A folder with a scene, a problem and its library; refuse(...) checks one command line."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scene.py").write_text(SCENE + SURROGATE)
    (tmp_path / "problem.py").write_text(PROBLEM)
    (tmp_path / "cart.library").write_bytes(library)
    for name in ("folder.png", "folder.gif"):
        (tmp_path / name).mkdir()
    os.mkfifo(tmp_path / "pipe.png")
    return tmp_path


def check_refused(softctl, place, words, message, status):
    before = {path.name: path.stat().st_mtime_ns for path in place.iterdir() if path.is_file()}
    ended, out, err = softctl(*words)
    assert (ended, message in err) == (status, True), err
    assert err.startswith("Error: ")
    assert err.count("\n") == 1 and "Traceback" not in err
    after = {path.name: path.stat().st_mtime_ns for path in place.iterdir() if path.is_file()}
    assert "worked" not in after
    assert {name: after[name] for name in before} == before, "a file was lost"
    assert set(after) - set(before) <= {"built"}, "a file was made"


@pytest.mark.parametrize(("command", "options", "message"), WRONG)
def test_a_wrong_command_line_ends_with_2_before_the_work(
    softctl, place, command, options, message
):
    check_refused(softctl, place, [*command, *options.split()], message, 2)


@pytest.mark.parametrize(("command", "options", "message"), NOT_WRITABLE)
def test_what_cannot_be_written_is_refused_before_the_work(
    softctl, place, command, options, message
):
    check_refused(softctl, place, [*command, *options.split()], message, 1)


# -- what is not installed -------------------------------------------------------------------------

WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
sys.argv[1:] = {words!r}
from sofa_softctl.cli.app import main
main()
"""
VIEW = install_command("view")
CASADI = f"Optimal control problems need CasADi: {install_command('library')}"
FFMPEG = "Movies in .mp4 need ffmpeg, and none works"


def run_without(place, names, words, **environment):
    code = WITHOUT.format(names=set(names), words=words)
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=place,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.processes
@pytest.mark.parametrize(
    ("names", "words", "message"),
    [
        (["imageio_ffmpeg"], [*RUN, "--movie", "m.mp4"], "Movies in .mp4 need the extra [view]"),
        (["imageio_ffmpeg"], [*PLAN, "--movie", "m.mp4"], VIEW),
        (["casadi"], [*BUILD, "--out", "new.library"], CASADI),
        (["casadi"], [*BUILD, "--estimate"], CASADI),
        (["casadi"], [*VERIFY, "--plot", "p.png"], CASADI),
    ],
)
def test_a_missing_extra_is_named_with_its_command_before_the_work(place, names, words, message):
    done = run_without(place, names, words)
    assert done.returncode == 1, done.stderr
    said = done.stderr.splitlines()
    assert len(said) == 1 and said[0].startswith("Error: ") and message in said[0]
    left = {path.name for path in place.iterdir()}
    assert not left & {"built", "worked", "m.gif", "m.mp4", "p.png", "new.library"}


@pytest.mark.processes
@pytest.mark.parametrize(
    ("ffmpeg", "message"),
    [
        ("/nowhere/ffmpeg", f"{FFMPEG}: [Errno 2] No such file or directory: '/nowhere/ffmpeg'"),
        ("/bin/false", FFMPEG),
        ("/bin/true", "'/bin/true' has no encoder libx264 for movies in .mp4"),
    ],
)
def test_an_ffmpeg_that_does_not_work_is_said_before_the_work(place, ffmpeg, message):
    done = run_without(place, [], [*RUN, "--movie", "m.mp4"], IMAGEIO_FFMPEG_EXE=ffmpeg)
    assert done.returncode == 1
    assert message in done.stderr and "ask for a GIF: 'm.gif'" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (place / "built").exists()


# -- what is still done ----------------------------------------------------------------------------


def test_missing_folders_of_outputs_are_made(softctl, place):
    status, out, err = softctl("library", "export", "cart.library", "new/deep/all.csv")
    assert (status, err) == (0, "")
    assert out == "1 motions: new/deep/all.csv\n"  # all others follow from one: it is linear
    assert (place / "new/deep/all.csv").stat().st_size > 100


def test_an_export_prints_json_where_it_is_asked_for(softctl, place):
    words = ("library", "export", "cart.library", "all.npz")
    assert softctl(*words, "--json")[1].split() == [
        "{", '"written":', '"all.npz",', '"motions":', "1", "}",
    ]  # fmt: skip
    assert softctl(*words, "--quiet")[1] == ""


def test_a_library_goes_on_with_the_seed_that_it_was_begun_with(softctl, place):
    words = [*BUILD, "--out", "cart.library", "--motions", "2", "--quiet"]
    assert softctl(*words, "--seed", 0) == (0, "", "")
    assert softctl(*words) == (0, "", "")


def test_a_quiet_benchmark_prints_nothing(softctl, place):
    assert softctl("bench", "scenes", "scene.py", "--steps", 2, "-q") == (0, "", "")
