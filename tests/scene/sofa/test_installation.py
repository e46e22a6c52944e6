"""What is told of a SOFA installation by its files."""

import os
import sys

import pytest

from sofa_softctl.scene.backend.installation import (
    HERE,
    find_installation,
    installation_in,
    plugin_library,
    plugin_version,
    version_of,
)

pytestmark = pytest.mark.usefixtures("no_sofa_of_this_machine")


@pytest.mark.parametrize(
    "below",
    [
        "plugins/SofaPython3/lib/python3/site-packages",
        "lib/python3/site-packages",
        f"lib/python{HERE}/site-packages",
        "lib/python3.99/site-packages",
    ],
)
def test_sofa_is_found_below_sofa_root_as_binaries_builds_and_conda_have_it(
    make_sofa, monkeypatch, below
):
    root = make_sofa(below=below)
    monkeypatch.setenv("SOFA_ROOT", str(root))
    found = find_installation()
    assert (found.packages, found.root, found.version) == (root / below, root, "25.06.00")


def test_sofa_on_the_path_needs_no_sofa_root_and_comes_before_it(make_sofa, monkeypatch):
    first, second = make_sofa("first"), make_sofa("second", version="25.12.00")
    packages = first / "plugins/SofaPython3/lib/python3/site-packages"
    monkeypatch.setenv("SOFA_ROOT", str(second))
    assert find_installation().root == second
    monkeypatch.syspath_prepend(packages)
    assert find_installation().root == first
    monkeypatch.delenv("SOFA_ROOT")
    assert find_installation().version == "25.06.00"


def test_packages_linked_into_an_environment_belong_to_the_sofa_that_they_are_in(
    make_sofa, tmp_path
):
    root = make_sofa()
    environment = tmp_path / "venv" / "site-packages"
    environment.mkdir(parents=True)
    inside = root / "plugins/SofaPython3/lib/python3/site-packages/Sofa"
    (environment / "Sofa").symlink_to(inside)
    assert installation_in(environment).root == root


def test_without_any_sofa_nothing_is_found(monkeypatch, tmp_path):
    assert find_installation() is None
    (tmp_path / "Sofa").mkdir()  # a folder is no package
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("SOFA_ROOT", "")
    assert find_installation() is None


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("lib/libSofa.Core.so.24.12.01", ""),
        ("lib/libSofaCore.so.24.12.01", ""),
        ("lib/libSofa.Core.24.12.01.dylib", ""),
        ("bin/runSofa-24.12.01", ""),
        ("include/Sofa.Config/sofa/version.h", '#define SOFA_VERSION_STR "24.12.01"'),
        ("include/Sofa.Config/Sofa.Config/sofa/version.h", '#define V "24.12.01"'),
        ("lib/cmake/Sofa.ConfigConfigVersion.cmake", 'set(PACKAGE_VERSION "24.12.01")'),
        ("lib/cmake/Sofa.Config/Sofa.ConfigConfigVersion.cmake", '(PACKAGE_VERSION "24.12.01")'),
        ("conda-meta/libsofa-24.12.01-h1234_0.json", ""),
    ],
)
def test_the_version_is_told_by_any_of_many_files(tmp_path, file, text):
    assert version_of(tmp_path) is None
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(text)
    assert version_of(tmp_path) == "24.12.01"


def test_a_library_without_a_version_tells_none(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libSofa.Core.so").touch()
    assert version_of(tmp_path) is None


@pytest.mark.parametrize(
    ("compiled", "python"),
    [
        ("cpython-39-x86_64-linux-gnu.so", "3.9"),
        ("cpython-312-darwin.so", "3.12"),
        ("cp310-win_amd64.pyd", "3.10"),
    ],
)
def test_the_python_is_told_by_the_compiled_modules(make_sofa, compiled, python):
    root = make_sofa(compiled=compiled)
    found = installation_in(root / "plugins/SofaPython3/lib/python3/site-packages")
    assert found.pythons == [python]
    assert found.module("Core") is None


def test_pythons_are_sorted_as_numbers(make_sofa):
    root = make_sofa(compiled="cpython-312-x86_64-linux-gnu.so")
    packages = root / "plugins/SofaPython3/lib/python3/site-packages"
    (packages / "Sofa" / "Core.cpython-39-x86_64-linux-gnu.so").touch()
    assert installation_in(packages).pythons == ["3.9", "3.12"]


@pytest.mark.parametrize(
    "file",
    [
        "lib/libSoftRobots.so",
        "lib/libSoftRobots.dylib",
        "bin/SoftRobots.dll",
        "plugins/SoftRobots/lib/libSoftRobots.so",
        "plugins/SoftRobots/bin/SoftRobots.dll",
    ],
)
def test_a_plugin_is_found_where_sofa_looks_for_it(tmp_path, monkeypatch, file):
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).touch()
    assert plugin_library(tmp_path, "SoftRobots") == tmp_path / file
    assert plugin_library(tmp_path, "Other") is None
    monkeypatch.chdir((tmp_path / file).parent)
    monkeypatch.setenv("SOFA_PLUGIN_PATH", "")
    assert plugin_library(None, "SoftRobots") is None
    path = os.pathsep.join(["", str((tmp_path / file).parent)])
    monkeypatch.setenv("SOFA_PLUGIN_PATH", path)
    assert plugin_library(None, "SoftRobots") == tmp_path / file


def test_the_version_of_a_plugin_is_the_one_of_the_file_that_it_links_to(tmp_path):
    library = tmp_path / "libSoftRobots.so"
    library.touch()
    assert plugin_version(library) is None
    library.unlink()
    (tmp_path / "libSoftRobots.so.1.0").touch()
    library.symlink_to("libSoftRobots.so.1.0")
    assert plugin_version(library) == "1.0"


def test_what_cannot_be_read_is_passed_over(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", [str(tmp_path / ("a" * 300)), "\0", *sys.path])
    assert find_installation() is None
