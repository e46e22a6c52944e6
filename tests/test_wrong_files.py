"""Files that are something else than their name says: each reader says what, and what to do."""

import gzip
import io
import tarfile
import zipfile

import pytest

from sofa_softctl.base.files import wrong_file
from sofa_softctl.cli.info import kind_of
from sofa_softctl.errors import SceneError, SoftctlError
from sofa_softctl.identification.data.table import read_csv
from sofa_softctl.identification.mechanism.urdf import from_urdf
from sofa_softctl.record.record import read_record
from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.mesh.formats.read import SUFFIXES, read_mesh
from sofa_softctl.runtime.simulation import simulation


def zipped():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("finger.vtk", "# vtk DataFile Version 3.0\n")
    return stream.getvalue()


def tarred():
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("finger.vtk"))
    return stream.getvalue()


CONTENTS = {
    "a pointer of Git LFS": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 20345\n",
        "pointer of Git LFS to the file of 20,345 bytes, not the file. Get it: git lfs pull",
    ),
    "a pointer of git-annex": (
        b"../.git/annex/objects/Xk/9P/SHA256E-s30--ab.vtk\n/annex/objects/SHA256E-s30--ab.vtk\n",
        "git annex get",
    ),
    "a page": (b"\n<!DOCTYPE html>\n<html lang=en><title>finger</title>", "is a page of the web"),
    "a page without a doctype": (b"<html><body>Moved</body></html>", "download that itself"),
    "404 of GitHub": (b"404: Not Found", "is a page of the web"),
    "an answer in JSON": (b'{"message": "Not Found", "status": "404"}', "is a page of the web"),
    "a refusal of S3": (b"<?xml version='1.0'?><Error><Code>AccessDenied</Code>", "of the web"),
    "zip": (zipped(), "is a zip archive. Unpack it"),
    "gzip": (gzip.compress(b"# vtk DataFile Version 3.0\n"), "compressed with gzip. Unpack it"),
    "tar": (tarred(), "is a tar archive"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(60), "is a picture"),
}
MESHES = [*SUFFIXES, ".ply", ".inp", ".gz", ".step"]


@pytest.mark.parametrize(("content", "words"), CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("suffix", MESHES)
def test_meshes_of_every_format(tmp_path, suffix, content, words):
    path = tmp_path / f"finger{suffix}"
    path.write_bytes(content)
    with pytest.raises(SoftctlError) as caught:
        read_mesh(path)
    assert words in str(caught.value) and str(path) in str(caught.value)


@pytest.mark.parametrize(("content", "words"), CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("kind", ["MeshVTKLoader", "MeshSTLLoader", "MeshOBJLoader",
                                  "MeshGmshLoader", "GIDMeshLoader", "SphereLoader"])  # fmt: skip
def test_every_loader(tmp_path, kind, content, words):
    path = tmp_path / "finger.mesh"
    path.write_bytes(content)
    root = Node("root")
    with pytest.raises(SceneError) as caught:
        root.addObject(kind, filename=str(path))
        simulation.init(root)
    assert words in str(caught.value) and "test_wrong_files.py:" in str(caught.value)


@pytest.mark.parametrize(("content", "words"), CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize(
    ("read", "name"), [(read_record, "run.mcap"), (read_csv, "run.csv"), (from_urdf, "arm.urdf")]
)
def test_recordings_tables_and_robots(tmp_path, read, name, content, words):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SoftctlError) as caught:
        read(path)
    assert words in str(caught.value)


@pytest.mark.parametrize(("content", "words"), CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("name", ["a.vtk", "a.mcap", "a.library", "a.corners", "a.vtk.gz", "a"])
def test_info_of_any_file(tmp_path, name, content, words):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SoftctlError) as caught:
        kind_of(path)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "start",
    [b"# vtk DataFile Version 3.0\n", b"v 0 0 0\n", b"solid finger\n", b"\x89MCAP0\r\n", b""],
)
def test_files_that_are_right_are_not_doubted(start):
    assert wrong_file(start) == ""
