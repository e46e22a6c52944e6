"""The example plugins as packages."""

import tomllib
from pathlib import Path

import pytest

FOLDERS = sorted((Path(__file__).parents[2] / "plugins").glob("*/"))


def module_of(folder):
    """Where its hooks are: `<name>.py`, or `softctl_<name>/plugin.py` of a larger one."""
    name = folder.name
    if (folder / f"{name}.py").is_file():
        return f"{name}.py", name
    return f"softctl_{name}/plugin.py", f"softctl_{name}.plugin"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_package_names_its_entry_point_and_what_it_holds(folder):
    text = tomllib.loads((folder / "pyproject.toml").read_text())
    project = text["project"]
    path, module = module_of(folder)
    assert project["entry-points"]["sofa_softctl"] == {folder.name: module}
    held = text["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    assert held == [path.partition("/")[0]]
    assert "sofa-softctl" in project["dependencies"]
    assert (folder / path).is_file()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_its_readme_says_how_to_install_and_load_it(folder):
    text = (folder / "README.md").read_text()
    place = f"plugins/{folder.name}"
    assert f"pip install {place} " in text
    assert f"softctl run scene.py --plugin {place}/{module_of(folder)[0]} " in text
    tests = Path(__file__).parent
    assert (tests / f"test_{folder.name}.py").is_file() or (tests / folder.name).is_dir()
