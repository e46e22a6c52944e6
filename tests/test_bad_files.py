"""Every command that reads a file, fed with what is none: a sentence, status 1, no traceback."""

import os
from pathlib import Path

import pytest

from sofa_softctl.record.writer import RecordWriter

PROBLEM = Path(__file__).parent / "identification" / "lag_problem.py"
CART = str(Path(__file__).parents[1] / "scenes" / "problems" / "flexible_cart.py")
CONTENTS = {
    "empty": b"",
    "text": b"hello, world\n",
    "noise": bytes(range(255, 0, -1)) * 12,
    "zeros": bytes(4000),
    "zip": b"PK\x03\x04 that is none",
    "utf16": "time [s], x\n0, 1\n1, 2\n".encode("utf-16"),
}
SCENES = {
    "playback": "from sofa_softctl import Playback\n"
    "def createScene(root, file=''):\n"
    "    root.addObject(Playback(root=root, actuators=[], commands=file))\n",
    "plan": "from sofa_softctl import controller\n"
    "def createScene(root, file=''):\n"
    "    root.addObject(controller('surrogate')(root=root, lines=[], plan=file))\n",
    "goal": "from sofa_softctl import goal\n"
    "def createScene(root, file=''):\n"
    "    goal.from_csv(file)\n",
    "urdf": "from sofa_softctl.identification.mechanism.urdf import from_urdf\n"
    "def createScene(root, file=''):\n"
    "    from_urdf(file)\n",
    "mesh": "def createScene(root, file=''):\n"
    "    root.addObject('MeshVTKLoader', name='loader', filename=file)\n",
}
"""Scenes that read a file, which --set gives."""
COMMANDS = {
    "info mcap": (".mcap", ["info", "FILE"]),
    "record export": (".mcap", ["record", "export", "FILE", "--to", "OUT.csv"]),
    "report": (".mcap", ["report", "FILE", "--to", "OUT.html"]),
    "playback": (".mcap", ["run", "playback.py", "--set", "file=FILE"]),
    "plan": (".mcap", ["run", "plan.py", "--set", "file=FILE"]),
    "identify mcap": (".mcap", ["identify", str(PROBLEM), "--data", "FILE"]),
    "identify csv": (".csv", ["identify", str(PROBLEM), "--data", "FILE"]),
    "goal": (".csv", ["run", "goal.py", "--set", "file=FILE"]),
    "info library": (".library", ["info", "FILE"]),
    "library query": (".library", ["library", "query", "FILE", "1", "2"]),
    "library build": (".library", ["library", "build", CART, "--out", "FILE"]),
    "info corners": (".corners", ["info", "FILE"]),
    "urdf": (".urdf", ["run", "urdf.py", "--set", "file=FILE"]),
    "mesh": (".vtk", ["run", "mesh.py", "--set", "file=FILE"]),
    "scene": (".py", ["run", "FILE"]),
    "plugin": (".py", ["components", "--plugin", "FILE"]),
}
MCAP = ("expected an MCAP file. Got a", "this is a zip archive")
SQLITE = ("Choose another file.", "this is")
MESSAGES = {
    "info mcap": MCAP,
    "record export": MCAP,
    "report": MCAP,
    "playback": MCAP,
    "plan": MCAP,
    "identify mcap": MCAP,
    "identify csv": (
        "expected a header such as 'time [s], b1 [rad]'",
        "expected text in UTF-8",
        "expected a table of values, but this is",
        "there is no column",
    ),
    "goal": ("needs at least two rows of time", "expected text in UTF-8", "got '????"),
    "info library": SQLITE,
    "library query": SQLITE,
    "library build": SQLITE,
    "info corners": SQLITE,
    "urdf": (
        "is not a URDF file: expected XML with a <robot>",
        "expected a URDF file, but this is",
    ),
    "mesh": (
        "expected '# vtk DataFile Version'",
        "expected a mesh, got an empty file",
        "expected a mesh, but this is",
    ),
    "scene": ("has no function createScene(root)", "is not a Python file: expected text", "hello"),
    "plugin": ("is not a Python file: expected text", "hello", "source.py"),
}
"""What each command says of at least one kind of file; texts with alternatives."""
FINE = {("plugin", "empty")}
"""A plugin without anything is said elsewhere."""
OWN_CODE = {(name, kind) for name in ("scene", "plugin") for kind in ("text", "zip", "noise")}
"""Python's own message, with the user's line: the file is Python, or text that is none."""


@pytest.fixture
def command(softctl, tmp_path):
    """command(name, file) -> (status, out, err) of one of the commands."""

    def call(name, file):
        words = []
        for word in COMMANDS[name][1]:
            scene = word.removesuffix(".py")
            if scene in SCENES:
                (tmp_path / word).write_text(SCENES[scene])
                word = str(tmp_path / word)
            words.append(word.replace("FILE", str(file)).replace("OUT", str(tmp_path / "out")))
        if words[0] == "run":
            words += ["--steps", "1", "--quiet"]
        return softctl(*words)

    return call


def assert_is_said(found, file):
    status, _, err = found
    assert status == 1
    assert file.name in err
    assert err.startswith(("Error: ", "! "))
    assert "Traceback" not in err
    assert "softctl failed at" not in err
    assert len(err) < 900


ROWS = [(name, kind) for name in COMMANDS for kind in CONTENTS if (name, kind) not in FINE]


@pytest.mark.parametrize(("name", "kind"), ROWS)
def test_a_file_of_another_kind_is_named(command, tmp_path, name, kind):
    file = tmp_path / f"damaged{COMMANDS[name][0]}"
    file.write_bytes(CONTENTS[kind])
    found = command(name, file)
    if (name, kind) in OWN_CODE:
        assert found[0] == 1
        assert found[2].startswith(f'Traceback (most recent call last):\n  File "{file}", line 1')
        assert "sofa_softctl" not in found[2]
        return
    assert_is_said(found, file)
    expected = MESSAGES[name]
    assert any(text in found[2] for text in ([expected] if isinstance(expected, str) else expected))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_folder_is_named(command, tmp_path, name):
    file = tmp_path / f"folder{COMMANDS[name][0]}"
    file.mkdir()
    found = command(name, file)
    assert_is_said(found, file)
    said = ("is a folder", "Is a directory", "it is a folder", "There is no plugin file")
    assert any(text in found[2] for text in said)
    assert "Did you mean" not in found[2]


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "library build"])
def test_a_file_that_is_missing_is_named(command, tmp_path, name):
    suffix = COMMANDS[name][0]
    (tmp_path / f"absence{suffix}").mkdir()  # a folder is no suggestion
    found = command(name, tmp_path / f"absent{suffix}")
    assert_is_said(found, tmp_path / f"absent{suffix}")
    assert "Did you mean" not in found[2]


@pytest.mark.parametrize("name", ["scene", "mesh"])
def test_a_similar_file_is_suggested(command, tmp_path, name):
    suffix = COMMANDS[name][0]
    (tmp_path / f"finger{suffix}").write_text("")
    (tmp_path / "fingers.txt").write_text("")
    found = command(name, tmp_path / f"fingers{suffix}")
    assert (
        f"Did you mean '{tmp_path / 'finger.py' if name == 'scene' else 'finger.vtk'}'?"
        in (found[2])
    )


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize(
    "name", [n for n in COMMANDS if n not in ("coverage", "search", "plugin", "library build")]
)
def test_a_file_that_cannot_be_read_is_named(command, tmp_path, name):
    """By an input/output error, as of a broken disk; rights do not stop root."""
    file = tmp_path / f"broken{COMMANDS[name][0]}"
    os.symlink("/proc/self/mem", file)
    found = command(name, file)
    assert_is_said(found, file)
    assert "Input/output error" in found[2] or "disk I/O error" in found[2]


@pytest.mark.parametrize("name", ["playback", "identify mcap"])
def test_a_recording_of_something_else_is_refused(command, tmp_path, name):
    with RecordWriter(tmp_path / "other.mcap", {}) as writer:
        writer.add_channel("other.status", shape=None)
        writer.write(0.0, {"other.status": "SOLVED"})
    found = command(name, tmp_path / "other.mcap")
    assert_is_said(found, tmp_path / "other.mcap")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    from typer.testing import CliRunner

    from sofa_softctl.cli.app import app

    pytest.importorskip("casadi")
    path = tmp_path_factory.mktemp("library") / "cart.library"
    made = CliRunner().invoke(
        app, ["library", "build", CART, "--out", str(path), "--motions", "2", "--quiet"]
    )
    assert made.exit_code == 0
    return path


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("name", ["info library", "library query"])
def test_a_library_that_was_cut_is_damaged(command, tmp_path, library, name, share):
    file = tmp_path / "cut.library"
    data = library.read_bytes()
    file.write_bytes(data[: int(share * len(data))])
    found = command(name, file)
    assert_is_said(found, file)
    assert "damaged" in found[2]


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("UPDATE entries SET data = x'504B0304'", "library query"),
        ("UPDATE entries SET data = substr(data, 1, 900)", "library query"),
        ("UPDATE about SET value = 'none' WHERE name = 'model'", "library query"),
        ("UPDATE about SET value = '{\"' WHERE name = 'state'", "info library"),
        ("DELETE FROM about WHERE name = 'model'", "library query"),
    ],
)
def test_damage_inside_a_library_is_named(command, tmp_path, library, statement, name):
    import sqlite3

    file = tmp_path / "hurt.library"
    file.write_bytes(library.read_bytes())
    with sqlite3.connect(file) as connection:
        connection.execute(statement)
    connection.close()
    found = command(name, file)
    assert_is_said(found, file)
    assert "damaged" in found[2]
