"""`softctl info FILE`: the kind of a file is found, and what is none of them is named."""

import json
import sqlite3

import pytest

from sofa_softctl.cli.info import APPLICATIONS, KINDS, LIBRARY, STORE, kind_of
from sofa_softctl.errors import SoftctlError
from sofa_softctl.record.writer import RecordWriter

KNOWN = (
    "expected a recording (.mcap, .mcap.part), a library of motions (.library), a store of "
    "equilibria (.corners) or a mesh (.gid, .gidmsh, .gmsh, .msh, .obj, .stl, .vtk, .vtu, those of "
    "meshio). "
)
OTHERS = {
    "scene.py": (
        b"def createScene(root):\n",
        "Got a file that begins with b'def createScene('. 'softctl check' says what is in such a "
        "file.",
    ),
    "notes.text": (b"", "Got an empty file."),
    "rows.db": (b"SQLite format 3\0" + bytes(84), "begins with b'SQLite format 3\\x00'."),
    "finger.study": (None, "Is a directory). 'softctl batch show' says what is in such a file."),
    "truck": ("absent", "(No such file or directory). Did you mean 'truck.mcap'?"),
}
"""Content of a file, and the end of the message."""


@pytest.fixture
def recording(tmp_path):
    with RecordWriter(tmp_path / "truck.mcap", {}) as writer:
        writer.add_channel("tip", shape=(3,))
        writer.write(0.1, {"tip": [1.0, 2.0, 3.0]})
    return tmp_path / "truck.mcap"


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_of_no_known_kind_is_named_with_what_to_do(softctl, recording, tmp_path, name):
    content, end = OTHERS[name]
    if content is None:
        (tmp_path / name).mkdir()
    elif content != "absent":
        (tmp_path / name).write_bytes(content)
    status, _, err = softctl("info", tmp_path / name)
    assert status == 1
    assert err.startswith(f"Error: {tmp_path / name}: {KNOWN}")
    assert err.endswith(f"{end}\n")


def test_content_goes_before_the_suffix(softctl, recording):
    renamed = recording.rename(recording.with_name("truck.vtk"))
    status, out, _ = softctl("info", renamed, "--json")
    assert status == 0 and json.loads(out)["channels"]["tip"]["shape"] == [3]


@pytest.mark.parametrize("suffix", [".mcap", ".mcap.part", ".library", ".corners"])
def test_an_unknown_content_has_the_kind_of_its_suffix(tmp_path, suffix):
    file = tmp_path / f"a{suffix}"
    assert kind_of(file) == KINDS[file.suffix]
    file.write_bytes(bytes(100))
    assert kind_of(file) == KINDS[file.suffix]


@pytest.mark.parametrize("name", ["a.STL", "a.ply", "a.step"])
def test_meshes_have_the_suffixes_that_their_readers_know(tmp_path, name):
    assert kind_of(tmp_path / name) == "mesh"


def test_databases_are_told_apart_by_their_application(tmp_path):
    from sofa_softctl.library.motions import storage
    from sofa_softctl.surrogate.grid import store

    for schema, kind in ((storage._SCHEMA, LIBRARY), (store._SCHEMA, STORE)):
        file = tmp_path / f"{schema.name}.db"
        connection = sqlite3.connect(file)
        connection.execute(f"PRAGMA application_id = {schema.application}")
        connection.close()
        assert kind_of(file) == kind == APPLICATIONS[schema.application.to_bytes(4)]
    with sqlite3.connect(tmp_path / "none.db") as connection:
        connection.execute("PRAGMA application_id = 7")
    connection.close()
    with pytest.raises(SoftctlError, match="SQLite format 3"):
        kind_of(tmp_path / "none.db")


def test_a_plot_is_for_a_library(softctl, recording, tmp_path):
    status, _, err = softctl("info", recording, "--plot", tmp_path / "plot.png")
    assert status == 2
    assert f"--plot is for a library of motions, and {recording} is a recording." in err
    assert not (tmp_path / "plot.png").exists()


@pytest.mark.parametrize("group", ["library", "mesh", "record", "surrogate"])
def test_the_four_old_commands_say_the_new_one(softctl, group):
    status, _, err = softctl(group, "info", "a.file", "--json")
    assert status == 2
    assert f"'softctl {group} info' is 'softctl info a.file --json' now." in err


def test_the_help_has_an_example_of_each_kind(softctl):
    status, out, _ = softctl("info", "--help")
    assert status == 0
    for suffix in (".mcap", ".stl", ".library", ".corners"):
        assert any(
            line.strip().startswith("softctl info ") and suffix in line for line in out.splitlines()
        )
