"""What only a GUI needs takes all that SOFA's scenes say, and holds it."""

import pickle

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime import components
from sofa_softctl.runtime.components.visual import inert
from sofa_softctl.runtime.helper import repository
from sofa_softctl.runtime.simulation import simulation


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("OglModel", {"writeZTransparent": True, "color": [1.0, 0.0, 0.0], "material": "Default"}),
        ("OglModel", {"color": "0.5 0.5 0.5 0.6", "cullFace": 2, "lineWidth": 2, "enable": 0}),
        ("VisualStyle", {"displayFlags": ["showForceFields", "hideWireframe"]}),
        ("InteractiveCamera", {"position": "0 0 1", "lookAt": "0 0 0", "zFar": 1e3}),
        ("RecordedCamera", {"rotationMode": 1, "rotationCenter": [0, 0, 0], "endTime": 20}),
        ("LightManager", {"shadows": True, "ambient": "1 1 1 1"}),
        ("PositionalLight", {"name": "l", "color": "white", "attenuation": 0.1, "fixed": "1"}),
        ("SpotLight", {"position": [0, 80, 25], "direction": "0 -1 -0.8", "color": [1, 1, 1]}),
        ("DirectionalLight", {"direction": "0 1 0", "shadowTextureSize": 512}),
        ("VisualGrid", {"nbSubdiv": 10, "size": 1000}),
        ("LineAxis", {"size": 5, "axis": "xy"}),
        ("BackgroundSetting", {"color": "#ff00ff"}),
        ("ViewerSetting", {"resolution": [640, 480], "cameraMode": "Orthographic"}),
        ("AttachBodyButtonSetting", {"stiffness": 10, "button": "Right"}),
        ("ConstraintAttachButtonSetting", {}),
        ("OglSceneFrame", {"style": "CubeCones", "alignment": "TopLeft"}),
        ("OglLabel", {"label": "speed", "x": 20, "fontsize": 20, "color": "red"}),
        ("OglColorMap", {"colorScheme": "HSV", "min": 0, "max": 1, "showLegend": 1}),
        ("OglViewport", {"screenPosition": "0 0", "screenSize": "250 250"}),
        ("OglTexture2D", {"textureFilename": "a.png", "textureUnit": 2, "id": "map"}),
        ("OglFloat4Variable", {"id": "color", "value": "1 1 1 1"}),
        ("OglFloatAttribute", {"id": "a", "value": [1, 2]}),
        ("OglShader", {"fileVertexShaders": "['a.vert']", "vertFilename": "a.vert"}),
        ("Visual3DText", {"text": "tip", "scale": 2, "position": "1 2 3"}),
        ("TrailRenderer", {"position": [[0, 0, 0]], "nbSteps": 3}),
        ("RequiredPlugin", {"pluginName": ["SoftRobots", "Sofa.Component.Visual"]}),
        ("RequiredPlugin", {"name": "SoftRobots", "printLog": False}),
        ("DefaultVisualManagerLoop", {}),
        ("StatsSetting", {"logTime": 1}),
    ],
)
def test_it_takes_what_scenes_say(root, kind, values):
    component = root.addObject(kind, **values)
    simulation.init(root)
    simulation.animate(root)
    for name in values:
        assert component.findData(name).isSet()


def test_colors_are_three_or_four_numbers_or_a_name(root):
    for color in ("1 0 0", [1.0, 0.0, 0.0], "1 0 0 1", "red", "#ff0000", (1, 0, 0, 1)):
        assert root.addObject("SpotLight", color=color).color.value.tolist() == [1, 0, 0, 1]


def test_a_camera_finds_what_two_of_its_three_data_leave_open(root):
    """It stands at z = 5 and sees the origin: no turn, as a camera looks along -z."""
    camera = root.addObject("InteractiveCamera", position=[0, 0, 5], lookAt=[0, 0, 0])
    turned = root.addObject("Camera", position=[1, 0, 0], orientation=[0, 0, 0, 1], distance=2)
    simulation.init(root)
    assert camera.orientation.array() == pytest.approx(np.array([0, 0, 0, 1]), abs=1e-15)
    assert camera.distance.value == 5.0
    assert turned.lookAt.value.tolist() == [1, 0, -2]
    camera.position.value = [5, 0, 0]
    camera.reinit()
    assert np.abs(camera.orientation.array()) == pytest.approx(
        np.array([0, np.sqrt(0.5), 0, np.sqrt(0.5)]), abs=1e-15
    )


def test_a_camera_of_which_nothing_is_said_sees_the_scene_from_three_radii_away(root):
    root.gravity = [0.0, 0.0, -9.81]
    root.addObject("MechanicalObject", position=[[-1, -1, -1], [1, 1, 1]])
    camera = root.addObject("InteractiveCamera")
    simulation.init(root)
    assert camera.lookAt.value.tolist() == [0, 0, 0]
    assert camera.position.array() == pytest.approx(np.array([0, -3 * np.sqrt(3.0), 0]))
    up = camera.getLookAtFromOrientation([0, 0, 0], 1.0, camera.orientation.value)
    assert up == pytest.approx([0, 1, 0], abs=1e-15)  # looks along y, z upward


def test_loaders_look_where_a_scene_says(root, tmp_path):
    (tmp_path / "flat.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 2 0\nf 1 2 3\n")
    folder = root.addObject("AddDataRepository", path=str(tmp_path))
    assert len(root.addObject("MeshOBJLoader", filename="flat.obj").position) == 3
    folder.cleanup()


def test_a_folder_of_a_scene_is_left_with_it(root, tmp_path, monkeypatch):
    """Though the working folder is another one then."""
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "flat.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 2 0\nf 1 2 3\n")
    monkeypatch.chdir(tmp_path)
    folder = root.addObject("AddResourceRepository", path="meshes")
    assert folder.path.value == str(tmp_path / "meshes")
    assert repository.data.findFile("flat.obj")
    monkeypatch.chdir("/")
    folder.cleanup()
    assert not repository.data.findFile("flat.obj")


def test_a_folder_that_is_none_is_told(root, tmp_path):
    with pytest.raises(SceneError, match=f"has the path '{tmp_path}/no', which is no folder"):
        root.addObject("AddDataRepository", path=str(tmp_path / "no"))


def test_what_old_scenes_say_of_nodes_is_a_visual_style(root, caplog):
    """SOFA makes the same object of these attributes."""
    child = root.addChild("child", showVisualModels="0", showForceFields=True, showWireFrame=1)
    flags = "hideVisualModels showForceFields showWireFrame"
    assert child.VisualStyle.displayFlags.value == flags
    assert flags in caplog.text


def test_what_nothing_reads_of_a_node_is_told(root, caplog):
    root.addChild("child", showBoundingTree="0")
    assert "nothing reads 'showBoundingTree'" in caplog.text


def test_scenes_can_name_every_table_that_is_no_base_of_others():
    tables = inert._tables()
    bases = {table.get("base") for table in tables.values()}
    assert set(tables) - bases <= set(components.__all__)


def test_a_class_of_a_table_is_made_once_and_found_by_its_name():
    for name in ("VisualGrid", "OglFloat4Variable"):
        kind = getattr(components, name)
        assert kind is getattr(inert, name)
        assert kind is pickle.loads(pickle.dumps(kind))


def test_the_table_is_read_when_one_of_its_components_is_named(fresh):
    """It takes 6 ms."""
    code = """
        from sofa_softctl.runtime.components.visual import inert, ogl_model
        from sofa_softctl.runtime.core import factory

        for name in ("OglModel", "RequiredPlugin", "Camera", "VisualStyle"):
            factory.find(name)
            print(inert._tables.cache_info().misses)
    """
    done = fresh(code, SOFTCTL_PLUGINS=0)
    assert (done.stdout.split(), done.stderr) == (["0", "0", "0", "1"], "")
