"""Plugins of the folder plugins/, loaded as a user loads them, and unknown again afterwards."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from sofa_softctl.offers import REGISTRIES, registry_of
from sofa_softctl.plugins import Plugins

FOLDER = Path(__file__).parents[2] / "plugins"


@pytest.fixture
def load():
    """load(name) -> a manager with that plugin."""

    def add(name):
        found = Plugins()
        found.add_file(FOLDER / name / f"{name}.py")
        return found

    with ExitStack() as stack:
        for kind in REGISTRIES:
            stack.enter_context(registry_of(kind).kept())
        yield add
