import importlib
import json
import subprocess
import sys
import textwrap

import pytest
from numba import types

from sofa_softctl._internal import compile_ahead
from sofa_softctl._internal.cached_kernel import CachedKernel
from sofa_softctl._internal.compile_ahead import PACKAGE, predict, start_helper
from sofa_softctl._internal.kernel_types import decode, encode
from tests._internal.kernel_scripts import finish, start

LIST = json.loads(compile_ahead._LIST.read_text())
CHEAP = [entry for entry in LIST["kernels"] if entry[1] in ("_edges", "_determinant")]


@pytest.mark.parametrize("entry", LIST["kernels"], ids=lambda entry: ".".join(entry[:2]))
def test_the_list_names_kernels_and_types_that_there_are(entry):
    """Otherwise run `python -m benchmarks.kernel_list`."""
    module, name, arguments = entry
    assert isinstance(getattr(importlib.import_module(PACKAGE + module), name), CachedKernel)
    assert [encode(decode(argument)) for argument in arguments] == arguments


def test_a_recorded_scene_predicts_its_own_kernels_with_callees_first():
    for scene in LIST["scenes"]:
        kernels = predict(PACKAGE + module for module in scene["modules"])
        assert kernels, scene["scene"]
        same = [s for s in LIST["scenes"] if set(s["modules"]) == set(scene["modules"])]
        assert kernels in [[LIST["kernels"][i] for i in s["kernels"]] for s in same]
    names = [entry[1] for entry in predict(["sofa_softctl.runtime.kernels.cholesky.supernodal"])]
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
        from sofa_softctl._internal import compile_ahead
        entries = json.loads(compile_ahead._LIST.read_text())["kernels"]
        print(compile_ahead.start_helper(entries).pid, flush=True)
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
        from sofa_softctl._internal.compile_ahead import AHEAD, PACKAGE, _recorded
        from sofa_softctl.view.terminal.compiling import show_compilation
        from sofa_softctl.runtime.kernels.elasticity.corotational import edge_frame
        [finger] = [s for s in _recorded()["scenes"] if s["scene"] == "scenes/finger.py"]
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
