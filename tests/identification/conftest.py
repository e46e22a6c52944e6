"""The models in closed form of `lag_problem.py`."""

import importlib.util
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def models():
    """The module lag_problem.py, which `softctl identify` also takes."""
    path = Path(__file__).with_name("lag_problem.py")
    spec = importlib.util.spec_from_file_location("lag_problem", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
