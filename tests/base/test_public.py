"""Public names of packages: they are there, cost nothing before they are used, and suffice."""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "batch",
    "bridge",
    "identification",
    "identification.fem",
    "identification.mechanism",
    "learning",
    "learning.measuring",
    "learning.training",
    "library",
    "qp",
    "qp.solvers",
    "runtime",
    "scene",
    "surrogate",
    "testing",
)
"""Those with public names; beside them there are those of `sofa_softctl` itself."""
FILES = ("errors", "hooks", "status", "units")
"""Modules that are public as a whole."""


def users_code():
    """Text of each file that shows users how to write theirs."""
    found = {}
    for pattern in ("scenes/*.py", "plugins/*/*.py", "docs/figures/*.py"):
        found |= {path: path.read_text() for path in ROOT.glob(pattern)}
    for path in (ROOT / "README.md", *ROOT.glob("docs/**/*.md")):
        if path.name == "contributing.md":  # for those who change the package itself
            continue
        found[path] = "\n".join(re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL))
    return found


@pytest.mark.parametrize("name", PACKAGES)
def test_every_public_name_is_there(name, Sofa):
    package = importlib.import_module(f"sofa_softctl.{name}")
    assert package.__all__
    for each in package.__all__:
        assert getattr(package, each) is not None
        assert f"{package.__name__}.{each}" not in sys.modules, "a module of the name would hide it"
    with pytest.raises(AttributeError, match=f"'sofa_softctl.{name}' has no attribute 'nothing'"):
        package.nothing  # noqa: B018


@pytest.mark.parametrize("path", users_code(), ids=lambda path: path.name)
def test_users_are_shown_public_names_only(path):
    for node in ast.walk(ast.parse(users_code()[path])):
        if not isinstance(node, ast.ImportFrom) or not node.module.startswith("sofa_softctl."):
            continue
        module = node.module.removeprefix("sofa_softctl.")
        assert module in (*PACKAGES, *FILES), f"line {node.lineno}: {node.module} is not public"


def test_a_package_imports_nothing_before_a_name_is_used():
    code = "import sys, sofa_softctl.library; print('numba' in sys.modules, 'numpy' in sys.modules)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == ["False", "False"]
