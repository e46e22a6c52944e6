from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.runtime.mesh.formats.read import read_mesh
from sofa_softctl.scene.session.run import run
from sofa_softctl.scene.session.session import Session

SCENES = Path(__file__).parents[2] / "scenes"


def followed(steps, **parameters):
    session = Session(SCENES / "pneumatic_finger.py", backend="embedded", parameters=parameters)
    summary = run(session, steps)
    histories = summary.histories
    ((_, history),) = histories
    return summary, history


def test_a_pressure_moves_the_tip_along_its_goal():
    """One pressure for one coordinate: exact, once the rate of 0.3 kPa a step has caught up."""
    summary, history = followed(100)
    settled = history.time > 0.9
    assert history["error"][settled, 0].max() < 1e-6
    assert history["tip"][-1, 0, 1] == pytest.approx(-4.0 - 15.0, abs=0.3)  # half a period
    assert history["effort"].max() == pytest.approx(16.1, abs=0.5)  # kPa, as the scene says
    assert history["displacement"].max() == pytest.approx(1180.0, rel=0.03)  # mm^3
    assert np.abs(np.diff(history["effort"], axis=0)).max() <= 0.3 + 1e-9
    assert summary.inverse[0].statuses == {"SOLVED": 100}


def test_the_wall_of_the_chamber_is_on_nodes_of_the_finger():
    wall = read_mesh(SCENES / "meshes" / "pneumatic_finger_chamber.obj").positions
    nodes = read_mesh(SCENES / "meshes" / "pneumatic_finger.vtk").positions
    gaps = np.linalg.norm(wall[:, None] - nodes[None], axis=2).min(axis=1)
    assert gaps.max() < 1e-3  # its file has three decimals
