import os
import time

import numba
import numpy as np
import pytest

from sofa_softctl.base.jit import njit
from sofa_softctl.base.kernels import cache as kernel_cache
from sofa_softctl.base.kernels.cache import UNUSED_MAX, KernelCache
from sofa_softctl.base.kernels.digest import KernelDigest
from tests.base.kernel_scripts import KERNEL, finish, run, start


@pytest.fixture
def cache(tmp_path):
    """Environment of a script, with an empty cache."""
    return {"SOFTCTL_KERNEL_CACHE": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL)
    return path


def kernels(folder):
    return sorted(folder.rglob("*.kernel"))


def test_a_kernel_is_compiled_once_for_all_processes_and_clones(cache, script, tmp_path):
    assert run(script, **cache) == ["42.0", "1"]
    assert run(script, **cache) == ["42.0", "0"]
    clone = tmp_path / "clone" / "kernel.py"
    clone.parent.mkdir()
    clone.write_text("# Another clone, with more lines.\n" + KERNEL)
    assert run(clone, **cache) == ["42.0", "0"]


@pytest.mark.processes(keep=2)
@pytest.mark.parametrize(
    "change",
    [
        ("2.0 * x", "20.0 * x"),
        ("NEXT = 1.0", "NEXT = 3.0"),
        ("x + NEXT", "x - NEXT"),
        ("first: float\n    second", "second: float\n    first"),
        ("get_constant(types.float64, 5.0)", "get_constant(types.float64, 7.0)"),
        ("OPTIONS = {}", "OPTIONS = {'fastmath': True}"),
    ],
    ids=["callee", "constant", "bytecode", "named tuple", "intrinsic", "compiler options"],
)
def test_a_kernel_is_compiled_again_if_anything_changed_that_it_uses(cache, tmp_path, change):
    caller, callee = tmp_path / "caller.py", tmp_path / "callee.py"
    caller.write_text(CALLER)
    callee.write_text(CALLEE)
    before = run(caller, **cache)
    assert run(caller, **cache) == [before[0], "0"]
    assert CALLEE.replace(*change) != CALLEE
    callee.write_text(CALLEE.replace(*change))
    after, compiled = run(caller, **cache)
    assert int(compiled) > 0
    fresh = {**cache, "SOFTCTL_KERNEL_CACHE": str(tmp_path / "other")}
    assert run(caller, **fresh)[0] == after


CALLER = """
import callee
from callee import Pair, next_of, number, twice
from numba.core import event
from sofa_softctl.base.jit import njit

@njit
def weighted(pair):
    return twice(pair.first) + 100.0 * next_of(pair.second) + number()

with event.install_recorder("numba:compile") as compiles:
    print(weighted(Pair(1.0, 2.0)), len(compiles.buffer) // 2)
"""
CALLEE = """
from typing import NamedTuple
from numba import types
from numba.extending import intrinsic
from sofa_softctl.base.jit import njit

OPTIONS = {}
NEXT = 1.0

class Pair(NamedTuple):
    first: float
    second: float

@njit(**OPTIONS)
def twice(x):
    return 2.0 * x

@njit
def next_of(x):
    return x + NEXT

@intrinsic
def number(typing):
    def emit(context, builder, signature, values):
        return context.get_constant(types.float64, 5.0)
    return types.float64(), emit
"""


def test_a_caller_is_loaded_with_the_separate_kernels_that_it_needs(cache, tmp_path):
    """Also after a file was lost: what is compiled again has another symbol, which the caller does
    not know."""
    script = tmp_path / "linked.py"
    script.write_text(LINKED)
    first = run(script, **cache)
    assert first[0] == "43.0" and int(first[1]) > 0
    assert run(script, **cache) == ["43.0", "0"]
    files = kernels(tmp_path / "cache")
    for file in files:
        content = file.read_bytes()
        file.unlink()
        assert run(script, **cache)[0] == "43.0"
        assert run(script, **cache) == ["43.0", "0"]
        file.write_bytes(content)  # as when another process had compiled it meanwhile
        assert run(script, **cache)[0] == "43.0"
        assert run(script, **cache) == ["43.0", "0"]


LINKED = """
from numba.core import event
from sofa_softctl.base.jit import njit

@njit(inner=True, separate=True)
def double(x):
    return 2.0 * x

@njit(separate=True)
def next_of_double(x):
    return double(x) + 1.0

@njit
def whole(x):
    return next_of_double(x)

with event.install_recorder("numba:compile") as compiles:
    assert next_of_double(20.0) == 41.0
    print(whole(21.0), len(compiles.buffer) // 2)
"""


@pytest.mark.processes(keep=1)
@pytest.mark.parametrize("lost", [False, True])
def test_a_kernel_from_the_cache_is_copied_into_a_new_caller(cache, tmp_path, lost):
    """Whatever it links to is found, too; also if its file is gone meanwhile."""
    script = tmp_path / "copied.py"
    script.write_text(COPIED)
    assert run(script, CALLED="", **cache)[0] == "43.0"
    files = " ".join(map(str, kernels(tmp_path / "cache"))) if lost else ""
    assert run(script, CALLED="caller", LOST=files, **cache) == ["43.0", "86.0"]
    assert run(script, CALLED="caller", **cache) == ["43.0", "86.0"]


COPIED = """
import os
from sofa_softctl.base.jit import njit

@njit(inner=True, separate=True)
def double(x):
    return 2.0 * x

@njit
def next_of_double(x):
    return double(x) + 1.0

@njit
def caller(x):
    return 2.0 * next_of_double(x)

print(next_of_double(21.0))
for file in os.environ.get("LOST", "").split():
    os.unlink(file)
if os.environ["CALLED"]:
    print(caller(21.0))
    assert next_of_double(20.0) == 41.0
"""


def test_processes_that_start_at_once_compile_each_kernel_once(cache, script):
    processes = [start(script, **cache) for _ in range(6)]
    results = [finish(process)[0] for process in processes]
    assert [value for value, _ in results] == ["42.0"] * 6
    assert sorted(count for _, count in results) == ["0"] * 5 + ["1"]


@pytest.mark.processes
def test_a_kernel_for_another_processor_is_another_kernel(cache, script, tmp_path):
    assert run(script, **cache) == ["42.0", "1"]
    for name in ("generic", "x86-64-v2"):
        assert run(script, NUMBA_CPU_NAME=name, **cache) == ["42.0", "1"]
    assert len({file.parent for file in kernels(tmp_path / "cache")}) == 3
    assert run(script, **cache) == ["42.0", "0"]


@pytest.mark.processes(keep=1)
@pytest.mark.parametrize("damage", [b"", b"\x80", "half", "flipped"])
def test_a_damaged_file_is_compiled_again(cache, script, tmp_path, damage):
    run(script, **cache)
    [file] = kernels(tmp_path / "cache")
    content = file.read_bytes()
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    file.write_bytes({"half": content[:middle], "flipped": flipped}.get(damage, damage))
    assert run(script, **cache) == ["42.0", "1"]
    assert run(script, **cache) == ["42.0", "0"]


def test_a_file_of_another_kernel_is_not_taken_for_this_one(cache, tmp_path):
    """Types and checksums of both are right: only the name in the checksum tells them apart."""
    script = tmp_path / "two.py"
    script.write_text(TWO)
    assert run(script, **cache) == ["8.0", "15.0"]
    first, second = kernels(tmp_path / "cache")
    first.write_bytes(second.read_bytes())
    assert run(script, **cache) == ["8.0", "15.0"]


TWO = """
from sofa_softctl.base.jit import njit

@njit
def total(a, b):
    return a + b

@njit
def product(a, b):
    return a * b

print(total(3.0, 5.0), product(3.0, 5.0))
"""


def test_a_folder_that_is_a_file_is_said_once_and_children_share_what_is_compiled(cache, tmp_path):
    (tmp_path / "cache").write_text("")
    parent = tmp_path / "parent.py"
    parent.write_text(PARENT.format(KERNEL))
    words, errors = finish(start(parent, **cache))
    assert words == ["42.0", "1", "42.0", "0"]
    assert errors.count("compiled kernels cannot be kept in") == 1
    assert "Set SOFTCTL_KERNEL_CACHE to a folder that can be written" in errors
    assert not list(tmp_path.glob("sofa-softctl-*")), "the temporary folder stays"


PARENT = """{}
import subprocess, sys
code = open(__file__).read().split("import subprocess")[0]
print(flush=True)
with open(__file__ + ".child.py", "w") as file:
    file.write(code)
import os, pathlib
child = pathlib.Path(__file__).with_name("parent") / "parent.py"
child.parent.mkdir()
child.write_text(code)
subprocess.run([sys.executable, str(child)], check=True)
"""

FULL = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"


def test_a_full_disk_costs_time_but_no_result(cache, script, tmp_path):
    """A limit of 1000 bytes a file stands for the full disk: the write fails in the middle."""
    script.write_text(FULL + KERNEL)
    words, errors = finish(start(script, **cache))
    assert words == ["42.0", "1"]
    assert errors.count("\n") == 1 and "cannot be kept" in errors
    left = [file for file in (tmp_path / "cache").rglob("*") if file.is_file()]
    assert left == []


def test_a_folder_that_others_can_write_is_not_trusted(cache, script, tmp_path):
    run(script, **cache)
    [file] = kernels(tmp_path / "cache")
    file.parent.chmod(0o777)
    words, errors = finish(start(script, **cache))
    assert words == ["42.0", "1"]
    assert "others can write it, or it belongs to another user" in errors


def test_a_file_that_others_can_write_is_not_trusted(cache, script, tmp_path):
    run(script, **cache)
    [file] = kernels(tmp_path / "cache")
    file.chmod(0o666)
    assert run(script, **cache) == ["42.0", "1"]
    assert not kernels(tmp_path / "cache")[0].stat().st_mode & 0o022
    assert run(script, **cache) == ["42.0", "0"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"SOFTCTL_KERNEL_CACHE": "~/kept"}, "kept"),
        ({"XDG_CACHE_HOME": "relative"}, ".cache/sofa-softctl/kernels"),
        ({}, ".cache/sofa-softctl/kernels"),
    ],
)
def test_the_folder_is_the_same_from_every_working_folder(tmp_path, monkeypatch, given, expected):
    for name in ("SOFTCTL_KERNEL_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": str(tmp_path), **given}.items():
        monkeypatch.setenv(name, value)
    assert kernel_cache.default_folder() == tmp_path / expected


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder to another user")
def test_a_folder_of_another_user_is_not_trusted(cache, script, tmp_path):
    run(script, **cache)
    [file] = kernels(tmp_path / "cache")
    os.chown(file.parent, 12345, 12345)
    words, errors = finish(start(script, **cache))
    assert words == ["42.0", "1"]
    assert "belongs to another user" in errors


def test_a_cache_that_is_removed_during_a_run_is_made_again(cache, script, tmp_path):
    removal = "import shutil\nshutil.rmtree({!r})\nprint(double(3))\n"
    script.write_text(KERNEL + removal.format(str(tmp_path / "cache")))
    assert run(script, **cache) == ["42.0", "1", "6.0"]
    assert len(kernels(tmp_path / "cache")) == 1


def test_a_system_without_locks_compiles_all_the_same(cache, script):
    refusal = "import fcntl\ndef refuse(*_):\n    raise OSError(37, 'No locks available')\n"
    script.write_text(refusal + "fcntl.flock = refuse\n" + KERNEL)
    assert run(script, **cache) == ["42.0", "1"]
    assert run(script, **cache) == ["42.0", "0"]


def test_a_compilation_that_fails_or_is_killed_keeps_nobody_waiting(cache, script, tmp_path):
    script.write_text(KERNEL.replace("2.0 * x", "x.nothing"))
    process = start(script, **cache)
    assert "Unknown attribute" in process.communicate(timeout=60)[1]
    assert not list((tmp_path / "cache").rglob("*.lock"))
    script.write_text(KERNEL.replace("    @njit", KILL + "    @njit"))
    killed = start(script, **cache)
    killed.communicate(timeout=60)
    assert killed.returncode == -9
    script.write_text(KERNEL)
    assert run(script, **cache) == ["42.0", "1"]


KILL = """    import os, signal
    from sofa_softctl.base.kernels.cache import CACHE
    CACHE.save = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
"""


def test_files_that_nobody_used_for_long_are_removed(tmp_path):
    cache = KernelCache(tmp_path)
    old, new = tmp_path / "old" / "a.kernel", tmp_path / "new" / "b.kernel"
    for file in (old, new):
        file.parent.mkdir()
        file.write_bytes(b"")
    past = time.time() - 1.1 * UNUSED_MAX
    os.utime(old, (past, past))
    kernel_cache.KernelCache._remove_unused(cache)
    assert not old.parent.exists()
    assert new.exists()
    old.parent.mkdir()
    old.write_bytes(b"")
    os.utime(old, (past, past))
    kernel_cache.KernelCache._remove_unused(cache)
    assert old.exists(), "cleaned twice within a day"


SCALE = np.arange(3.0)


@njit
def recursive(n: int) -> int:
    return 1 if n < 2 else n * recursive(n - 1)


@njit
def scaled(x: float) -> float:
    return x * SCALE[1]


def test_recursive_kernels_and_arrays_have_a_digest():
    digest = KernelDigest()
    arguments = (numba.types.int64,)
    assert digest.of_kernel(recursive, arguments) != digest.of_kernel(scaled, arguments)
    assert recursive(5) == 120


HANDLE = object()


@njit
def with_an_object() -> bool:
    return HANDLE is None


def test_a_kernel_that_uses_a_value_without_content_has_no_digest():
    """It is compiled, but not kept: nothing says whether the value is the same elsewhere."""
    with pytest.raises(TypeError, match="a object has no content to compare"):
        KernelDigest().of_kernel(with_an_object, ())
