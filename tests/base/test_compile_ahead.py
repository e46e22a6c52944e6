import importlib
import json
import os
import subprocess
import sys
import textwrap

import pytest
from numba import types

from sofa_softctl.base.kernels import compile_ahead
from sofa_softctl.base.kernels.cache import KernelCache
from sofa_softctl.base.kernels.cached import CachedKernel
from sofa_softctl.base.kernels.compile_ahead import PACKAGE, RecordedKernel, predict, start_helper
from sofa_softctl.base.kernels.types import decode, encode
from tests.base.kernel_scripts import finish, start

LIST = json.loads(compile_ahead._LIST.read_text())
CHEAP = [row for row in LIST["kernels"] if row[1] in ("_edges", "determinant")]


def test_the_list_names_kernels_and_types_that_there_are():
    """Otherwise run `python -m benchmarks.kernel_list`."""
    for module, name, arguments in LIST["kernels"]:
        assert isinstance(getattr(importlib.import_module(PACKAGE + module), name), CachedKernel)
        assert [encode(decode(argument)) for argument in arguments] == arguments


def test_a_recorded_scene_predicts_its_own_kernels_with_callees_first():
    for scene in LIST["scenes"]:
        kernels = predict(PACKAGE + module for module in scene["modules"])
        assert kernels, scene["scene"]
        same = [s for s in LIST["scenes"] if set(s["modules"]) == set(scene["modules"])]
        assert kernels in [
            [RecordedKernel(*LIST["kernels"][i]) for i in s["kernels"]] for s in same
        ]
    names = [
        kernel.name for kernel in predict(["sofa_softctl.runtime.kernels.cholesky.supernodal"])
    ]
    assert names.index("_factorize_panel") < names.index("factorize")


def test_types_that_cannot_be_written_are_refused():
    with pytest.raises(TypeError, match="cannot be written"):
        encode(types.ListType(types.int64))
    assert decode(encode(types.Omitted(None))) == types.Omitted(None)


def test_helpers_compile_what_is_missing_and_nothing_twice(tmp_path, monkeypatch):
    monkeypatch.setenv("SOFTCTL_KERNEL_CACHE", str(tmp_path))
    helpers = [start_helper(CHEAP) for _ in range(2)]
    assert [helper.wait(timeout=120) for helper in helpers] == [0, 0]
    files = {file: file.stat().st_mtime for file in tmp_path.rglob("*.kernel")}
    assert len(files) == len(CHEAP) > 1
    assert start_helper(CHEAP).wait(timeout=120) == 0
    assert {file: file.stat().st_mtime for file in tmp_path.rglob("*.kernel")} == files


def test_a_list_of_another_version_is_no_error(tmp_path, monkeypatch):
    monkeypatch.setenv("SOFTCTL_KERNEL_CACHE", str(tmp_path))
    wrong = [["no.module", "f", []], ["runtime.kernels.constraint.rows", "gone", ["float64"]]]
    helper = start_helper([*wrong, *CHEAP])
    assert helper.wait(timeout=120) == 0
    assert len(list(tmp_path.rglob("*.kernel"))) == len(CHEAP)


@pytest.mark.processes
def test_helpers_end_with_the_process_that_started_them(tmp_path):
    """They would go on for a minute: each looks for its parent before the next kernel."""
    script = tmp_path / "parent.py"
    script.write_text(
        textwrap.dedent("""
        import json, os, signal, sys
        from sofa_softctl.base.kernels import compile_ahead
        kernels = json.loads(compile_ahead._LIST.read_text())["kernels"]
        print(compile_ahead.start_helper(kernels).pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
        """)
    )
    process = start(script, SOFTCTL_KERNEL_CACHE=str(tmp_path / "cache"))
    pid = int(process.communicate(timeout=60)[0])
    subprocess.run(
        ["timeout", "30", "tail", f"--pid={pid}", "-f", "/dev/null"], check=True, timeout=60
    )


def test_a_first_run_says_what_it_waits_for_and_a_second_one_does_not(tmp_path):
    script = tmp_path / "first.py"
    script.write_text(
        textwrap.dedent("""
        import importlib
        import numpy as np
        from sofa_softctl.base.kernels.compile_ahead import AHEAD, PACKAGE, _list
        from sofa_softctl.view.terminal.errors import show_compilation
        from sofa_softctl.runtime.kernels.elasticity.corotational import edge_frame
        [finger] = [s for s in _list()["scenes"] if s["scene"] == "scenes/finger.py"]
        for module in finger["modules"]:
            importlib.import_module(PACKAGE + module)
        AHEAD.on_start = show_compilation
        edge_frame(*np.eye(3), np.empty((3, 3)))
        """)
    )
    environment = {"SOFTCTL_KERNEL_CACHE": str(tmp_path / "cache")}
    _, errors = finish(start(script, SOFTCTL_COMPILE_PROCESSES="1", **environment))
    assert "kernels for this computer, once; later runs start at once." in errors
    _, errors = finish(start(script, SOFTCTL_COMPILE_PROCESSES="1", **environment))
    assert errors == ""


@pytest.mark.processes
def test_warmup_makes_scenes_ready_and_says_what_cannot_be_loaded(softctl, tmp_path):
    status, out, _ = softctl("warmup", "scenes/planar_arm.py")
    assert (status, out) == (0, "scenes/planar_arm.py: ready.\n")
    status, _, err = softctl("warmup", tmp_path / "nothing.py")
    assert status == 1
    assert "There is no scene file" in err
    assert sys.exc_info()[0] is None


@pytest.mark.processes
def test_warmup_fails_where_kernels_cannot_be_kept(tmp_path):
    """In a process of its own: the cache of this one is that of the tests."""
    folder = tmp_path / "file"
    folder.write_text("")
    status, errors = warmup(folder)
    assert status == 1
    assert errors.startswith(f"Error: Compiled kernels cannot be kept in {folder} (Not a directory")
    (tmp_path / "scene.py").write_text(FALLING)
    status, errors = warmup(folder, tmp_path / "scene.py")
    assert status == 1
    assert "it runs, but its kernels are not kept." in errors
    status, errors = warmup(folder, "--set", "a=1")
    assert (status, "--set and --plugin are for scenes" in errors) == (2, True)


def warmup(folder, *arguments):
    """Exit status and error stream of `softctl warmup` with this cache."""
    done = subprocess.run(
        [sys.executable, "-c", "from sofa_softctl.cli.app import main; main()"]
        + ["warmup", *map(str, arguments)],
        env={**os.environ, "SOFTCTL_KERNEL_CACHE": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stderr


def test_a_warmup_that_is_stopped_says_what_is_kept(softctl, monkeypatch):
    def stop():
        raise KeyboardInterrupt

    monkeypatch.setattr(compile_ahead.AHEAD, "compile_all", stop)
    status, _, err = softctl("warmup")
    assert status == 130
    assert err == "Stopped. What was compiled is kept: the same command goes on with it.\n"


FALLING = """
def createScene(root):
    root.addObject("DefaultAnimationLoop")
    point = root.addChild("point")
    point.addObject("EulerImplicitSolver")
    point.addObject("SparseLDLSolver")
    point.addObject("MechanicalObject", position=[[0, 0, 0]])
    point.addObject("UniformMass", totalMass=1.0)
"""


@pytest.mark.parametrize("number", ["-1", "abc", "1.5", "\u00b2"])
def test_a_number_of_helpers_that_is_none_is_said_and_not_used(monkeypatch, capsys, number):
    monkeypatch.delenv(compile_ahead.VARIABLE, raising=False)
    default = compile_ahead._helper_count()
    monkeypatch.setenv(compile_ahead.VARIABLE, number)
    assert compile_ahead._helper_count() == default
    assert f"is '{number}', expected a whole number from 0" in capsys.readouterr().err


def test_helpers_are_no_more_than_cores(monkeypatch):
    monkeypatch.setenv(compile_ahead.VARIABLE, "1000")
    assert compile_ahead._helper_count() == len(os.sched_getaffinity(0))


def test_a_kernel_in_a_folder_that_is_not_read_is_missing(tmp_path):
    """Otherwise `softctl warmup` called kernels ready that every run compiles."""
    cache = KernelCache(tmp_path)
    cache.check()
    [folder] = tmp_path.iterdir()
    (folder / "a.kernel").write_bytes(b"")
    assert cache.has("a")
    folder.chmod(0o777)
    assert not cache.has("a")
