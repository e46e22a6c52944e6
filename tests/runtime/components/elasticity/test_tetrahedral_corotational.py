import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.core.node import Node

POINTS = np.array([[0.0, 0.0, 0.0], [1, 0, 0], [0.1, 1, 0], [0, 0.2, 1], [1, 1, 1.2]])
TETRAHEDRA = [[0, 1, 2, 3], [4, 2, 1, 3]]


@pytest.fixture
def field(integrated, run):
    """Makes two tetrahedra, deformed at random, with a force field of some class."""

    def make(kind, elements=None, **values):
        moved = POINTS + 0.3 * np.random.default_rng(1).uniform(-1.0, 1.0, POINTS.shape)
        root = Node("root", dt=0.01, gravity=[0.0, 0.0, 0.0])
        node = integrated(root, "body", moved)
        node.dofs.rest_position.value = POINTS
        node.addObject("MeshTopology", **(elements or {"tetrahedra": TETRAHEDRA}))
        node.addObject("UniformMass", totalMass=1.0)
        made = node.addObject(kind, youngModulus=100.0, poissonRatio=0.3, **values)
        run(root)
        return made

    return make


@pytest.mark.parametrize("method", ["small", "large", "polar"])
@pytest.mark.parametrize("updated", [False, True])
def test_forces_and_stiffness_are_those_of_tetrahedron_fem(method, updated, field):
    found = []
    for kind in ("TetrahedralCorotationalFEMForceField", "TetrahedronFEMForceField"):
        made = field(kind, method=method, updateStiffnessMatrix=updated)
        force = np.zeros((5, 3))
        made.add_force(force)
        found.append((force, made.assembleKMatrix().toarray()))
    assert np.abs(found[0][0]).max() > 1.0
    assert (found[0][0] == found[1][0]).all()
    assert (found[0][1] == found[1][1]).all()


def test_a_present_shape_of_half_the_size_makes_a_sixteenth_of_the_force(field):
    """f = B D B^T u / (36 V) with the volume V at rest, and the entries of B are areas."""
    made, updated = (
        field("TetrahedralCorotationalFEMForceField", updateStiffnessMatrix=on)
        for on in (False, True)
    )
    forces = np.zeros((2, 5, 3))
    for one, force in zip((made, updated), forces, strict=True):
        one.state.position.value = 0.5 * POINTS
        one.add_force(force)
    assert np.abs(forces[0]).max() > 1.0
    assert forces[1] == pytest.approx(forces[0] / 16.0, abs=1e-12)


def test_hexahedra_are_not_cut(field):
    with pytest.raises(SceneError, match="finds no tetrahedra"):
        field(
            "TetrahedralCorotationalFEMForceField",
            elements={"hexahedra": [[0, 1, 2, 3, 4, 0, 1, 2]]},
        )


def test_stresses_are_those_of_greens_strain(field):
    made = field("TetrahedralCorotationalFEMForceField", computeVonMisesStress=True)
    green = field("TetrahedronFEMForceField", computeVonMisesStress=2)
    found = made.vonMisesPerElement.value
    assert found == pytest.approx(green.vonMisesPerElement.value, rel=1e-12)
    assert (found > 1.0).all()


def test_a_step_with_updated_stiffness_has_no_derivative(field):
    made = field("TetrahedralCorotationalFEMForceField", updateStiffnessMatrix=True)
    with pytest.raises(SceneError, match="has updateStiffnessMatrix: its derivative is not known"):
        made.check_differentiable()
