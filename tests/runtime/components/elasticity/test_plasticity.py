"""Plastic strains of TetrahedronFEMForceField; the unit tetrahedron has 6 V = 1."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation import simulation

TETRAHEDRON = np.vstack([np.zeros(3), np.eye(3)])
TURN = Rotation.from_rotvec([0.4, -0.7, 1.1]).as_matrix()
YOUNG, NU = 100.0, 0.25
LAME, MU = 40.0, 40.0  # of these


@pytest.fixture
def plastic(root, integrated):
    """Makes one tetrahedron that flows."""

    def make(method="polar", **values):
        node = integrated(root, "body", TETRAHEDRON)
        node.addObject("MeshTopology", tetrahedra=[[0, 1, 2, 3]])
        node.addObject("UniformMass", totalMass=1.0)
        field = node.addObject(
            "TetrahedronFEMForceField", method=method, youngModulus=YOUNG, poissonRatio=NU, **values
        )
        simulation.init(root)
        return field

    return make


def pulled(field, strain, turn=None):
    """Forces after a pull along x by a strain, in a turned body."""
    moved = TETRAHEDRON * [1.0 + strain, 1.0, 1.0]
    field.state.position.value = moved if turn is None else moved @ turn.T
    force = np.zeros((4, 3))
    field.add_force(force)
    return force


def stress_of(strain):
    """-V sigma g_b of the strain along x: g of nodes b, c, d are the axes, V = 1 / 6."""
    return -np.diag([LAME * strain + 2 * MU * strain, LAME * strain, LAME * strain]) / 6.0


@pytest.mark.parametrize("method", ["small", "large", "polar", "svd"])
def test_below_the_yield_strain_a_body_is_elastic(method, plastic):
    field = plastic(method, plasticMaxThreshold=0.5, plasticYieldThreshold=0.06, plasticCreep=1.0)
    assert pulled(field, 0.05)[1:] == pytest.approx(stress_of(0.05), abs=1e-13)
    assert pulled(field, 0.0) == pytest.approx(np.zeros((4, 3)), abs=1e-13)


@pytest.mark.parametrize("method", ["small", "large", "polar", "svd"])
def test_a_strain_that_stays_pulls_back_when_the_body_is_let_go(method, plastic):
    """All of 0.05 becomes plastic at once; the rest shape is under -0.05 then, and flows again."""
    field = plastic(method, plasticMaxThreshold=0.5, plasticYieldThreshold=0.02, plasticCreep=1.0)
    assert pulled(field, 0.05) == pytest.approx(np.zeros((4, 3)), abs=1e-13)
    assert pulled(field, 0.04)[1:] == pytest.approx(stress_of(-0.01), abs=1e-13)
    assert pulled(field, 0.0) == pytest.approx(np.zeros((4, 3)), abs=1e-13)


def test_part_of_the_elastic_strain_flows_in_each_step(plastic):
    """Of 0.08 with creep 1/2: 0.04, 0.02 and 0.01 stay elastic; below the limit no more flows."""
    field = plastic(plasticMaxThreshold=0.5, plasticYieldThreshold=0.015, plasticCreep=0.5)
    for elastic in (0.04, 0.02, 0.01, 0.01):
        assert pulled(field, 0.08)[1:] == pytest.approx(stress_of(elastic), abs=1e-13)


def test_the_plastic_strain_has_a_largest_norm(plastic):
    field = plastic(plasticMaxThreshold=0.02, plasticYieldThreshold=0.001, plasticCreep=1.0)
    for _ in range(3):
        assert pulled(field, 0.05)[1:] == pytest.approx(stress_of(0.03), abs=1e-13)


@pytest.mark.parametrize("method", ["large", "polar", "svd"])
def test_plastic_strains_turn_with_the_body(method, plastic):
    field = plastic(method, plasticMaxThreshold=0.02, plasticYieldThreshold=0.001, plasticCreep=1.0)
    pulled(field, 0.05)
    found = pulled(field, 0.05, TURN)
    assert found[1:] == pytest.approx((TURN @ stress_of(0.03)).T, abs=1e-13)
    assert found.sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-13)


def test_shear_counts_twice(plastic):
    """Of x sheared by 0.04 along y: the norm of (0, 0, 0, 2 xy, 0, 0) is 0.04, method small."""
    field = plastic("small", plasticMaxThreshold=1, plasticYieldThreshold=0.039, plasticCreep=1.0)
    sheared = TETRAHEDRON + 0.04 * np.outer(TETRAHEDRON[:, 1], [1.0, 0.0, 0.0])
    field.state.position.value = sheared
    force = np.zeros((4, 3))
    field.add_force(force)
    assert force == pytest.approx(np.zeros((4, 3)), abs=1e-13)


def test_reset_and_snapshots_know_the_plastic_strain(root, plastic):
    field = plastic(plasticMaxThreshold=0.02, plasticYieldThreshold=0.001, plasticCreep=1.0)
    before = field.snapshot()
    pulled(field, 0.05)
    after = field.snapshot()
    assert pulled(field, 0.0)[1:] == pytest.approx(np.zeros((3, 3)), abs=1e-13)
    field.restore(after)
    assert pulled(field, 0.05)[1:] == pytest.approx(stress_of(0.03), abs=1e-13)
    field.restore(before)
    assert pulled(field, 0.0005)[1:] == pytest.approx(stress_of(0.0005), abs=1e-13)
    pulled(field, 0.05)
    simulation.reset(root)
    assert pulled(field, 0.0005)[1:] == pytest.approx(stress_of(0.0005), abs=1e-13)


def test_what_plasticity_does_not_go_with_is_an_error(plastic):
    problem = "plasticMaxThreshold and updateStiffnessMatrix: choose"
    field = plastic(updateStiffnessMatrix=True)
    field.plasticMaxThreshold.value = 0.02
    with pytest.raises(SceneError, match=problem):
        pulled(field, 0.05)
    with pytest.raises(SceneError, match=problem):
        field.init()


def test_what_changes_in_a_run_counts_at_once(plastic):
    """SOFA reads all three in each step; without plasticity the whole strain is elastic again."""
    field = plastic(plasticYieldThreshold=-0.02, plasticCreep=1.0)
    assert pulled(field, 0.05)[1:] == pytest.approx(stress_of(0.05), abs=1e-13)
    field.plasticMaxThreshold.value = 0.5
    assert pulled(field, 0.015)[1:] == pytest.approx(stress_of(0.015), abs=1e-13)
    field.plasticCreep.value = 0.5
    assert pulled(field, 0.05)[1:] == pytest.approx(stress_of(0.025), abs=1e-13)
    field.plasticMaxThreshold.value = 0.01
    assert pulled(field, 0.05)[1:] == pytest.approx(stress_of(0.04), abs=1e-13)
    field.plasticMaxThreshold.value = 0.0
    assert pulled(field, 0.05)[1:] == pytest.approx(stress_of(0.05), abs=1e-13)


def test_derivatives_of_plasticity_are_an_error(plastic):
    field = plastic(plasticMaxThreshold=0.02)
    with pytest.raises(SceneError, match="derivatives of plasticity are not known"):
        field.check_differentiable()
