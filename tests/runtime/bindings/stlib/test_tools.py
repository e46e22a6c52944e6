"""splib3: files, paths in the graph, prefabs of nodes, keys, ports."""

import sys
from types import SimpleNamespace

import pytest


def test_points_and_files_beside_a_scene(tmp_path):
    from splib3.loaders import getLoadingLocation, loadPointListFromFile

    (tmp_path / "cable.json").write_text("[[1, 2, 3], [4, 5, 6.5]]")
    scene = tmp_path / "scene.py"
    scene.write_text("")
    path = getLoadingLocation("cable.json", str(scene))
    assert path == getLoadingLocation("cable.json", str(tmp_path)) == str(tmp_path / "cable.json")
    assert getLoadingLocation("cable.json") == "cable.json"
    assert loadPointListFromFile(path) == [[1, 2, 3], [4, 5, 6.5]]


def test_an_xml_scene_as_a_part(root, graph, tmp_path, Sofa):
    import SofaRuntime
    from splib3.loaders.xmlloader import loadXML

    (tmp_path / "finger.xml").write_text(
        '<Node name="finger"><UniformMass name="mass" totalMass="1"/></Node>'
    )
    (tmp_path / "scene.scn").write_text(
        '<Node name="root" gravity="0 0 -5">'
        '<Node name="arm"><MechanicalObject name="dofs" position="1 2 3"/></Node>'
        '<include href="finger.xml" totalMass="3"/></Node>'
    )
    SofaRuntime.DataRepository.addLastPath(str(tmp_path))
    try:
        assert loadXML(str(tmp_path / "scene.scn"), root) is root
    finally:
        SofaRuntime.DataRepository.removePath(str(tmp_path))
    assert root.gravity.value.tolist() == [0.0, 0.0, -5.0]
    assert root.arm.dofs.position.value.tolist() == [[1.0, 2.0, 3.0]]
    assert graph(root)[1] == {"finger": ["UniformMass mass"]}
    assert root.finger.mass.totalMass.value == 3.0


@pytest.mark.parametrize(
    ("file", "kind"), [("beam.vtk", "MeshVTKLoader"), ("beam.msh", "MeshGmshLoader")]
)
def test_a_loader_by_the_files_name(root, meshes, file, kind):
    import meshio
    from splib3.loader import addLoader

    meshio.read(meshes / "beam.vtk").write(meshes / "beam.msh", file_format="gmsh22", binary=False)
    loader = addLoader(root, str(meshes / file), translation=[1.0, 0.0, 0.0])
    assert loader.getClassName() == kind and loader.position.value[:, 0].min() == 1.0
    with pytest.raises(ValueError, match="'beam.ply' is no volume mesh: it must end in .msh"):
        addLoader(root, "beam.ply")


def test_paths_in_the_graph(root):
    from splib3.scenegraph import find, get, getLinkPath

    arm = root.addChild("arm")
    dofs = arm.addObject("MechanicalObject", name="dofs", position=[[1.0, 2.0, 3.0]])
    assert find(root, "/root/arm/dofs") is dofs and find(root, "/root/arm") is arm
    assert find(root, "/other/arm") is None and find(root, "/root/leg/dofs") is None
    assert get(root, "arm/dofs") is dofs and get(root, "./arm") is arm
    assert get(root, "arm/dofs.position").value.tolist() == [[1.0, 2.0, 3.0]]
    assert get(arm, "gravity") is arm.findData("gravity")
    assert getLinkPath(root, "arm/dofs.position") == "@/arm/dofs.position"
    with pytest.raises(ValueError, match="@/ has no arm/mass: there is no 'mass'"):
        get(root, "arm/mass")
    with pytest.raises(ValueError, match="leads up; give a path from"):
        get(arm, "../arm")


def test_data_are_set_at_once_and_by_path(root):
    from splib3.objectmodel import setData, setTreeData

    arm = root.addChild("arm").addObject("MechanicalObject", name="dofs")
    leg = root.addChild("leg").addObject("MechanicalObject", name="dofs")
    setData(root, dt=0.5, gravity=[1.0, 2.0, 3.0])
    assert (root.dt.value, root.gravity.value.tolist()) == (0.5, [1.0, 2.0, 3.0])
    setTreeData(root, "arm/d.f", showObject=True, nothing=1)
    assert arm.showObject.value and not leg.showObject.value


def test_an_object_that_stands_for_its_node(root):
    from splib3.objectmodel import SofaObject, SofaPrefab

    @SofaPrefab
    class Arm(SofaObject):
        """An arm."""

        fingers = 5

        def __init__(self, node):
            SofaObject.__init__(self, node, "Arm")
            self.hand = self.addChild("Hand")

    arm = Arm(root)
    assert arm.node is root.Arm and arm.Hand is arm.hand is root.Arm.Hand
    assert (Arm.fingers, Arm.__name__) == (5, "Arm")
    assert root.Arm.findData("Help").value == "An arm."
    assert "test_tools.py" in root.Arm.findData("Instantiated in").value
    with pytest.raises(AttributeError):
        _ = arm.leg


def test_keys():
    from splib3.constants import Key, KeyCode

    assert (Key.plus, Key.uparrow, Key.A, Key.KP_7) == ("+", "\x13", "A", "7")
    assert (KeyCode.space, KeyCode.leftarrow, KeyCode.B) == (32, 18, 66)


def test_nothing_is_drawn(root):
    from splib3.debug import DebugManager, drawLine, drawText

    assert DebugManager(root) is root
    assert drawText("a", 1, 2) is drawLine([0, 0, 0], [1, 1, 1]) is None


def port(device, manufacturer, **other):
    return SimpleNamespace(
        device=device, manufacturer=manufacturer, description=None, serial_number=None, **other
    )


@pytest.fixture
def ports(monkeypatch):
    """ports([...]): the serial ports that this machine is said to have."""

    def pretend(found):
        module = SimpleNamespace(comports=lambda: found)
        monkeypatch.setitem(sys.modules, "serial.tools.list_ports", module)

    return pretend


def test_a_serial_port_by_its_maker(ports, caplog):
    from splib3.interface import serialport

    ports([port("/dev/ttyS0", None), port("/dev/ttyACM0", "Arduino (www.arduino.cc)")])
    assert serialport.getDevicePort("Arduino") == "/dev/ttyACM0"
    assert serialport.getDevicePort("Arduino", method="serial_number") is None
    assert "No serial port has the serial_number 'Arduino'" in caplog.text
    ports([port("/dev/ttyACM0", "Arduino"), port("/dev/ttyACM1", "Arduino")])
    assert serialport.getDevicePort("Arduino") == "/dev/ttyACM0"
    assert "2 ports have the manufacturer 'Arduino': the first" in caplog.text
    with pytest.raises(ValueError, match="manufacturer, description or serial_number, got 'name'"):
        serialport.getDevicePort("Arduino", "name")


def test_without_pyserial_a_message_says_so(monkeypatch, caplog):
    from splib3.interface.serialport import getDevicePort

    monkeypatch.setitem(sys.modules, "serial.tools.list_ports", None)
    assert getDevicePort("Arduino") is None
    assert "pip install pyserial" in caplog.text
