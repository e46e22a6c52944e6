"""What `softctl doctor` says of SOFA; what could end a process happens in another one."""

import io
import os
import stat

import pytest
from rich.console import Console

from sofa_softctl.base.extras import install_command
from sofa_softctl.scene.backend import doctor as diagnosis
from sofa_softctl.scene.backend import probe as sofa_probe
from sofa_softctl.scene.backend.doctor import Finding, sofa_findings
from sofa_softctl.scene.backend.installation import HERE, find_installation
from sofa_softctl.scene.backend.problems import conda
from sofa_softctl.view.terminal import info as terminal

pytestmark = pytest.mark.usefixtures("no_sofa_of_this_machine")
BELOW = "plugins/SofaPython3/lib/python3/site-packages"
REAL = dict(os.environ), find_installation()
"""The SOFA of this machine, before the tests forget it."""


@pytest.fixture
def doctor(monkeypatch):
    """doctor(**environment) -> what it finds of SOFA, by subject."""

    def call(**environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, str(value))
        findings, _ = sofa_findings()
        assert len({finding.subject for finding in findings}) == len(findings)
        return {finding.subject: finding for finding in findings}

    return call


@pytest.fixture
def run_sofa():
    """run_sofa(root) -> the folder of a program runSofa in it."""

    def make(root):
        (root / "bin").mkdir(parents=True, exist_ok=True)
        (root / "bin" / "runSofa").touch()
        (root / "bin" / "runSofa").chmod(stat.S_IRWXU)
        return root / "bin"

    return make


# -- no SOFA -------------------------------------------------------------------------------------


def test_no_sofa_is_good_and_says_how_to_get_one(doctor):
    assert list(doctor().values()) == [
        Finding(
            "SOFA",
            True,
            "not installed, and not needed",
            f"To run scenes in SOFA as well: '{conda()}', then '{install_command()}' there. "
            "Or unpack the release binaries of SOFA v25.06 or newer (for Python 3.12) and set "
            "SOFA_ROOT to their folder. Where the conda channel is served from: "
            "sofa-framework/conda-ci.",
        )
    ]


def test_a_sofa_root_that_is_no_folder_is_told(doctor):
    assert doctor(SOFA_ROOT="/nowhere/SOFA")["SOFA_ROOT"] == Finding(
        "SOFA_ROOT",
        False,
        "'/nowhere/SOFA' is no folder",
        "Set it to SOFA's folder, the one that holds bin, lib and plugins, or unset it.",
    )


def test_a_sofa_root_without_sofa_python3_says_where_it_would_be(doctor, tmp_path):
    assert doctor(SOFA_ROOT=tmp_path)["SOFA_ROOT"] == Finding(
        "SOFA_ROOT",
        False,
        f"'{tmp_path}' holds no SofaPython3",
        "The release binaries have it in plugins/SofaPython3; a build needs the plugin SofaPython3 "
        f"switched on; conda brings it by '{conda()}'.",
    )


def test_a_sofa_root_that_is_a_folder_of_sofa_names_the_right_one(doctor, make_sofa):
    root = make_sofa()
    found = doctor(SOFA_ROOT=root / "lib")["SOFA_ROOT"]
    assert (found.good, found.text) == (False, f"'{root / 'lib'}' holds no SofaPython3")
    assert found.advice == f"Set it to {root}, which does."


def test_a_python_path_that_misses_the_package_is_told(doctor, tmp_path):
    path = tmp_path / "SOFA" / "plugins" / "SofaPython3"
    assert doctor(PYTHONPATH=path)["PYTHONPATH"] == Finding(
        "PYTHONPATH",
        False,
        f"'{path}' holds no package Sofa",
        "Name the folder that holds the package Sofa: SOFA's folder/plugins/SofaPython3/lib/"
        "python3/site-packages. Or set SOFA_ROOT to SOFA's folder, which is enough here.",
    )


def test_a_run_sofa_on_path_tells_where_a_sofa_is(doctor, make_sofa, run_sofa):
    root = make_sofa()
    found = doctor(PATH=run_sofa(root))["runSofa"]
    assert found == Finding(
        "runSofa", True, f"{root}/bin/runSofa", f"SOFA_ROOT={root} lets scenes run in that SOFA."
    )


# -- a SOFA that cannot be used ------------------------------------------------------------------


def test_each_problem_is_told_without_importing_anything(monkeypatch, make_sofa):
    root = make_sofa(
        compiled="cpython-39-x86_64-linux-gnu.so", version="23.12.00", code="import os; os.abort()"
    )
    monkeypatch.setenv("SOFA_ROOT", str(root))
    findings, tried = sofa_findings()
    assert tried is None
    [finding] = findings
    assert (finding.subject, finding.good) == ("SOFA", False)
    assert finding.text == f"v23.12.00, SofaPython3 for Python 3.9 in {root / BELOW}"
    first, second, last = finding.advice.splitlines()
    assert "is compiled for Python 3.9, and this is Python" in first
    assert "is v23.12.00, too old" in second
    assert last == "Until then scenes run in the embedded runtime, which needs no SOFA."


def test_an_import_that_ends_the_interpreter_is_told_with_its_signal_and_last_lines(
    doctor, make_sofa
):
    code = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    found = doctor(SOFA_ROOT=make_sofa(code=code))["SOFA tried"]
    assert not found.good
    lines = found.text.splitlines()
    assert lines[0] == "the Python process was ended by the signal SIGSEGV at the stage 'import'"
    assert lines[1] == "Fatal Python error: Segmentation fault"
    assert "site-packages/Sofa/__init__.py" in lines[3]
    assert not any("importlib" in line for line in lines)
    assert found.advice.startswith(
        "What SOFA loads does not fit this Python: another build of SOFA, Qt or libstdc++ on "
        "LD_LIBRARY_PATH, or a Python that brings its own copy of libpython. Unset LD_LIBRARY_PATH "
        f"and try again, or take the conda packages, which fit together: '{conda()}'."
    )


def test_an_import_that_exits_is_told_with_its_status(doctor, make_sofa):
    found = doctor(SOFA_ROOT=make_sofa(code="import os; os._exit(3)"))["SOFA tried"]
    assert "the Python process ended with status 3 at the stage 'import'" in found.text


def test_an_import_that_fails_says_why_and_what_to_do(doctor, make_sofa):
    code = "raise ImportError('libpython3.12.so.1.0: cannot open shared object file')"
    found = doctor(SOFA_ROOT=make_sofa(code=code))["SOFA tried"]
    assert (found.good, found.text) == (False, "fails")
    assert "SOFA needs the shared library of Python 3.12: install it (Debian" in found.advice
    assert found.advice.endswith(
        "belongs to this Python). Until then --backend embedded (or SOFTCTL_BACKEND=embedded) runs "
        "without SOFA."
    )


def test_a_plugin_that_cannot_be_loaded_says_why(doctor, make_sofa):
    found = doctor(SOFA_ROOT=make_sofa(broken=["SoftRobots"]))["SOFA tried"]
    assert "plugin 'SoftRobots' cannot be loaded: [ERROR] [PluginManager] libFoo" in found.advice


def test_wrong_numbers_in_arrays_are_seen(doctor, make_sofa):
    """What an old pybind11 makes of NumPy 2: each number is the first one."""
    root = make_sofa(positions="[[self[0][0]] * 3 for row in self]")
    found = doctor(SOFA_ROOT=root)["SOFA tried"]
    assert (found.good, found.text) == (False, "import: good; then fails")
    assert found.advice.startswith("SOFA shows wrong numbers in arrays: [[1.0, 1.0, 1.0], [1.0,")


def test_a_sofa_that_does_not_answer_is_given_up(doctor, make_sofa, monkeypatch):
    monkeypatch.setattr(sofa_probe, "PROBE_TIMEOUT", 0.01)
    found = doctor(SOFA_ROOT=make_sofa())["SOFA tried"]
    assert found.text.strip() == "SOFA did not answer within 0.01 s."


def test_a_crash_after_the_import_names_the_stage():
    probe = sofa_probe.read("softctl-probe: import SOFA v25.06.00\n[INFO] x\n\nAborted\n", -6)
    assert (probe.passed, probe.description) == (("import",), "SOFA v25.06.00")
    assert probe.error == "the Python process was ended by the signal SIGABRT at the stage 'arrays'"
    assert (probe.crashed, probe.last_lines) == (True, "Aborted")


# -- a SOFA that can -----------------------------------------------------------------------------


def test_a_sofa_that_works_is_good_in_all(doctor, make_sofa, run_sofa):
    root = make_sofa()
    found = doctor(SOFA_ROOT=root, PATH=run_sofa(root), VIRTUAL_ENV="set")
    assert all(finding.good for finding in found.values())
    assert found["SOFA"].text == f"v25.06.00, SofaPython3 in {root / BELOW}"
    assert found["SOFA tried"].text == "imports, loads its plugins, does a step"
    assert found["SoftRobots"].text == f"in {root / 'lib'}"
    assert found["runSofa"].text == f"{root}/bin/runSofa"


def test_the_inverse_plugin_is_only_for_comparison(doctor, make_sofa):
    assert doctor(SOFA_ROOT=make_sofa())["SoftRobots.Inverse"] == Finding(
        "SoftRobots.Inverse",
        True,
        "not there, and not needed",
        "Only for comparison (conda: sofa-softrobotsinverse).",
    )
    plugins = ("Sofa.Component", "SoftRobots", "SoftRobots.Inverse")
    root = make_sofa("full", plugins=plugins)
    assert doctor(SOFA_ROOT=root)["SoftRobots.Inverse"].text == f"in {root / 'lib'}"


def test_a_sofa_root_that_misleads_other_programs_is_told(doctor, make_sofa, monkeypatch):
    root = make_sofa()
    monkeypatch.syspath_prepend(root / BELOW)
    found = doctor(PYTHONPATH=root / BELOW, SOFA_ROOT=root / "bin")
    assert found["SOFA tried"].good
    assert found["SOFA_ROOT"] == Finding(
        "SOFA_ROOT",
        False,
        f"'{root / 'bin'}' is no folder",
        f"Here {root} is taken instead; runSofa and other programs do not: set SOFA_ROOT={root}",
    )


def test_an_unknown_version_is_no_obstacle(doctor, make_sofa, monkeypatch):
    root = make_sofa(version="")
    monkeypatch.syspath_prepend(root / BELOW)
    found = doctor(PYTHONPATH=root / BELOW, SOFA_PLUGIN_PATH=root / "lib")
    assert found["SOFA"].text == f"unknown version, SofaPython3 in {root / BELOW}"
    assert found["SOFA"].advice == ("Its files do not say its version; v25.06 or newer is needed.")
    assert found["SOFA tried"].good


def test_a_run_sofa_of_another_sofa_is_told(doctor, make_sofa, run_sofa):
    root, other = make_sofa(), make_sofa("other")
    found = doctor(SOFA_ROOT=root, PATH=run_sofa(other))["runSofa"]
    assert (found.good, found.text) == (False, f"{other}/bin/runSofa")
    assert found.advice == f"It belongs to another SOFA than the one in {root}: mind PATH."


def test_a_run_sofa_with_another_python_is_told(doctor, make_sofa, run_sofa):
    root = make_sofa(compiled="cpython-39-x86_64-linux-gnu.so")
    found = doctor(SOFA_ROOT=root, PATH=run_sofa(root))["runSofa"]
    assert not found.good
    assert found.advice == (f"It runs scenes in Python 3.9; sofa_softctl is in Python {HERE}.")


def test_a_run_sofa_that_is_not_on_path_is_offered(doctor, make_sofa, run_sofa):
    root = make_sofa()
    folder = run_sofa(root)
    assert doctor(SOFA_ROOT=root)["runSofa"] == Finding(
        "runSofa", True, "not on PATH", f"Add {folder} to PATH to see scenes in SOFA's window."
    )


# -- the backend, and how it is shown ------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "good", "text"),
    [
        ("auto", True, "embedded runtime (semantics of SOFA v25.06.00)"),
        ("embedded", True, "embedded runtime (semantics of SOFA v25.06.00), by SOFTCTL_BACKEND"),
        ("sofa", False, "SOFTCTL_BACKEND asks for SOFA, which cannot be used"),
        ("unity", False, "SOFTCTL_BACKEND is 'unity'"),
    ],
)
def test_the_backend_without_sofa_is_what_scenes_would_run_in(monkeypatch, asked, good, text):
    monkeypatch.setenv("SOFTCTL_BACKEND", asked)
    finding = diagnosis.diagnose()[0]
    assert (finding.subject, finding.good, finding.text) == ("backend", good, text)


def test_the_backend_with_sofa_is_told_without_starting_sofa_here(monkeypatch, make_sofa):
    root = make_sofa()
    monkeypatch.setenv("SOFA_ROOT", str(root))
    finding = diagnosis.diagnose()[0]
    assert finding.good
    assert finding.text == (
        f"SOFA v25.06.00 with Sofa.Component and SoftRobots ({root / BELOW}/Sofa, Python {HERE})"
    )
    monkeypatch.setenv("SOFTCTL_BACKEND", "embedded")
    assert diagnosis.diagnose()[0].text.startswith("embedded runtime")


def test_a_backend_that_would_end_the_process_is_not_good(monkeypatch, make_sofa):
    monkeypatch.setenv("SOFA_ROOT", str(make_sofa(code="import os; os.abort()")))
    assert diagnosis.diagnose()[0] == Finding("backend", False, "SOFA, which fails", "See below.")


def test_what_to_do_stands_below_what_was_found_and_brackets_are_shown(monkeypatch):
    console = Console(file=io.StringIO(), width=60)
    monkeypatch.setattr(terminal, "make_console", lambda: console)
    command = f"conda create {'sofa-python3 ' * 6}".strip()
    terminal.show_diagnosis(
        [
            Finding("numpy", True, "2.4.6"),
            Finding("SOFA", False, "[not] here", f"Install it: '{command}'."),
        ]
    )
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
    assert lines[:2] == ["ok  numpy  2.4.6", "no  SOFA   [not] here"]
    assert " ".join(line.strip() for line in lines[2:]) == f"Install it: '{command}'."


real = pytest.mark.skipif(REAL[1] is None, reason="no SOFA on the path or below SOFA_ROOT")


@real
def test_the_real_sofa_comes_through_all_stages(monkeypatch):
    for name in ("SOFA_ROOT", "SOFA_PLUGIN_PATH", "PYTHONPATH", "PATH"):
        if name in REAL[0]:
            monkeypatch.setenv(name, REAL[0][name])
    tried = sofa_probe.probe()
    assert (tried.good, tried.error) == (True, "")
    assert tried.description.startswith(f"SOFA v{REAL[1].version} with")
