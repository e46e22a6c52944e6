"""Sofa.Gui without windows: the main function of an example runs to its end."""

import logging

import pytest

from sofa_softctl.runtime.bindings import gui


@pytest.fixture
def Gui(Sofa):
    import Sofa.Gui

    return Sofa.Gui


@pytest.mark.parametrize(("name", "warnings"), [("batch", 0), ("", 0), ("imgui", 1)])
def test_a_gui_runs_its_steps(Sofa, Gui, root, caplog, monkeypatch, name, warnings):
    monkeypatch.setattr(gui, "STEPS", 5)
    Sofa.Simulation.initRoot(root)
    assert Gui.GUIManager.Init("scene", name) == 0
    assert Gui.GUIManager.createGUI(root, __file__) == 0
    assert isinstance(Gui.GUIManager.GetGUI(), Gui.BaseGUI)
    Gui.GUIManager.SetDimension(1080, 1080)
    assert Gui.GUIManager.MainLoop(root) == 0
    Gui.GUIManager.closeGUI()
    assert Gui.GUIManager.GetGUI() is None
    assert root.time.value == pytest.approx(0.05)
    told = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(told) == warnings
    assert all("no GUI 'imgui': 'batch' runs 5 steps" in record.getMessage() for record in told)


def test_the_guis_are_listed(Gui):
    assert Gui.GUIManager.ListSupportedGUI() == ["batch"]
    assert Gui.GUIManager.ListSupportedGUI(",") == "batch"
