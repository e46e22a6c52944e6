"""Tables of the commands: nothing is cut at 80 columns, and names are whole in a pipe."""

from pathlib import Path

import pytest

from sofa_softctl.record.writer import RecordWriter

ROOT = Path(__file__).parents[2]
LONG = "trunk/a_part_with_a_long_name/another_one_below_it/the_last_one_of_all/dofs.position"
"""A channel that is longer than a line of 80 characters."""
COMPONENT = "Foo" * 30
"""A component of a scene that there is not."""
COMMANDS = {
    "run": (["run", "scenes/finger.py", "--steps", "1"], "displacement (mm)"),
    "check": (["check", "scenes"], COMPONENT),
    "components": (["components"], "TetrahedronHyperelasticityFEMForceField"),
    "Data": (["components", "MechanicalObject"], "showIndicesScale"),
    "plugins": (["plugins"], "plugin"),
    "doctor": (["doctor"], "Python"),
    "mesh": (["info", "scenes/meshes/finger.vtk"], "scaled Jacobian"),
    "mesh error": (["mesh", "error", "scenes/pushing.py"], "TetrahedronFEMForceField"),
    "recording": (["info", "run.mcap"], LONG),
    "devices": (["bridge", "list"], "dynamixel"),
    "robot": (["bridge", "check", "hardware/trunk_servos.toml"], "long_right"),
}
"""Command lines, and a text of their tables."""
OURS = ("run.mcap", "scenes")
"""Files and folders that the test makes."""


@pytest.fixture
def folder(tmp_path):
    with RecordWriter(tmp_path / "run.mcap", {"scene": "s" * 99}) as writer:
        writer.add_channel(LONG, shape=(3,), unit="mm")
        writer.write(0.1, {LONG: [1.0, 2.0, 3.0]})
    (tmp_path / "scenes").mkdir()
    scene = f"def createScene(root):\n    root.addObject('{COMPONENT}')\n"
    (tmp_path / "scenes" / "scene.py").write_text(scene)
    return tmp_path


@pytest.mark.parametrize("columns", [80, None])
@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_is_cut(softctl, folder, monkeypatch, name, columns):
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns:
        monkeypatch.setenv("COLUMNS", str(columns))
    words, text = COMMANDS[name]
    status, out, err = softctl(*(folder / word if word in OURS else word for word in words))
    assert status in (0, 1, 3) and out, err
    assert "…" not in out
    if columns is None:
        assert text in out
    else:
        frames = [line for line in out.splitlines() if line.startswith(("│", "┃"))]
        assert max(map(len, frames), default=0) <= columns
