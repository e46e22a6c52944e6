"""Damaged files give a mesh or a MeshError: no other exception, no hang, no memory to speak of."""

import tracemalloc

import meshio
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sofa_softctl.errors import MeshError
from sofa_softctl.runtime.mesh.checks import check_mesh
from sofa_softctl.runtime.mesh.formats.read import reader_of

POINTS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1.5]])
VOLUME = [("tetra", np.array([[0, 1, 2, 3], [1, 2, 3, 4]]))]
MIXED = [*VOLUME, ("triangle", np.array([[0, 1, 2]])), ("line", np.array([[0, 1]]))]
SURFACE = [("triangle", np.array([[0, 1, 2], [1, 2, 4], [0, 2, 3]]))]

FORMS = [
    ("vtk", "vtk42", MIXED, {"binary": False}),
    ("vtk", "vtk42", MIXED, {"binary": True}),
    ("vtk", "vtk51", MIXED, {"binary": False}),
    ("vtk", "vtk51", MIXED, {"binary": True}),
    ("vtk", "vtu", MIXED, {"binary": False}),
    ("vtk", "vtu", MIXED, {"binary": True, "compression": None}),
    ("vtk", "vtu", MIXED, {"binary": True, "compression": "zlib"}),
    ("vtk", "vtu", MIXED, {"binary": True, "compression": "lzma"}),
    ("gmsh", "gmsh22", MIXED, {"binary": False}),
    ("gmsh", "gmsh22", MIXED, {"binary": True}),
    ("gmsh", "gmsh", VOLUME, {"binary": False}),
    ("gmsh", "gmsh", VOLUME, {"binary": True}),
    ("stl", "stl", SURFACE, {"binary": False}),
    ("stl", "stl", SURFACE, {"binary": True}),
    ("obj", "obj", SURFACE, {}),
]

MEMORY = 16e6
"""LZMA's smallest window takes 8 MB, all else a few kB [bytes]."""


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> list[tuple[str, bytes]]:
    folder, found = tmp_path_factory.mktemp("meshes"), []
    for number, (kind, form, blocks, options) in enumerate(FORMS):
        path = folder / f"{number}.{kind}"
        meshio.write(path, meshio.Mesh(POINTS, blocks), form, **options)
        found.append((kind, path.read_bytes()))
    return found


def read(kind: str, data: bytes):
    mesh = reader_of(kind)(data, "a")
    check_mesh(mesh, "a")
    return mesh


def test_the_undamaged_files_are_read(files):
    for kind, data in files:
        assert len(read(kind, data).positions) == len(POINTS)


CHANGES = st.tuples(st.integers(0, 2000), st.integers(0, 255) | st.sampled_from(b"0123456789 -.e"))


@pytest.mark.soak
@settings(
    max_examples=1500,
    deadline=2000,  # [ms]; a sound file takes less than one
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    form=st.integers(0, len(FORMS) - 1),
    kept=st.floats(0, 1) | st.just(1.0),
    changes=st.lists(CHANGES, max_size=5),
)
def test_a_damaged_file_gives_a_mesh_or_a_mesh_error(files, form, kept, changes):
    kind, data = files[form]
    damaged = bytearray(data[: round(kept * len(data))])
    for at, byte in changes:
        if damaged:
            damaged[at % len(damaged)] = byte
    tracemalloc.start()
    try:
        read(kind, bytes(damaged))
    except MeshError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < MEMORY


@pytest.mark.parametrize("form", range(len(FORMS)))
def test_a_file_cut_anywhere_gives_a_mesh_or_a_mesh_error(files, form):
    kind, data = files[form]
    for length in range(len(data)):
        try:
            read(kind, data[:length])
        except MeshError:
            continue
