"""What is foreseen of a SOFA that cannot be used, and what an error at its import means."""

import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES

import pytest

from sofa_softctl.scene.backend import problems as sofa_problems
from sofa_softctl.scene.backend.installation import HERE, find_installation
from sofa_softctl.scene.backend.problems import conda, problems
from sofa_softctl.scene.backend.start import explain

pytestmark = pytest.mark.usefixtures("no_sofa_of_this_machine")
BELOW = "plugins/SofaPython3/lib/python3/site-packages"
SUFFIX = EXTENSION_SUFFIXES[0].removeprefix(".")  # such as cpython-312-x86_64-linux-gnu.so


@pytest.fixture
def problem(monkeypatch):
    """problem(root) -> the only problem of the SOFA in a folder."""

    def only(root, **environment):
        monkeypatch.setenv("SOFA_ROOT", str(root))
        for name, value in environment.items():
            monkeypatch.setenv(name, str(value))
        [text] = problems(find_installation())
        return text

    return only


def test_a_sofa_that_has_all_has_no_problems(make_sofa, monkeypatch):
    monkeypatch.setenv("SOFA_ROOT", str(make_sofa()))
    assert problems(find_installation()) == []


@pytest.mark.parametrize("version", ["25.06.00", "25.06.99", "25.12.00", "26.06.00"])
def test_sofas_from_the_oldest_on_are_taken(make_sofa, monkeypatch, version):
    monkeypatch.setenv("SOFA_ROOT", str(make_sofa(version=version)))
    assert problems(find_installation()) == []


@pytest.mark.parametrize("version", ["23.12.00", "24.12.01", "25.05.99"])
def test_a_sofa_that_is_too_old_is_refused(make_sofa, problem, version):
    root = make_sofa(version=version)
    assert problem(root) == (
        f"SOFA in '{root}' is v{version}, too old: v25.06 or newer is needed. Install a newer one, "
        f"for instance by '{conda()}'."
    )


def test_modules_for_an_older_python_name_both_and_the_conda_packages(make_sofa, problem):
    root = make_sofa(compiled="cpython-39-x86_64-linux-gnu.so")
    assert problem(root) == (
        f"SofaPython3 in '{root / BELOW}' is compiled for Python 3.9, and this is Python {HERE} "
        f"({sys.executable}). sofa-softctl needs Python 3.11 or newer: take a SOFA for Python "
        f"{HERE}: '{conda()}'."
    )


def test_modules_for_another_python_that_would_do_name_an_environment(make_sofa, problem):
    other = "3.13" if HERE != "3.13" else "3.12"
    root = make_sofa(compiled=f"cpython-{other.replace('.', '')}-x86_64-linux-gnu.so")
    assert problem(root).endswith(
        f"({sys.executable}). Make an environment with Python {other} (python{other} -m venv .venv)"
        f" and install sofa-softctl there, or take a SOFA for Python {HERE}: '{conda()}'."
    )


@pytest.mark.parametrize("kind", ["alien-linux-gnu.so", "t-x86_64-linux-gnu.so"])
def test_modules_for_another_machine_or_a_free_threaded_python_are_refused(
    make_sofa, problem, kind
):
    kind = f"cpython-{HERE.replace('.', '')}{kind if kind[0] == 't' else '-' + kind}"
    root = make_sofa(compiled=kind)
    assert problem(root) == (
        f"SofaPython3 in '{root / BELOW}' is compiled for '{kind.removesuffix('.so')}', and this "
        f"Python takes '{SUFFIX.removesuffix('.so')}': take the SOFA of this machine and this kind "
        f"of Python, for instance by '{conda()}'."
    )


def test_the_source_folder_is_no_installation(make_sofa, problem):
    root = make_sofa()
    (root / BELOW / "Sofa" / "Core.py").unlink()
    assert problem(root) == (
        f"'{root / BELOW}' has the package Sofa, but none of its compiled modules (Sofa/Core.*): "
        "it may be SofaPython3's source. Take the site-packages of a build or of the release "
        "binaries (SOFA's folder/plugins/SofaPython3/lib/python3/site-packages)."
    )


def test_two_sofas_are_not_mixed(make_sofa, problem, monkeypatch):
    """SOFA_ROOT's plugins would be loaded into the SOFA on the path: it hangs or crashes."""
    taken, given = make_sofa("taken"), make_sofa("given", version="26.06.00")
    monkeypatch.syspath_prepend(taken / BELOW)
    assert problem(given) == (
        f"Two SOFAs are mixed: 'import Sofa' takes '{taken / BELOW}', of SOFA v25.06.00 in "
        f"'{taken}', but SOFA_ROOT is '{given}' with v26.06.00, whose plugins would be loaded into "
        "it. Let SOFA_ROOT and PYTHONPATH name the same SOFA."
    )


def test_a_link_to_sofa_is_no_second_one(make_sofa, monkeypatch, tmp_path):
    (tmp_path / "link").symlink_to(make_sofa())
    monkeypatch.setenv("SOFA_ROOT", str(tmp_path / "link"))
    assert problems(find_installation()) == []


@pytest.mark.parametrize("wrong", ["nowhere", "SOFA/bin", "SOFA/."])
def test_a_sofa_root_without_a_sofa_does_not_matter_where_sofa_is_on_the_path(
    make_sofa, monkeypatch, tmp_path, wrong
):
    monkeypatch.syspath_prepend(make_sofa() / BELOW)
    monkeypatch.setenv("SOFA_ROOT", str(tmp_path / wrong))
    assert problems(find_installation()) == []


def test_a_pybind11_that_misreads_numpy_2_is_seen_by_the_name_of_a_module(make_sofa, problem):
    """Until 2.11 pybind11 imports numpy.core.multiarray; since 2.12 it makes up the name."""
    root = make_sofa(compiled=SUFFIX)
    core = root / BELOW / "Sofa" / f"Core.{SUFFIX}"
    core.write_bytes(b"\x7fELF\0numpy._core\0numpy.core\0")
    with pytest.raises(ValueError, match="not enough values"):
        problem(root)
    core.write_bytes(b"\x7fELF\0numpy.core.multiarray\0_ARRAY_API\0")
    assert problem(root) == (
        f"SofaPython3 in '{root / BELOW}' is built with a pybind11 older than 2.12, which reads "
        "wrong numbers from the arrays of NumPy 2, without an error. Build it again with pybind11 "
        "2.12 or newer, or take the release binaries of SOFA v25.06 or newer, or the conda "
        f"packages: '{conda()}'."
    )


def test_bindings_without_the_compliance_matrix_are_refused(make_sofa, problem):
    root = make_sofa()
    (root / BELOW / "Sofa" / "SofaConstraintSolver.py").unlink()
    assert problem(root) == (
        f"SofaPython3 in '{root / BELOW}' lacks the module Sofa.SofaConstraintSolver, by which "
        "controllers see the compliance matrix W: build SofaPython3 with all of its bindings "
        f"(Bindings.Modules), or take the conda packages: '{conda()}'."
    )


def test_a_missing_soft_robots_says_where_it_comes_from(make_sofa, problem):
    root = make_sofa(plugins=["Sofa.Component"])
    assert problem(root) == (
        f"SOFA in '{root}' has no plugin SoftRobots, which brings the cables: install it (conda: "
        "sofa-softrobots; the release binaries have it in plugins/SoftRobots), or set "
        "SOFA_PLUGIN_PATH to the folder of libSoftRobots."
    )


def test_soft_robots_elsewhere_is_found_by_sofa_plugin_path(make_sofa, monkeypatch):
    root, other = make_sofa(plugins=["Sofa.Component"]), make_sofa("other")
    monkeypatch.setenv("SOFA_ROOT", str(root))
    monkeypatch.setenv("SOFA_PLUGIN_PATH", os.pathsep.join([str(other), str(other / "lib")]))
    assert problems(find_installation()) == []


def test_bindings_without_sofa_ask_for_sofa_root(make_sofa, monkeypatch):
    monkeypatch.syspath_prepend(make_sofa(version="", plugins=()) / BELOW)
    assert problems(find_installation()) == [
        "SOFA's own components are not found (libSofa.Component in SOFA's lib folder). Its folder "
        "is unknown: set SOFA_ROOT to SOFA's folder, the one that holds bin, lib and plugins."
    ]


def test_all_that_is_wrong_is_told(make_sofa, monkeypatch):
    root = make_sofa(compiled="cpython-39-x86_64-linux-gnu.so", version="21.12.00", plugins=())
    monkeypatch.setenv("SOFA_ROOT", str(root))
    texts = problems(find_installation())
    parts = ("compiled for Python 3.9", "v21.12.00, too old", "components are not found")
    assert all(part in text for part, text in zip(parts, texts, strict=True))


def test_the_conda_command_makes_an_environment_unless_this_is_one(monkeypatch, tmp_path):
    monkeypatch.setattr(sofa_problems, "HERE", "3.12")
    packages = "python=3.12 sofa-app sofa-python3 sofa-softrobots"
    channels = "--channel sofa-framework --channel conda-forge"
    assert conda() == f"conda create --name sofa {channels} {packages}"
    (tmp_path / "conda-meta").mkdir()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert conda() == f"conda install {channels} {packages}"
    monkeypatch.setattr(sofa_problems, "HERE", "3.14")  # there is no SOFA for it
    assert conda() == f"conda create --name sofa {channels} {packages}"


# -- errors of the import ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (
            "libpython3.12.so.1.0: cannot open shared object file: No such file or directory",
            "SOFA needs the shared library of Python 3.12: install it (Debian and Ubuntu: "
            "libpython3.12), or add its folder to LD_LIBRARY_PATH",
        ),
        (
            "libSofa.Helper.so.24.12.00: cannot open shared object file: No such file or directory",
            "SofaPython3 was built for SOFA v24.12, and v25.06.00 is beside it in '{root}': take "
            "both from the same release.",
        ),
        (
            "libSofa.Helper.so.25.06.00: cannot open shared object file: No such file or directory",
            "Let SOFA_ROOT be SOFA's folder, and add the folder of the library that is missing to "
            "LD_LIBRARY_PATH (macOS: DYLD_LIBRARY_PATH, Windows: PATH); SOFA's own are in "
            "'{root}/lib'.",
        ),
        (
            "DLL load failed while importing Helper: The specified module could not be found.",
            "Let SOFA_ROOT be SOFA's folder, and add the folder of the library that is missing",
        ),
        (
            "/lib/libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by libSofa.Core.so)",
            "A library that was built for another system or another SOFA is loaded: look at "
            "LD_LIBRARY_PATH, or take the conda packages",
        ),
        (
            "Core.so: undefined symbol: _ZN4sofa4core",
            "A library that was built for another system or another SOFA is loaded",
        ),
    ],
)
def test_an_error_of_the_loader_says_what_to_do(make_sofa, monkeypatch, error, remedy):
    root = make_sofa()
    monkeypatch.setenv("SOFA_ROOT", str(root))
    text = explain("Sofa.Helper", error, find_installation())
    assert text.startswith(
        f"SOFA in '{root / BELOW}' was found, but 'Sofa.Helper' cannot be imported: "
        f"{error.rstrip('.')}. {remedy.format(root=root)}"
    )


def test_an_error_that_nobody_knows_is_told_as_it_is():
    assert explain("Sofa.Core", "wrong ABI", None) == (
        "SOFA was found, but 'Sofa.Core' cannot be imported: wrong ABI."
    )
