"""A topology that reads its mesh from a file."""

import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation import simulation

OBJ = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3\nf 1 3 4\n"


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "square.obj"
    file.write_text(OBJ)
    return str(file)


def test_a_mesh_topology_reads_its_file_and_the_state_takes_its_points(root, path):
    topology = root.addObject("MeshTopology", filename=path)
    root.addObject("MechanicalObject", name="dofs")
    simulation.init(root)
    assert topology.triangles.value.tolist() == [[0, 1, 2], [0, 2, 3]]
    assert topology.getNbEdges() == 5
    assert root.dofs.position.value.tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]


@pytest.mark.parametrize(
    ("name", "message"),
    [("nowhere.obj", "nowhere.obj"), ("square.xyz", "reads meshes of kinds obj, .*'square.xyz'")],
)
def test_a_file_that_cannot_be_read_is_an_error(root, name, message, tolerant):
    root.addObject("MeshTopology", filename=name)
    with pytest.raises(SceneError, match=message):
        simulation.init(root)


def test_a_container_of_one_kind_reads_no_file_and_says_so(root, path):
    root.addObject("TriangleSetTopologyContainer", filename=path)
    with pytest.raises(SceneError, match="reads no 'filename', in SOFA neither"):
        simulation.init(root)
