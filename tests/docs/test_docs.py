"""The documentation says what there is."""

import importlib
import inspect
import re

import pytest

import sofa_softctl
from sofa_softctl import hooks
from sofa_softctl.units import Units
from tests.base.test_public import PACKAGES
from tests.docs.pages import ROOT, text

README = (ROOT / "README.md").read_text()
PACKAGE = ROOT / "sofa_softctl"
UNITS = "reference/components-and-units"


def hook_functions():
    return [f for name, f in vars(hooks).items() if name.startswith("softctl_")]


@pytest.mark.parametrize("hook", hook_functions(), ids=lambda hook: hook.__name__)
def test_every_hook_is_on_its_page_with_its_arguments(hook):
    arguments = ", ".join(inspect.signature(hook).parameters)
    assert f"`{hook.__name__}({arguments})`" in text("reference/hooks")
    assert len(inspect.getdoc(hook)) > 100


@pytest.mark.parametrize("name", sofa_softctl.__all__)
def test_every_public_name_is_there(name):
    assert getattr(sofa_softctl, name) is not None


@pytest.mark.parametrize("name", sofa_softctl.__all__)
def test_every_public_name_is_on_its_page(name):
    page = text("reference/python/sofa_softctl")
    assert (
        f":: sofa_softctl.{name}\n" in page
        or f"`sofa_softctl.{name}`" in page
        or f"`{name}`" in page
    )


@pytest.mark.parametrize("name", PACKAGES)
def test_every_public_package_has_a_page(name):
    module = importlib.import_module(f"sofa_softctl.{name}")
    (page,) = [
        path
        for path in (ROOT / "docs/reference/python").glob("*.md")
        if f"automodule:: {module.__name__}\n" in path.read_text()
    ]
    assert f"[`{module.__name__}`]({page.name})" in text("reference/python/index")


def test_parts_of_mechanisms_on_the_page_are_public():
    rows = re.findall(r"^\| (`.*?) \|", text("how-to/identify-a-mechanism"), re.MULTILINE)
    names = {name for row in rows for name in re.findall(r"`([A-Z]\w+)", row)}
    assert names >= {
        "Joint",
        "Rod",
        "Pin",
        "Clamp",
        "Distance",
        "Feedback",
        "EquilibriumStart",
        "Scaled",
    }
    package = importlib.import_module("sofa_softctl.identification.mechanism")
    assert names <= {*package.__all__}


def test_public_names_are_sorted_by_capitals_then_letters():
    assert sofa_softctl.__all__ == sorted(sofa_softctl.__all__)


@pytest.mark.parametrize(
    "scene", sorted((ROOT / "scenes").glob("*.py")), ids=lambda path: path.stem
)
def test_every_scene_is_on_its_page(scene):
    assert f"| `{scene.name}` |" in text("reference/scenes")


def test_the_readme_names_the_command_that_ci_runs():
    assert "make test" in README
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 150


def test_the_patent_is_stated_where_users_look():
    assert "patent" in README
    assert "FR3002047" in (ROOT / "NOTICE").read_text()


def test_units_follow_from_those_of_length_mass_and_time():
    rows = re.findall(
        r"^\| (\w+, \w+, s) \| (\w+) \| (\w+) \| ([\d.]+) \|$", text(UNITS), re.MULTILINE
    )
    assert len(rows) == 3
    for names, force, pressure, gravity in rows:
        units = Units.parse(names)
        assert (units.symbol("force"), units.symbol("pressure")) == (force, pressure)
        assert float(gravity) * units.in_si("length") == pytest.approx(9.81)
