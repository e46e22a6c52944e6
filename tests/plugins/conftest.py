"""Plugins of the folder plugins/, loaded as a user loads them, and unknown again afterwards."""

from pathlib import Path

import pytest

from sofa_softctl.plugins import Plugins
from sofa_softctl.qp.solvers import qp_solvers
from sofa_softctl.runtime.core import factory

FOLDER = Path(__file__).parents[2] / "plugins"


@pytest.fixture
def load(monkeypatch):
    """load(name) -> a manager with that plugin."""
    monkeypatch.setattr(factory, "_known", factory.components())
    solvers = dict(qp_solvers)

    def add(name):
        found = Plugins()
        found.add_file(FOLDER / name / f"{name}.py")
        return found

    yield add
    qp_solvers.clear()
    qp_solvers.update(solvers)
