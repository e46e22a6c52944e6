"""Users' files are imported as they are now."""

import os
import sys

import pytest

from sofa_softctl.base.user_module import import_file
from sofa_softctl.errors import SoftctlError


def package(folder):
    """A package of one's own, two folders deep, with a file that imports its neighbours."""
    inner = folder / "own_robots" / "arm"
    inner.mkdir(parents=True)
    for place in (inner.parent, inner):
        (place / "__init__.py").touch()
    (inner.parent / "units.py").write_text("GRAVITY = 9.81\n")
    (inner / "sizes.py").write_text("LENGTH = 0.3\n")
    file = inner / "problem.py"
    file.write_text("from ..units import GRAVITY\nfrom .sizes import LENGTH\n")
    return file


@pytest.fixture
def forgotten(monkeypatch):
    """What a test imports of `package` is forgotten afterwards, and so is where it was."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "own_robots"]:
        del sys.modules[name]


def test_a_file_edited_within_a_second_is_imported_as_it_is(tmp_path, monkeypatch):
    """With the same size and time, by which Python knows bytecode; none is left beside it."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    file, found = tmp_path / "edited.py", []
    for value in (1, 2, 1):
        file.write_text(f"VALUE = {value}\n")
        os.utime(file, (1e9, 1e9))
        found.append(import_file(file, "some").VALUE)
    assert found == [1, 2, 1]
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_with_relative_imports_is_of_the_package_that_its_folder_is(tmp_path, forgotten):
    """Its folder is not on the path: modules of the package have short names."""
    file = package(tmp_path)
    module = import_file(file, "problem")
    assert (module.GRAVITY, module.LENGTH) == (9.81, 0.3)
    assert module.__name__ == "own_robots.arm.problem_problem"
    assert sys.path[0] == str(tmp_path) and str(file.parent) not in sys.path


def test_two_packages_of_one_name_are_not_taken_for_each_other(tmp_path, forgotten):
    import_file(package(tmp_path / "one"), "problem")
    with pytest.raises(SoftctlError, match="its package 'own_robots.arm', but another one of this"):
        import_file(package(tmp_path / "two"), "problem")


def test_relative_imports_in_a_folder_that_is_no_package_are_pythons_error(tmp_path):
    (tmp_path / "alone.py").write_text("from .sizes import LENGTH\n")
    with pytest.raises(ImportError, match="no known parent package"):
        import_file(tmp_path / "alone.py", "problem")
