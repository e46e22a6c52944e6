"""Commands on a Dask cluster: what they find, whatever its worker sees, and though it is killed."""

import json
import shutil
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl import plugins
from sofa_softctl.base import processes
from sofa_softctl.errors import UsageError
from sofa_softctl.library.motions.storage import load
from sofa_softctl.surrogate.scene.plan_scene import plan_scene
from tests.dask_cluster import DaskCluster, hiding

pytest.importorskip("distributed")
ROOT = Path(__file__).parents[2]
KILLS = """
import multiprocessing
import os
import signal

import {helper}

if multiprocessing.parent_process() and not os.path.exists({mark!r}):
    open({mark!r}, "w").close()
    os.kill(os.getppid(), signal.SIGKILL)  # the Dask worker
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder that the worker of the cluster does not see."""
    return tmp_path_factory.mktemp("project")


@pytest.fixture(scope="module")
def dask(project, tmp_path_factory):
    """A cluster of one worker, under a nanny that starts it again."""
    folder = tmp_path_factory.mktemp("dask")
    with DaskCluster(folder) as found:
        found.worker(
            *("--nthreads", "1", "--nworkers", "1"),
            path=hiding(folder / "hiding"),
            HIDDEN=str(project),
        )
        yield found


@pytest.fixture
def kills(project, tmp_path):
    """kills(NAME, text) -> a Python file of the project, whose first task kills the Dask worker.

    It imports a module beside it. The test fails if no worker was killed.
    """

    def write(name, text):
        helper = f"{Path(name).stem}_helper"
        (project / f"{helper}.py").write_text("")
        start = KILLS.format(helper=helper, mark=str(mark))
        first, _, rest = text.partition('"""\n\n') if text.startswith('"""') else ("", "", text)
        (project / name).write_text(f'{first}"""\n{start}\n{rest}' if first else start + rest)
        return project / name

    mark = tmp_path / "killed"
    yield write
    assert mark.exists(), "no worker was killed"


@pytest.mark.processes
def test_a_plan_is_the_same_but_for_where_its_equilibria_were_continued_from(
    kills, project, dask, softctl
):
    (project / "meshes").mkdir(exist_ok=True)
    shutil.copy(ROOT / "scenes" / "meshes" / "planar_arm.vtk", project / "meshes")
    scene = kills("arm.py", (ROOT / "scenes" / "planar_arm.py").read_text())
    command = ("plan", scene, "--task", "reach", "--instants", 6, "--json")
    here, there = (
        said_json(softctl(*command, *given)) for given in ((), ("--cluster", dask.address))
    )
    for name in ("status", "evaluations", "corners", "iterations"):
        assert there[name] == here[name], name
    assert there["miss"] == pytest.approx(here["miss"], rel=1e-9)
    assert there["seconds_exact"] is None


@pytest.mark.processes
def test_a_library_is_the_same(kills, dask, softctl, tmp_path):
    pytest.importorskip("casadi")
    text = (ROOT / "tests" / "library" / "test_build.py").read_text()
    start, end = text.index("def pendulum"), text.index("@pytest.fixture")
    problem = kills("pendulum.py", f"{text[start:end]}\nPROBLEMS = {{'pendulum': pendulum}}\n")
    command = ("library", "build", f"{problem}:pendulum", "--motions", 9, "--quiet", "--out")
    assert softctl(*command, tmp_path / "here") == (0, "", "")
    said = softctl(*command, tmp_path / "there", "--cluster", dask.address)
    assert said[:2] == (0, ""), said
    here, there = load(tmp_path / "here"), load(tmp_path / "there")
    assert len(here) == len(there) >= 9
    for a, b in zip(here.entries, there.entries, strict=True):
        np.testing.assert_array_equal(a.v, b.v)


def modules_of(package):
    """Names of a package and its modules that are imported."""
    return [name for name in sys.modules if name.partition(".")[0] == package]


@pytest.fixture
def anew(monkeypatch):
    """The package beside the elastic arm's scene is imported anew, and put back afterwards."""
    before = {name: sys.modules.pop(name) for name in modules_of("elastic_arm")}
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name in modules_of("elastic_arm"):
        del sys.modules[name]
    sys.modules.update(before)  # classes that other tests hold stay those of the scene


@pytest.mark.processes
def test_the_folders_beside_a_problem_travel_with_it(kills, project, dask, softctl, tmp_path, anew):
    """A package that the scene imports, and one that the problem's file is part of."""
    pytest.importorskip("casadi")
    scene = kills("pick_place.py", (ROOT / "scenes" / "elastic_arm_pick_place.py").read_text())
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "scenes" / "elastic_arm", project / "elastic_arm", ignore=ignored)
    for problem in (scene, f"{project / 'elastic_arm' / 'tasks.py'}:elastic_arm"):
        out = tmp_path / f"{Path(problem).name}.library"
        command = ("library", "build", problem, "--motions", 2, "--quiet", "--out", out)
        said = softctl(*command, "--cluster", dask.address)
        assert said[:2] == (0, ""), said
        assert len(load(out)) >= 2


@pytest.mark.processes
def test_searches_from_several_starts_are_the_same(kills, project, dask, softctl):
    from tests.identification.lag_problem import lag

    problem = kills("lag.py", (ROOT / "tests" / "identification" / "lag_problem.py").read_text())
    one = lag(1)
    columns = (one.time, one.recording.inputs[:, 0], one.recording.outputs[:, 0])
    rows = [",".join(map(repr, map(float, row))) for row in zip(*columns, strict=True)]
    (project / "a.csv").write_text("\n".join(["time [s], drive [V], tip [mm]", *rows]))
    command = ("identify", problem, "--data", project / "a.csv", "--starts", 4, "--json")
    here, there = (
        said_json(softctl(*command, *given)) for given in ((), ("--cluster", dask.address))
    )
    for found in (here, there):
        del found["seconds"]
    assert here == there and len(there["searches"]) == 4


def said_json(said):
    status, out, err = said
    assert status == 0, err
    return json.loads(out)


def test_workers_and_cluster_exclude_each_other_and_a_cluster_needs_what_workers_need(softctl):
    both = ("--workers", 1, "--cluster", "tcp://host:1")
    commands = [
        ("plan", ROOT / "scenes" / "planar_arm.py", "--task", "reach"),
        ("library", "build", ROOT / "scenes" / "problems" / "flexible_cart.py", "--estimate"),
        ("identify", ROOT / "scenes" / "loop_manipulation.py", "--starts", 2),
    ]
    for command in commands:
        status, _, err = softctl(*command, *both)
        assert status == 2 and "--workers are processes of this computer" in err, command
    with pytest.raises(UsageError, match="leave --workers out"):
        plan_scene(ROOT / "scenes" / "planar_arm.py", "reach", workers=1, cluster="tcp://host:1")
    status, _, err = softctl(*commands[0], "--exact", *both[2:])
    assert status == 2 and "--cluster" in err


@pytest.mark.processes
def test_a_plugin_travels_with_the_modules_beside_it(project, dask, softctl, monkeypatch):
    for name, value in (("_plugins", []), ("_files", []), ("_paths", set())):
        monkeypatch.setattr(plugins, name, value)  # it is forgotten again
    monkeypatch.setattr(processes, "_first", dict(processes._first))
    monkeypatch.syspath_prepend(project)
    (project / "beside_plugin.py").write_text("NAME = 'drawn_back'\n")
    (project / "plugin.py").write_text(
        textwrap.dedent(
            """
            from beside_plugin import NAME
            from sofa_softctl import Sofa, hookimpl

            class DrawnBack(Sofa.Core.Controller):
                pass

            @hookimpl
            def softctl_register_controllers(register):
                register(NAME, DrawnBack)
            """
        )
    )
    (project / "study.py").write_text(
        "from sofa_softctl.plugins import controller\n\n"
        "def run(x):\n    return {'found': controller('drawn_back').__name__}\n"
    )
    study = project / "study.toml"
    study.write_text(
        'function = "study.py:run"\nplugins = ["plugin.py"]\n[parameters.x]\nvalues = [1, 2]\n'
    )
    status, out, err = softctl("batch", "run", study, "--cluster", dask.address, "--json")
    assert status == 0, err
    assert json.loads(out)["counts"] == {"OK": 2}
