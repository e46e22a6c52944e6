"""`softctl mesh error`, and the line about meshes at the end of a run."""

import json

import pytest

SCENE = """
    from tests.scene.mesh_error.beams import beam, scene_of

    UNITS = "mm, kg, s"

    def createScene(root, shape="hexahedra", kind=None):
        print("a line of the scene")
        return scene_of(*beam(1, shape=shape), kind)(root)
"""
LINE = "'/body/dofs' is at least 91 % too stiff under its weight, by its mesh: see `softctl mesh error`"


@pytest.fixture
def scene(tmp_path):
    import textwrap

    path = tmp_path / "beam.py"
    path.write_text(textwrap.dedent(SCENE))
    return path


def test_a_sentence_says_the_excess_and_what_is_better(softctl, scene, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    status, out, _ = softctl("mesh", "error", scene)
    assert status == 0
    assert "/body/dofs: 44 nodes, 10 HexahedronFEMForceField, edges of 10 mm (mean)" in out
    assert (
        "'/body/dofs' is about 95 % too stiff under its weight: add_elasticity on this mesh leaves "
        "0 %; HexahedronFEMForceField leaves 15 % with edges of"
    ) in " ".join(out.split())


def test_tetrahedra_are_compared_with_10_node_ones(softctl, scene):
    status, out, _ = softctl("mesh", "error", scene, "--set", "shape=tetrahedra", "--json")
    assert status == 0
    (body,) = json.loads(out)["bodies"]
    (load,) = body["loads"]
    assert (body["nodes"], body["cells"], load["load"]) == (44, 60, "its weight")
    assert load["excess"] > 7.0
    assert abs(load["quadratic"]) < 0.05
    assert "times as stiff as its material" in body["text"]
    assert "10-node tetrahedra (`softctl mesh quadratic`) leave" in body["text"]


def test_a_scene_without_elements_says_so(softctl, tmp_path):
    path = tmp_path / "empty.py"
    path.write_text("def createScene(root):\n    root.dt = 0.01\n")
    status, out, _ = softctl("mesh", "error", path)
    assert status == 0
    assert "The scene has no body of tetrahedra or hexahedra." in out


def test_a_run_of_many_steps_names_a_mesh_that_is_too_stiff(softctl, scene, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert LINE in softctl("run", scene, "--steps", "100")[1]
    assert "mesh" not in softctl("run", scene, "--steps", "99")[1]
    good = ("--set", "kind=AssumedStrainFEMForceField", "--steps", "100")
    assert "by its mesh" not in softctl("run", scene, *good)[1]


def test_the_json_of_a_run_has_the_estimates(softctl, scene):
    status, out, _ = softctl("run", scene, "--steps", "100", "--json")
    assert status == 0
    (estimate,) = json.loads(out)["mesh_estimates"]
    assert estimate["body"] == "/body/dofs"
    assert estimate["loads"][0]["excess"] == pytest.approx(0.91, abs=0.01)
    assert json.loads(softctl("run", scene, "--steps", "1", "--json")[1])["mesh_estimates"] == []
