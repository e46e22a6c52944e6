"""The documentation says what there is, and the house stands as designed."""

import ast
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


FLOORS = (
    (
        "sofa_softctl.errors",
        "sofa_softctl._internal.problem_files",
        "sofa_softctl.status",
        "sofa_softctl.units",
        "sofa_softctl._internal.processes",
    ),
    (
        "sofa_softctl.runtime.kernels",
        "sofa_softctl.runtime.mesh",
        "sofa_softctl.inverse",
        "sofa_softctl.library",
        "sofa_softctl.identification",
    ),
    ("sofa_softctl.runtime",),
    ("sofa_softctl.scene",),
    (
        "sofa_softctl.inverse.contact_rows",
        "sofa_softctl.inverse.controller",
        "sofa_softctl.inverse.foresight",
        "sofa_softctl.library.controller",
        "sofa_softctl.library.problems.pick_place",
        "sofa_softctl.library.problems.arm_in_scene",
        "sofa_softctl.library.swing_model",
        "sofa_softctl.identification.controller",
        "sofa_softctl.identification.fem",
        "sofa_softctl.identification.mechanism.in_scene",
        "sofa_softctl.identification.problems.registry",
        "sofa_softctl.identification.data.files",
        "sofa_softctl.bench",
        "sofa_softctl.view",
    ),
    ("sofa_softctl.hooks", "sofa_softctl.plugins"),
    (
        "sofa_softctl.cli.identify",
        "sofa_softctl.cli.library",
        "sofa_softctl.cli.papers",
        "sofa_softctl.cli.plan",
    ),
    ("sofa_softctl.cli.app",),
)
"""Lowest first; a module belongs to the longest prefix that fits."""


def floor_of(module):
    fits = [
        (len(prefix), floor)
        for floor, prefixes in enumerate(FLOORS)
        for prefix in prefixes
        if module == prefix or module.startswith(f"{prefix}.")
    ]
    return max(fits)[1] if fits else None


def imports_of(file):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name for name in names if name.startswith("sofa_softctl."))


@pytest.mark.parametrize(
    "file", sorted(PACKAGE.rglob("*.py")), ids=lambda file: str(file.relative_to(PACKAGE))
)
def test_nothing_imports_upward(file):
    """Floors of the house: mathematics, runtime, scene, controllers, plugins, command line."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    module = ".".join(parts).removesuffix(".__init__")
    own = floor_of(module)
    if own is None:
        return  # the package's own __init__ only names what is elsewhere
    for name in imports_of(file):
        assert (floor_of(name) or 0) <= own, f"{module} imports {name}"


def test_controllers_never_import_the_runtime():
    for file in (PACKAGE / "inverse").glob("controller.py"):
        assert not [name for name in imports_of(file) if ".runtime" in name]
