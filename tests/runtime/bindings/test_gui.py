"""Sofa.Gui without windows: the main function of an example runs to its end."""

import importlib
import logging

import pytest

from sofa_softctl.runtime.bindings import gui


@pytest.fixture
def Gui(Sofa):
    import Sofa.Gui

    return Sofa.Gui


@pytest.mark.parametrize(("name", "warnings"), [("batch", 0), ("", 0), ("imgui", 1)])
def test_a_gui_runs_its_steps(Sofa, Gui, root, caplog, monkeypatch, name, warnings):
    monkeypatch.setattr(gui, "BATCH_STEPS", 5)
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


def test_what_a_scene_shows_in_windows_is_not_shown_and_breaks_nothing(Sofa):
    gui = importlib.import_module("Sofa.ImGui")
    for name in ("SofaImGui", "SofaQt", "SofaTypes"):
        importlib.import_module(name)
    gui.PlottingWindow.addData("x", Sofa.Core.Node("root").dt)
    gui.MyRobotWindow.addSettingInGroup("a", 1, 2, 3, "group")
    assert gui.MyRobotWindow.getSelectedPort() == ""
    assert gui.getRobotConnectionToggle() is False
    gui.setRobotConnectionToggle(True)
    assert gui.getRobotConnectionToggle() is True
    gui.setRobotConnectionToggle(False)
    with pytest.raises(AttributeError):
        _ = gui.NoWindow


def test_drawing_warns_once_that_nothing_is_drawn(Sofa, caplog):
    gl = importlib.import_module("Sofa.SofaGL")
    gl.glewInit()
    gl.draw(Sofa.Core.Node("root"))
    gl.draw(Sofa.Core.Node("root"))
    assert caplog.text.count("draws nothing") == 1


def test_short_vectors_of_sofa_types():
    types = importlib.import_module("SofaTypes")
    assert types.Vec3d(1, 2, 3) + types.Vec3d([1, 1, 1]) == [2, 3, 4]
    assert types.Vec2i() == [0, 0]
    with pytest.raises(ValueError, match="takes 3 numbers, got 2"):
        types.Vec3d(1, 2)
