"""The cup's commands on another plant."""

from pathlib import Path

import pytest

from benchmarks.inverse import transfer
from benchmarks.inverse.tables import show_transfer

pytestmark = pytest.mark.study

SCENES = Path(__file__).parents[2] / "scenes"


def test_another_plant_comes_near_the_simulation_but_not_to_it(monkeypatch, capsys):
    """When the cup hangs in the hook: millimetres, as another mesh and stiffness make; the same
    plant a tenth of it, as it has the forward solver's contact forces in place of the inverse's."""
    monkeypatch.setattr(transfer, "MOVES", 0.6)
    monkeypatch.setattr(transfer, "ENERGIES", (5e-5,))
    monkeypatch.setattr(transfer, "MODES", {"coulomb": ""})
    [found] = transfer.measure_transfer(SCENES, steps=64)
    assert 0.5 < found.position[0] < 8.0
    assert found.plane[0] <= found.angle[0] + 0.1 < 10.0
    monkeypatch.setattr(transfer, "PLANT", {})
    [same] = transfer.measure_transfer(SCENES, steps=64)
    assert same.position[0] < 0.1 * found.position[0]
    show_transfer([found], transfer.PaperTransfer())
    assert "8.69 (3.79)" in capsys.readouterr().out
    assert found.to_dict()["energy"] == pytest.approx(5e-5)
