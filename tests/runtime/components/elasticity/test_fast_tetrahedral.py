import numpy as np
import pytest
from scipy.linalg import polar
from scipy.spatial.transform import Rotation

from sofa_softctl.runtime.core.node import Node
from sofa_softctl.testing import check_jacobian

POINTS = np.array([[0.0, 0.0, 0.0], [1, 0, 0], [0.1, 1, 0], [0, 0.2, 1], [1, 1, 1.2]])
TETRAHEDRA = [[0, 1, 2, 3], [4, 2, 1, 3]]
NAMES = {"qr": "large", "large": "large", "polar2": "polar", "none": "small", "linear": "small"}
LAM, MU = 100.0 * 0.3 / (1.3 * 0.4), 100.0 / 2.6
"""Lame's constants of E = 100, nu = 0.3."""


@pytest.fixture
def field(integrated, run):
    """Makes two tetrahedra, deformed at random, with a force field of some class."""

    def make(kind, **values):
        root = Node("root", dt=0.01, gravity=[0.0, 0.0, 0.0])
        node = integrated(root, "body", deformed())
        node.dofs.rest_position.value = POINTS
        node.addObject("MeshTopology", tetrahedra=TETRAHEDRA)
        node.addObject("UniformMass", totalMass=1.0)
        made = node.addObject(kind, youngModulus=100.0, poissonRatio=0.3, **values)
        run(root)
        return made

    return make


def deformed():
    return POINTS + 0.3 * np.random.default_rng(1).uniform(-1.0, 1.0, POINTS.shape)


def force_at(field, x):
    field.state.position.value = x
    force = np.zeros((len(x), 3))
    field.add_force(force)
    return force


@pytest.mark.parametrize("name", NAMES)
def test_forces_are_those_of_the_method_of_another_name(name, field):
    fast = force_at(field("FastTetrahedralCorotationalForceField", method=name), deformed())
    other = force_at(field("TetrahedronFEMForceField", method=NAMES[name]), deformed())
    assert (fast == other).all()
    assert np.abs(fast).max() > 1.0


def test_the_default_is_qr(field):
    assert field("FastTetrahedralCorotationalForceField").method.value == "qr"


def energy(x):
    """sum V (mu |F - R|^2 + lambda / 2 tr(R^T F - 1)^2), R the rotation of F."""
    total = 0.0
    for element in TETRAHEDRA:
        rest, now = (p[element[1:]] - p[element[0]] for p in (POINTS, x))
        F = np.linalg.solve(rest, now).T
        R, S = polar(F)
        volume = abs(np.linalg.det(rest)) / 6.0
        total += (
            volume * MU * ((F - R) ** 2).sum() + volume * LAM / 2.0 * np.trace(S - np.eye(3)) ** 2
        )
    return total


def test_with_the_rotation_of_the_gradient_forces_have_an_energy(field):
    """f = -dE/dx: the derivative of R drops out."""
    made = field("FastTetrahedralCorotationalForceField", method="polar")
    check_jacobian(energy, -force_at(made, deformed()), deformed(), scale=0.1)


@pytest.mark.parametrize("method", ["qr", "polar", "polar2"])
def test_a_turned_body_has_turned_forces(method, field):
    """f(R x + c) = R f(x); without rotations (none) it would not."""
    made = field("FastTetrahedralCorotationalForceField", method=method)
    R = Rotation.from_rotvec([0.4, -1.1, 0.7]).as_matrix()
    before = force_at(made, deformed())
    after = force_at(made, deformed() @ R.T + [1.0, 2.0, 3.0])
    assert after == pytest.approx(before @ R.T, abs=1e-12)
