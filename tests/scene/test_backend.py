"""Which program answers `import Sofa`, in fresh processes."""

import json
import os
import sys

import pytest

from sofa_softctl.scene.backend.installation import find_installation
from sofa_softctl.scene.backend.problems import conda

pytestmark = pytest.mark.usefixtures("no_sofa_of_this_machine")
BELOW = "plugins/SofaPython3/lib/python3/site-packages"
FIND = """
import sys
from sofa_softctl.scene.backend.backend import find_backend
backend = find_backend({})
print(backend.name, backend.version)
print(backend.describe())
"""
REAL = dict(os.environ), find_installation()
"""The SOFA of this machine, before the tests forget it."""


@pytest.fixture
def find(fresh):
    """find(choice, **environment) -> (lines of a process that finds its backend, last error)."""

    def call(choice="", **environment):
        done = fresh(FIND.format(choice and repr(choice)), **environment)
        return done.stdout.splitlines(), done.stderr.strip().rpartition("\n")[2]

    return call


@pytest.mark.parametrize("asked", ["Embedded", "auto"])
def test_the_environment_chooses_the_backend(find, asked):
    lines, _ = find(SOFTCTL_BACKEND=asked)
    assert lines == ["embedded 25.06.00", "embedded runtime (semantics of SOFA v25.06.00)"]


def test_the_argument_is_stronger_than_the_environment(find):
    assert find("embedded", SOFTCTL_BACKEND="sofa")[0][0] == "embedded 25.06.00"


def test_an_unknown_backend_names_the_known_ones(find):
    _, error = find(SOFTCTL_BACKEND="unity")
    assert error.endswith("BackendError: Unknown backend 'unity'; known: auto, embedded, sofa.")


def test_sofa_that_is_not_there_says_how_to_get_it(find, tmp_path):
    _, error = find("sofa")
    assert error.endswith(
        "BackendError: SOFA cannot be imported: no package 'Sofa' on the path, and SOFA_ROOT is "
        f"not set. Set SOFA_ROOT to SOFA's folder, or install it: '{conda()}'. --backend embedded "
        "runs without SOFA; 'softctl doctor' says more."
    )
    _, error = find("sofa", SOFA_ROOT=tmp_path)
    assert f"no package 'Sofa' on the path or below SOFA_ROOT '{tmp_path}'. Set" in error


def test_a_process_keeps_its_backend(fresh):
    done = fresh(FIND.format("'embedded'") + "find_backend('sofa')")
    assert "already runs on the backend 'embedded'; start another one for 'sofa'" in done.stderr


@pytest.mark.processes
def test_sofa_is_taken_unless_the_embedded_runtime_is_asked_for(find, make_sofa):
    root = make_sofa(version="25.12.00")
    (root / "lib" / "libSoftRobots.so").unlink()
    (root / "lib" / "libSoftRobots.so.2.1").touch()
    (root / "lib" / "libSoftRobots.so").symlink_to("libSoftRobots.so.2.1")
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    described = (
        f"SOFA v25.12.00 with Sofa.Component and SoftRobots 2.1 ({root / BELOW}/Sofa, "
        f"Python {here})"
    )
    for choice in ("", "sofa"):  # and nothing else: neither the banner nor what C++ says
        assert find(choice, SOFA_ROOT=root)[0] == ["sofa 25.12.00", described]
    assert find(PYTHONPATH=root / BELOW)[0] == ["sofa 25.12.00", described]
    assert find("embedded", SOFA_ROOT=root)[0][0] == "embedded 25.06.00"
    assert find(SOFA_ROOT=root, SOFTCTL_BACKEND="embedded")[0][0] == "embedded 25.06.00"


@pytest.mark.parametrize("name", ["Sofa", "InverseController"])
def test_names_of_the_package_take_the_sofa_below_sofa_root(fresh, make_sofa, name):
    """Without a Session or find_backend() before."""
    root = make_sofa()
    code = f"from sofa_softctl import {name}; import Sofa; print(Sofa.__file__)"
    done = fresh(code, SOFA_ROOT=root)
    assert done.stdout.strip() == str(root / BELOW / "Sofa" / "__init__.py"), done.stderr


def test_a_sofa_that_cannot_be_used_leaves_the_embedded_runtime_and_says_why(find, make_sofa):
    root = make_sofa(version="23.12.00")
    reason = f"SOFA in '{root}' is v23.12.00, too old: v25.06 or newer is needed."
    lines, error = find(SOFA_ROOT=root)
    assert lines[0] == "embedded 25.06.00"
    assert lines[1].startswith(
        f"embedded runtime (semantics of SOFA v25.06.00). SOFA is not used: {reason} Install"
    )
    assert error == ""
    _, error = find("sofa", SOFA_ROOT=root)
    assert f"BackendError: {reason} Install" in error
    assert error.endswith("--backend embedded runs without SOFA; 'softctl doctor' says more.")


def test_modules_of_another_python_are_never_imported(find, make_sofa):
    root = make_sofa(compiled="cpython-39-x86_64-linux-gnu.so", code="import os; os.abort()")
    lines, _ = find(SOFA_ROOT=root)
    assert "SOFA is not used: SofaPython3 in" in lines[1]
    assert "is compiled for Python 3.9, and this is Python" in lines[1]


def test_an_import_that_fails_leaves_the_embedded_runtime_and_says_why(find, make_sofa):
    code = "raise ImportError('libfoo.so.3: cannot open shared object file')"
    root = make_sofa(code=code)
    lines, _ = find(SOFA_ROOT=root)
    assert lines[0] == "embedded 25.06.00"
    failed = (
        f"SOFA in '{root / BELOW}' was found, but 'Sofa' cannot be imported: libfoo.so.3: cannot "
        "open shared object file. Let SOFA_ROOT be SOFA's folder, and add the folder of the library"
    )
    assert f"SOFA is not used: {failed}" in lines[1]
    _, error = find("sofa", SOFA_ROOT=root)
    assert f"BackendError: {failed}" in error


def test_compiled_modules_of_sofa_are_never_followed_by_the_embedded_runtime(find, make_sofa):
    """They may end the process when it ends, and have changed it: here a module that says so."""
    code = "import sys; sys.modules['Sofa.Helper'] = type(sys)('Sofa.Helper')\n"
    code += "sys.modules['Sofa.Helper'].__file__ = 'Helper.so'\nraise ImportError('wrong ABI')"
    lines, error = find(SOFA_ROOT=make_sofa(code=code))
    assert lines == []
    assert "'Sofa' cannot be imported: wrong ABI. --backend embedded runs without SOFA" in error


def test_what_sofa_lacks_is_not_answered_by_the_embedded_runtime(find, make_sofa):
    root = make_sofa()
    (root / BELOW / "Sofa" / "Simulation.py").unlink()
    _, error = find("sofa", SOFA_ROOT=root)
    assert "'Sofa.Simulation' cannot be imported: No module named 'Sofa.Simulation'." in error
    root = make_sofa("other", code="import Sofa.Helper")
    _, error = find("sofa", SOFA_ROOT=root)
    assert "'Sofa' cannot be imported: No module named 'Sofa.Helper'." in error


def test_nothing_of_a_sofa_that_failed_is_left_to_the_embedded_runtime(fresh, make_sofa):
    root = make_sofa(code="import Sofa.Simulation\nraise ImportError('wrong ABI')")
    code = "import Sofa.Simulation; print(hasattr(Sofa.Simulation, 'animateNSteps'))"
    done = fresh(FIND.format("") + code, SOFA_ROOT=root)
    assert done.stdout.splitlines()[-1] == "True"


@pytest.mark.parametrize("plugin", ["Sofa.Component", "SoftRobots"])
def test_a_plugin_that_cannot_be_loaded_says_what_sofa_says(find, make_sofa, plugin):
    _, error = find(SOFA_ROOT=make_sofa(broken=[plugin]))
    assert error.endswith(
        f"BackendError: SOFA was found, but its plugin '{plugin}' cannot be loaded: [ERROR] "
        "[PluginManager] libFoo.so.3: no such file. Take it from the same release as SOFA (conda: "
        "sofa-softrobots; the release binaries have it below plugins/), and set SOFA_PLUGIN_PATH "
        "to the folder of its library. --backend embedded runs without SOFA; 'softctl doctor' "
        "says more."
    )


@pytest.mark.parametrize("wrong", ["", "/nowhere", "/usr"])
def test_sofa_gets_the_sofa_root_that_it_needs(fresh, make_sofa, wrong):
    root = make_sofa()
    code = FIND.format("") + "import os; print(os.environ['SOFA_ROOT'])"
    done = fresh(code, SOFA_ROOT=wrong, PYTHONPATH=root / BELOW)
    assert done.stdout.splitlines()[-1] == str(root)


# -- the SOFA of this machine --------------------------------------------------------------------

real = pytest.mark.skipif(REAL[1] is None, reason="no SOFA on the path or below SOFA_ROOT")


@pytest.fixture
def at_real(monkeypatch):
    """This process' environment as it was given."""
    for name in ("SOFA_ROOT", "SOFA_PLUGIN_PATH", "PYTHONPATH", "PATH"):
        if name in REAL[0]:
            monkeypatch.setenv(name, REAL[0][name])


@real
@pytest.mark.parametrize("root", [None, "", "/nowhere"])
def test_the_real_sofa_is_found_and_used_with_any_sofa_root(find, at_real, monkeypatch, root):
    if root is not None:
        monkeypatch.setenv("PYTHONPATH", str(REAL[1].packages))
        monkeypatch.setenv("SOFA_ROOT", root)
    lines, error = find("sofa")
    assert error == ""
    assert lines[0] == f"sofa {REAL[1].version}"
    assert lines[1].startswith(f"SOFA v{REAL[1].version} with Sofa.Component and SoftRobots")
    assert not any("Checking SOFA_ROOT" in line or "Loaded plugin" in line for line in lines)


@real
def test_the_real_sofa_brings_the_modules_of_its_own(fresh, at_real):
    code = """
        import json, sys
        from sofa_softctl.scene.backend.backend import find_backend
        find_backend("sofa")
        print(json.dumps({name: sys.modules[name].__file__ for name in
            ("Sofa.Core", "Sofa.Simulation", "Sofa.SofaConstraintSolver", "SofaRuntime")}))
    """
    files = json.loads(fresh(code).stdout.splitlines()[0])
    assert all(file.startswith(str(REAL[1].packages)) for file in files.values())
