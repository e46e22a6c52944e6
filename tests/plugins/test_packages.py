"""The example plugins as packages."""

import tomllib
from pathlib import Path

import pytest

FOLDERS = sorted((Path(__file__).parents[2] / "plugins").glob("*/"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_package_names_its_entry_point_and_what_it_holds(folder):
    text = tomllib.loads((folder / "pyproject.toml").read_text())
    name, project = folder.name, text["project"]
    assert project["entry-points"]["sofa_softctl"] == {name: name}
    assert text["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"] == [f"{name}.py"]
    assert "sofa-softctl" in project["dependencies"]
    assert (folder / f"{name}.py").is_file()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_its_readme_says_how_to_install_and_load_it(folder):
    text = (folder / "README.md").read_text()
    place = f"plugins/{folder.name}"
    assert f"pip install {place} " in text
    assert f"softctl run scene.py --plugin {place}/{folder.name}.py " in text
    assert (Path(__file__).parent / f"test_{folder.name}.py").is_file()
