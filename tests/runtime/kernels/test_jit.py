import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import sofa_softctl
from sofa_softctl._internal.jit import njit

KERNEL = """
import numba
from sofa_softctl._internal.jit import njit

@njit
def double(x):
    return 2.0 * x

value = double(21.0)
print(value, sum(double.stats.cache_hits.values()), numba.config.CACHE_DIR)
"""


@njit
def ratio(a: float, b: float) -> float:
    return a / b


@njit(fastmath=True)
def is_nan(value: float) -> bool:
    return value != value


def run(script: Path | str, **environment: str) -> list[str]:
    """Words that a fresh interpreter prints."""
    package = Path(sofa_softctl.__file__).parent.parent
    command = [sys.executable, *(["-c", script] if isinstance(script, str) else [script])]
    environment = {**os.environ, "PYTHONPATH": str(package), **environment}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_division_by_zero_gives_infinity_as_in_numpy():
    assert ratio(1.0, 0.0) == np.inf
    assert np.isnan(ratio(0.0, 0.0))


def test_relaxed_kernels_still_see_nan():
    """numba's own fastmath takes it that there is none, and compiles this to False."""
    assert is_nan(np.nan)
    assert not is_nan(1.0)


def test_a_kernel_is_compiled_once_for_all_processes(tmp_path):
    script = tmp_path / "kernel.py"
    script.write_text(KERNEL)
    cache = str(tmp_path / "cache")
    assert run(script, NUMBA_CACHE_DIR=cache)[:2] == ["42.0", "0"]
    assert run(script, NUMBA_CACHE_DIR=cache)[:2] == ["42.0", "1"]


AT_ONCE = """
from pathlib import Path
import numba
from sofa_softctl._internal.jit import njit

@njit
def double(x):
    return x + x

double._cache._cache_file._load_index = dict  # as of processes that all began with an empty cache
print(double(21), double(2.5), double(1j), len(list(Path(numba.config.CACHE_DIR).rglob("*.nbc"))))
"""


def test_processes_that_compile_at_once_do_not_overwrite_each_others_code(tmp_path):
    """numba numbers its files: each process would take number 1, and read what came last."""
    script = tmp_path / "kernel.py"
    script.write_text(AT_ONCE)
    assert run(script, NUMBA_CACHE_DIR=str(tmp_path / "cache")) == ["42", "5.0", "2j", "3"]


CALLER = """
import callee
from sofa_softctl._internal.jit import njit
from callee import Pair, twice

@njit
def sum_of(pair):
    return twice(pair.one) + pair.other

value = sum_of(callee.NAME(1.0, 2.0))
print(value, sum(sum_of.stats.cache_hits.values()))
"""
CALLEE = """
from typing import NamedTuple
from sofa_softctl._internal.jit import njit

class Pair(NamedTuple):
    one: float
    other: float

NAME = Pair

@njit
def twice(x):
    return 2.0 * x
"""


def test_a_kernel_is_compiled_anew_where_another_file_changed_that_it_uses(tmp_path):
    """Its callee, or a named tuple that it takes: also where that has another name now, which the
    index of what was compiled cannot be read without."""
    script, other = tmp_path / "caller.py", tmp_path / "callee.py"
    script.write_text(CALLER)
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    other.write_text(CALLEE)
    assert run(script, **cache) == ["4.0", "0"]
    assert run(script, **cache) == ["4.0", "1"]
    other.write_text(CALLEE.replace("2.0 * x", "20.0 * x"))
    assert run(script, **cache) == ["22.0", "0"]
    other.write_text(CALLEE.replace("Pair", "Two") + "Pair = Two\n")
    assert run(script, **cache) == ["4.0", "0"]
    assert run(script, **cache) == ["4.0", "1"]


def test_a_kernel_is_compiled_anew_where_an_intrinsic_changed_that_it_uses(tmp_path):
    script, other = tmp_path / "caller.py", tmp_path / "emitted.py"
    script.write_text(
        "from emitted import number\n"
        "from sofa_softctl._internal.jit import njit\n"
        "@njit\n"
        "def one(x):\n"
        "    return x + number()\n"
        "print(one(1.0))\n"
    )
    text = (
        "from numba import types\n"
        "from numba.extending import intrinsic\n"
        "@intrinsic\n"
        "def number(typing):\n"
        "    def emit(context, builder, signature, values):\n"
        "        return context.get_constant(types.float64, 2.0)\n"
        "    return types.float64(), emit\n"
    )
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    for number in (2.0, 30.0):
        other.write_text(text.replace("2.0", str(number)))
        assert run(script, **cache) == [str(1.0 + number)]


def test_without_a_writable_directory_kernels_are_kept_in_a_temporary_one(tmp_path):
    """Nothing can be made below a regular file, not even by root."""
    file = tmp_path / "__pycache__"
    file.write_text("")
    script = tmp_path / "kernel.py"
    script.write_text(KERNEL)
    below_file = str(file / "cache")
    value, hits, cache = run(
        script, NUMBA_CACHE_DIR=below_file, XDG_CACHE_HOME=below_file, TMPDIR=str(tmp_path)
    )
    assert (value, hits) == ("42.0", "0")
    assert Path(cache).parent == tmp_path
    assert not Path(cache).exists()  # removed when the process ended


def test_importing_kernels_compiles_nothing():
    code = (
        "from sofa_softctl.runtime.kernels.cholesky import block_matrix, substitution;"
        "from sofa_softctl.runtime.kernels.cholesky import supernodal, symbolic;"
        "modules = (block_matrix, substitution, supernodal, symbolic);"
        "kernels = [k for m in modules for k in vars(m).values() if hasattr(k, 'signatures')];"
        "print(len(kernels), sum(len(k.signatures) for k in kernels))"
    )
    kernels, compiled = run(code)
    assert int(kernels) > 20
    assert compiled == "0"
