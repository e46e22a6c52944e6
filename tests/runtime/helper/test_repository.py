"""Folders in which files are looked for."""

import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.helper.repository import FileRepository, data, in_folder


@pytest.fixture
def mesh(tmp_path):
    folder = tmp_path / "meshes"
    folder.mkdir()
    path = folder / "one.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    yield path
    data.clear()


def test_a_repository_looks_into_its_folders_in_order(mesh, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_FOLDERS", str(tmp_path))
    repository = FileRepository("MY_FOLDERS")
    assert not repository.findFile("one.obj")
    assert repository.getFile("one.obj") == "one.obj"
    repository.addFirstPath(str(mesh.parent))
    assert repository.findFile("one.obj")
    assert repository.getFile("one.obj") == str(mesh)
    assert repository.getPaths() == [str(mesh.parent), str(tmp_path)]
    repository.removePath(str(mesh.parent))
    repository.removePath("never added")
    assert repository.getPathsJoined() == str(tmp_path)
    assert repository.findFile("one.obj", str(mesh.parent))


def test_loaders_look_into_the_data_repository(Sofa, root, mesh):
    import SofaRuntime

    with pytest.raises(SceneError, match=r"one\.obj: there is no such mesh file"):
        root.addObject("MeshOBJLoader", filename="one.obj")
    SofaRuntime.DataRepository.addFirstPath(str(mesh.parent))
    loader = root.addObject("MeshOBJLoader", name="found", filename="one.obj")
    assert loader.position.shape == (3, 3)


def test_a_scene_can_add_a_folder(root, mesh):
    root.addObject("AddDataRepository", path=str(mesh.parent))
    assert root.addObject("MeshOBJLoader", filename="one.obj").triangles.toList() == [[0, 1, 2]]


def test_relative_folders_of_the_environment_count_from_where_the_program_started(
    mesh, tmp_path, monkeypatch
):
    """A scene is loaded in its own folder, from which they were looked for before."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOFTCTL_DATA", mesh.parent.name)
    (tmp_path / "scenes").mkdir()
    with in_folder(tmp_path / "scenes"):
        assert data.getFile("one.obj") == str(mesh)


def test_paths_beside_and_relative_to(mesh, tmp_path):
    repository = FileRepository("")
    assert repository.getPaths() == []
    assert repository.findFileFromFile("one.obj", str(mesh.parent / "scene.py"))
    assert FileRepository.relativeToPath(str(mesh), str(tmp_path)) == "meshes/one.obj"
    assert FileRepository.relativeToPath("/elsewhere/x", str(tmp_path)) == "/elsewhere/x"
