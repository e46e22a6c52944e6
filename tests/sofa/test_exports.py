"""Meshes, cables and stresses of recordings made in SOFA, as of those of the embedded runtime."""

import numpy as np
import pytest

PROGRAM = """
import tempfile
import robots
from sofa_softctl.record.record import read_record
from sofa_softctl.scene.session.geometry import geometry_in

def createScene(root):
    robots.arm(root)
    root.body.elasticity.computeVonMisesStress.value = 2

path = tempfile.mkdtemp() + "/run.mcap"
session = Session(createScene)
with session.recording(path):
    session.step(3)
record = read_record(path)
(body,) = geometry_in(record).bodies
(cable,) = geometry_in(record).cables
result({
    "attachments": {name: dict(arrays) for name, arrays in record.attachments.items()},
    "stress": body.cell_values(record.channels["body/dofs.position"][-1])["von_mises"],
    "recorded": record.channels["body/elasticity.vonMisesPerElement"][-1],
    "points": cable.points(record.channels[cable.state + ".position"])[-1],
})
"""


def test_recordings_of_both_backends_hold_the_same_meshes_and_stresses(in_sofa, embedded):
    there, said = in_sofa(PROGRAM)
    here = embedded(PROGRAM)
    assert list(there["attachments"]) == ["scene", "bodies/body/dofs", "cables/body/cable/motor"]
    assert there["attachments"] == here["attachments"], said
    for name in ("stress", "recorded", "points"):
        expected = np.array(there[name])
        scale = np.abs(expected).max()
        assert scale > 1.0
        assert np.array(here[name]) == pytest.approx(expected, rel=1e-9, abs=1e-9 * scale), name
