"""The documentation says what there is."""

import inspect
from pathlib import Path

import pytest

import sofa_softctl
from sofa_softctl import hooks

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PACKAGE = ROOT / "sofa_softctl"


def hook_functions():
    return [f for name, f in vars(hooks).items() if name.startswith("softctl_")]


@pytest.mark.parametrize("hook", hook_functions(), ids=lambda hook: hook.__name__)
def test_every_hook_is_in_the_readme_with_its_arguments(hook):
    arguments = ", ".join(inspect.signature(hook).parameters)
    assert f"`{hook.__name__}({arguments})`" in README
    assert len(inspect.getdoc(hook)) > 100


def commands():
    from sofa_softctl.cli.app import app

    return [entry.name or entry.callback.__name__ for entry in app.registered_commands]


@pytest.mark.parametrize("command", commands())
def test_every_command_is_in_the_readme(command):
    assert f"softctl {command}" in README


@pytest.mark.parametrize("name", sofa_softctl.__all__)
def test_every_public_name_is_there(name):
    assert getattr(sofa_softctl, name) is not None


def test_public_names_are_sorted_by_capitals_then_letters():
    assert sofa_softctl.__all__ == sorted(sofa_softctl.__all__)


def test_the_readme_names_the_command_that_ci_runs():
    assert "make test" in README
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def test_the_patent_is_stated_where_users_look():
    assert "patent" in README
    assert "FR3002047" in (ROOT / "NOTICE").read_text()
