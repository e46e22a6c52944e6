"""Data that name nodes: what does not exist is refused before a kernel reads it."""

from contextlib import suppress

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime import components


@pytest.fixture
def spring(root, Sofa):
    """Three nodes of which a spring holds the second."""
    root.addObject("DefaultAnimationLoop")
    root.addObject("EulerImplicitSolver")
    root.addObject("CGLinearSolver", iterations=9, tolerance=1e-9, threshold=1e-20)
    places = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    root.addObject("MechanicalObject", name="dofs", position=places)
    root.addObject("UniformMass", totalMass=1.0)
    spring = root.addObject("RestShapeSpringsForceField", name="spring", points=[1])
    Sofa.Simulation.init(root)
    return spring


@pytest.mark.parametrize("number", [-1, 3])
def test_the_error_names_line_component_data_number_and_range(spring, number):
    expected = (
        rf"test_numbers.py:\d+: 'points' of RestShapeSpringsForceField '/spring' has {number}, "
        "but there are 3 nodes of '/dofs': give numbers from 0 to 2"
    )
    with pytest.raises(SceneError, match=expected):
        spring.points.value = [0, number]
    assert spring.points.value.tolist() == [1]


def write_whole(data):
    with data.writeable() as array:
        array[0] = 7


def write_entry(data):
    data[0] = 7


def write_part(data):
    data[:1][0] = 7


def add_to_all(data):
    data += 6


@pytest.mark.parametrize("write", [write_whole, write_entry, write_part, add_to_all])
def test_what_is_written_in_place_is_checked_before_it_counts(spring, write):
    with pytest.raises(SceneError, match="has 7, but there are 3 nodes"):
        write(spring.points)
    assert spring.points.value.tolist() == [1]


def test_parts_of_one_list_do_not_overwrite_each_other(spring):
    spring.points.value = [0, 1]
    first, second = spring.points[:1], spring.points[1:]
    first[0] = 2
    second[0] = 0
    assert spring.points.value.tolist() == [2, 0]


def test_a_list_that_follows_another_is_checked_in_the_step(root, Sofa, spring):
    source = root.addObject("MergeSets", name="source", in1=[1], op="union")
    source.init()
    spring.points.setParent(source.out)
    Sofa.Simulation.animate(root, 0.01)
    source.in1.value = [1, 9]
    with pytest.raises(SceneError, match="'points' of .* has 9, but there are 3 nodes"):
        Sofa.Simulation.animate(root, 0.01)


def tetrahedron(root, Sofa, **vertices):
    root.addObject("DefaultAnimationLoop")
    root.addObject("EulerImplicitSolver")
    root.addObject("CGLinearSolver", iterations=9, tolerance=1e-9, threshold=1e-20)
    places = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]
    mesh = root.addObject("MeshTopology", position=places, tetrahedra=[[0, 1, 2, 3]])
    root.addObject("MechanicalObject", name="dofs")
    root.addObject("UniformMass", totalMass=1.0)
    field = root.addObject("TetrahedronFEMForceField", youngModulus=1e3, poissonRatio=0.3)
    Sofa.Simulation.init(root)
    return mesh, field


def test_elasticity_keeps_the_elements_that_it_began_with(root, Sofa, tolerant, caplog):
    """Elements that a topology gets later have no rest shape: they are warned of, not half used."""
    mesh, field = tetrahedron(root, Sofa)
    mesh.tetrahedra.value = [[4, 1, 2, 3]]
    Sofa.Simulation.animate(root, 0.01)
    assert field.elements.tolist() == [[0, 1, 2, 3]]
    assert "read once, at the start" in caplog.text


def test_an_element_of_a_vertex_that_does_not_exist_is_refused(root, Sofa):
    mesh, _ = tetrahedron(root, Sofa)
    with pytest.raises(SceneError, match="'tetrahedra' of .* has 5, but there are 5 vertices"):
        mesh.tetrahedra.value = [[0, 1, 2, 5]]


def test_springs_of_a_mesh_may_become_fewer_in_a_run(root, Sofa):
    """The system's pattern is made anew."""
    root.addObject("DefaultAnimationLoop")
    root.addObject("EulerImplicitSolver")
    root.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    places = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    root.addObject("MeshTopology", position=places, edges=[[0, 1], [1, 2]])
    root.addObject("MechanicalObject", name="dofs")
    root.addObject("UniformMass", totalMass=1.0)
    springs = root.addObject("MeshSpringForceField", linesStiffness=10.0)
    Sofa.Simulation.init(root)
    Sofa.Simulation.animate(root, 0.01)
    springs.spring.value = springs.spring.value[:1]
    Sofa.Simulation.animate(root, 0.01)
    assert np.isfinite(root.dofs.position.value).all()


def test_every_element_that_can_touch_has_flags(root, Sofa):
    """The kernel reads those of lines, too, beside those of triangles that it uses."""
    root.addObject("MeshTopology", position=np.eye(3), triangles=[[0, 1, 2]])
    root.addObject("MechanicalObject")
    model = root.addObject("LineCollisionModel")
    Sofa.Simulation.init(root)
    model.prepare()
    assert len(model.surface().flags) == len(model.elements) == 3


ON_ELEMENTS = [
    name
    for name in components.__all__
    if getattr(components, name).category in ("force field", "mass")
    and "topology" in getattr(components, name).link_types
]


@pytest.mark.parametrize("kind", ON_ELEMENTS)
def test_elements_of_nodes_that_a_state_lacks_are_no_error_of_python(root, Sofa, tolerant, kind):
    """The topology has eight vertices, the state beside it four nodes."""
    root.addObject("DefaultAnimationLoop")
    root.addObject("EulerImplicitSolver")
    root.addObject("SparseLDLSolver")
    points = [[x, y, z] for z in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))]
    elements = {
        "edges": [[0, 1], [6, 7]],
        "triangles": [[0, 1, 2], [4, 6, 7]],
        "quads": [[0, 1, 2, 3], [4, 5, 6, 7]],
        "tetrahedra": [[0, 1, 3, 4], [6, 5, 7, 2]],
        "hexahedra": [[0, 1, 2, 3, 4, 5, 6, 7]],
    }
    root.addObject("MeshTopology", position=points, **elements)
    root.addObject("MechanicalObject", name="dofs", position=points[:4])
    if "Mass" not in kind:
        root.addObject("UniformMass", totalMass=1.0)
    with suppress(SceneError):
        root.addObject(kind)
        Sofa.Simulation.init(root)
        Sofa.Simulation.animate(root, 0.01)
