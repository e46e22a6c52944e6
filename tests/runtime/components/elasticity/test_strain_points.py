"""Forces, stiffness and energy of every material at the strain points of every element."""

import itertools
import math

import numpy as np
import pytest
from scipy.linalg import polar
from scipy.spatial import Delaunay
from scipy.spatial.transform import Rotation

from sofa_softctl.runtime.components.elasticity.energies import ENERGIES
from sofa_softctl.runtime.components.elasticity.strain_points import PATCH_SIZE_MIN, points_of
from sofa_softctl.runtime.kernels.cholesky.block_matrix import BlockPattern
from sofa_softctl.runtime.kernels.elasticity import strain_points as kernel
from sofa_softctl.runtime.kernels.elasticity.corotational import shape_gradients
from sofa_softctl.runtime.mesh.mesh import Mesh
from sofa_softctl.runtime.mesh.split import split
from sofa_softctl.testing import check_jacobian

EPS = np.finfo(float).eps
MU, LAM = 3.0, 5.0
MATERIALS = {
    "Corotational": (MU, LAM),
    "StVenantKirchhoff": (MU, LAM),
    "NeoHookean": (MU, LAM),
    "StableNeoHookean": (MU, LAM),
    "MooneyRivlin": (0.9, 0.6, LAM + 2.0 * MU / 3.0),
}
"""Each with mu and lambda as its linear elasticity at rest: mu = 2 (c1 + c2), k = bulk modulus."""
every_material = pytest.mark.parametrize("material", MATERIALS)
every_element = pytest.mark.parametrize("element", ["linear", "smoothed", "quadratic"])


class Body:
    """Tetrahedra of one material, and what the kernels make of positions."""

    def __init__(self, x0, elements, material, element="linear"):
        if element == "quadratic":
            mesh = split(Mesh(np.asarray(x0), tetrahedra=np.asarray(elements)))
            x0, elements = mesh.positions, mesh.tetrahedra
        self.x0, self.elements = np.ascontiguousarray(x0), np.ascontiguousarray(elements)
        self.law = ENERGIES[material]
        parameters = np.tile(MATERIALS[material], (len(elements), 1))
        self.points = points_of(element, self.x0, self.elements, parameters)
        moduli = self.law.rest_moduli(parameters)[0]
        self.parameters = self.points.distribute(parameters, moduli)
        self.stencils = self.points.first, self.points.nodes, self.points.gradients

    def at(self, x):
        return self.law.at(self.points.gradients_of(x), self.parameters)

    def tangents(self, x):
        tangents = np.empty((len(self.parameters), 9, 9))
        self.at(x).tangents(1.0, tangents, is_exact=True)
        return tangents

    def energy(self, x):
        return self.at(x).energies().sum()

    def force(self, x):
        force = np.zeros(self.x0.shape)
        kernel.add_stress(*self.stencils, self.at(x).stresses(), -1.0, force)
        return force

    def product(self, x, v, factor=1.0):
        out = np.zeros_like(v)
        kernel.add_product(v, *self.stencils, self.tangents(x), factor, out)
        return out

    def matrix(self, x, factor=1.0):
        rows, cols = kernel.stencil_pairs(self.points.first, self.points.nodes)
        pattern = BlockPattern.build(len(self.x0), rows, cols)
        values = np.zeros((len(pattern.indices), 3, 3))
        slots = pattern.slots(rows, cols)
        first, _, gradients = self.stencils
        kernel.add_matrix(first, gradients, self.tangents(x), factor, slots, values)
        return pattern.to_csr(values).toarray()


def block(seed=0):
    """Two cells of six tetrahedra side by side, corners shaken by a tenth: (12, 3) and (12, 4)."""
    random = np.random.default_rng(seed)
    points = np.array(list(itertools.product(range(3), range(2), range(2))), float)
    elements = []
    for cell in range(2):
        for order in itertools.permutations([4, 2, 1]):  # strides of x, y and z
            elements.append(4 * cell + np.cumsum([0, *order]))
    return points + random.uniform(-0.1, 0.1, points.shape), np.array(elements)


def strained(body, seed):
    """Positions far from rest, turned, where no element is turned inside out."""
    random = np.random.default_rng(seed)
    B = np.eye(3) + random.uniform(-0.2, 0.2, (3, 3))
    R = Rotation.random(random_state=seed).as_matrix()
    x = body.x0 @ (R @ B).T + random.uniform(-0.08, 0.08, body.x0.shape)
    assert np.linalg.det(body.points.gradients_of(x)).min() > 0.2
    return x


@every_element
@every_material
@pytest.mark.parametrize("seed", range(3))
def test_the_force_is_minus_the_gradient_of_the_energy(material, seed, element):
    """f = -dE/dx at every node; elements that are squeezed to J = 0.2 bend within a tenth."""
    body = Body(*block(seed), material, element)
    x = strained(body, seed)
    force = body.force(x)
    assert np.abs(force).max() > 0.1
    check_jacobian(body.energy, -force, x, scale=0.1, tolerance=1e-8)


@every_element
@every_material
@pytest.mark.parametrize("seed", range(3))
def test_the_stiffness_is_minus_the_derivative_of_the_force(material, seed, element):
    """K = -df/dx in every column, far from rest."""
    body = Body(*block(seed), material, element)
    x = strained(body, seed)
    check_jacobian(body.force, -body.matrix(x), x, scale=0.1, tolerance=1e-8)


@every_element
@every_material
def test_the_stiffness_is_symmetric(material, element):
    """The second derivative of an energy, so K = K^T up to rounding; within the diagonal blocks
    too, which are stored whole."""
    body = Body(*block(), material, element)
    K = body.matrix(strained(body, 4))
    assert np.abs(K - K.T).max() < 100 * EPS * np.abs(K).max()


@every_element
@every_material
@pytest.mark.parametrize("factor", [1.0, -0.03])
def test_the_matrix_does_what_the_product_does(material, factor, element):
    """factor K v, assembled and element by element, far from rest; rounding only."""
    body = Body(*block(), material, element)
    x = strained(body, 5)
    v = np.random.default_rng(5).uniform(-1.0, 1.0, x.shape)
    assembled = body.matrix(x, factor) @ v.ravel()
    assert body.product(x, v, factor).ravel() == pytest.approx(assembled, abs=1e-12)


@every_material
def test_forces_and_products_add_to_what_is_there(material):
    """out += ..., not out = ...; rounding of 7 + f."""
    body = Body(*block(), material)
    x = strained(body, 6)
    force, v = np.full_like(x, 7.0), np.ones_like(x) + x
    expected, product = body.force(x), body.product(x, v, 2.0)
    kernel.add_stress(*body.stencils, body.at(x).stresses(), -1.0, force)
    assert force - 7.0 == pytest.approx(expected, abs=1e-13)
    force[:] = 7.0
    kernel.add_product(v, *body.stencils, body.tangents(x), 2.0, force)
    assert force - 7.0 == pytest.approx(product, abs=1e-12)


def linear_stiffness(body):
    """K of linear elasticity with Lame's constants, block by block:
    V (lambda g_a g_b^T + mu g_b g_a^T + mu (g_a . g_b) I)."""
    K = np.zeros((*body.x0.shape, *body.x0.shape))
    gradients, volumes = shape_gradients(body.x0, body.elements)
    for element, g, V in zip(body.elements, gradients, np.abs(volumes), strict=True):
        for (a, i), (b, j) in itertools.product(enumerate(element), repeat=2):
            K[i, :, j] += V * (
                LAM * np.outer(g[a], g[b])
                + MU * np.outer(g[b], g[a])
                + MU * np.dot(g[a], g[b]) * np.eye(3)
            )
    return K.reshape(body.x0.size, -1)


@every_material
def test_at_rest_it_is_linear_elasticity(material):
    """No energy, no force, and Lame's stiffness: mu and lambda of E and nu, or 2 (c1 + c2) and
    k - 2 mu / 3; rounding of sums of some tens of terms of |K|."""
    body = Body(*block(), material)
    K = linear_stiffness(body)
    tolerance = 100 * EPS * np.abs(K).max()
    assert abs(body.energy(body.x0)) < tolerance
    assert np.abs(body.force(body.x0)).max() < tolerance
    assert body.matrix(body.x0) == pytest.approx(K, abs=tolerance)


@every_element
@every_material
@pytest.mark.parametrize("seed", range(3))
def test_a_rigid_motion_gives_no_force_and_turns_the_stiffness(material, seed, element):
    """x = R X + c: E = 0, f = 0, K = R K0 R^T; rounding with coordinates up to 5."""
    body = Body(*block(seed), material, element)
    R = Rotation.random(random_state=seed).as_matrix()
    x = body.x0 @ R.T + [1.0, -2.0, 3.0]
    K0 = body.matrix(body.x0)
    tolerance = 1000 * EPS * np.abs(K0).max()
    assert abs(body.energy(x)) < tolerance
    assert np.abs(body.force(x)).max() < tolerance
    turn = np.kron(np.eye(len(x)), R)
    assert body.matrix(x) == pytest.approx(turn @ K0 @ turn.T, abs=tolerance)


@every_element
@every_material
def test_turning_a_strained_body_turns_its_forces(material, element):
    """f(R x + c) = R f(x), E the same: objectivity; rounding."""
    body = Body(*block(), material, element)
    x = strained(body, 7)
    R = Rotation.random(random_state=8).as_matrix()
    turned = x @ R.T + [1.0, -2.0, 3.0]
    assert body.force(turned) == pytest.approx(body.force(x) @ R.T, abs=1e-12)
    assert body.energy(turned) == pytest.approx(body.energy(x), rel=1e-13)


@every_element
@every_material
def test_internal_forces_and_their_moments_sum_to_zero(material, element):
    """Linear and angular momentum are conserved: sum f_a = 0 and sum x_a x f_a = 0."""
    body = Body(*block(), material, element)
    x = strained(body, 9)
    force = body.force(x)
    assert np.abs(force).max() > 0.1
    assert force.sum(axis=0) == pytest.approx(0.0, abs=1e-13)
    assert np.cross(x, force).sum(axis=0) == pytest.approx(0.0, abs=1e-12)


def second_stress(material, F):
    """S of a material, as SOFA's components have it."""
    C, J, one = F.T @ F, np.linalg.det(F), np.eye(3)
    inverse, I1 = np.linalg.inv(C), np.trace(C)
    if material == "StVenantKirchhoff":
        E = (C - one) / 2.0
        return LAM * np.trace(E) * one + 2.0 * MU * E
    if material == "Corotational":
        R, S = polar(F)
        return np.linalg.inv(F) @ (2.0 * MU * (F - R) + LAM * (np.trace(S) - 3.0) * R)
    if material == "NeoHookean":
        return MU * (one - inverse) + LAM * math.log(J) * inverse
    if material == "StableNeoHookean":
        return MU * one + (LAM + MU) * J * (J - 1.0 - MU / (LAM + MU)) * inverse
    c1, c2, bulk = MATERIALS[material]
    I2 = (I1**2 - np.trace(C @ C)) / 2.0
    return (
        2.0 * c1 * J ** (-2 / 3) * (one - I1 / 3.0 * inverse)
        + 2.0 * c2 * J ** (-4 / 3) * (I1 * one - C - 2.0 * I2 / 3.0 * inverse)
        + bulk * math.log(J) * inverse
    )


@every_element
@every_material
def test_a_uniform_strain_gives_the_materials_stress(material, element):
    """The patch test: for x = F X the virial of the nodal forces is -sum_a f_a X_a^T = V F S."""
    body = Body(*block(), material, element)
    F = Rotation.random(random_state=1).as_matrix() @ (
        np.eye(3) + np.random.default_rng(1).uniform(-0.3, 0.3, (3, 3))
    )
    expected = body.points.volumes.sum() * F @ second_stress(material, F)
    assert -body.force(body.x0 @ F.T).T @ body.x0 == pytest.approx(expected, abs=1e-12)


@every_element
@every_material
def test_a_uniform_strain_leaves_an_inner_node_without_force(material, element):
    """The other half of the patch test: the stresses around an inner node balance."""
    points = np.array(list(itertools.product(range(3), repeat=3)), float)
    elements = [
        np.dot(corner, [9, 3, 1]) + np.cumsum([0, *order])
        for corner in itertools.product(range(2), repeat=3)
        for order in itertools.permutations([9, 3, 1])
    ]
    points[13] += [0.1, -0.2, 0.15]  # the one inner node
    body = Body(points, np.array(elements), material, element)
    B = np.eye(3) + np.random.default_rng(2).uniform(-0.3, 0.3, (3, 3))
    force = body.force(body.x0 @ B.T)
    assert np.abs(force[13]).max() < 100 * EPS * LAM
    assert np.abs(np.delete(force, 13, axis=0)).max() > 0.1


@every_material
def test_orientation_does_not_matter(material):
    """A tetrahedron listed with negative volume has the same forces and stiffness."""
    x0, elements = block()
    body, turned = Body(x0, elements, material), Body(x0, elements[:, [0, 1, 3, 2]], material)
    x = strained(body, 11)
    assert turned.force(x) == pytest.approx(body.force(x), abs=1e-13)
    assert turned.matrix(x) == pytest.approx(body.matrix(x), abs=1e-12)


@pytest.mark.parametrize("material", ["NeoHookean", "MooneyRivlin"])
def test_an_inverted_element_has_no_energy(material):
    """ln J of J < 0 is NaN, in the forces too: nothing hides it."""
    body = Body(*block(), material)
    x = body.x0 * [1.0, 1.0, -1.0]
    assert math.isnan(body.energy(x))
    assert np.isnan(body.force(x)).all()


@pytest.mark.parametrize("material", ["StVenantKirchhoff", "StableNeoHookean"])
def test_a_flat_element_has_forces_and_stiffness(material):
    """Nothing is divided by J = 0: K = -df/dx there too, to the accuracy of differences."""
    body = Body(*block(), material)
    x = body.x0 * [1.1, 0.9, 0.0]
    d = np.random.default_rng(3).uniform(-1.0, 1.0, x.shape)
    K = body.matrix(x)
    check_jacobian(body.force, -K, x, scale=0.1)
    assert body.product(x, d).ravel() == pytest.approx(K @ d.ravel(), abs=1e-12)


def test_volume_is_measured_over_five_tetrahedra_of_one_material_and_shear_around_edges():
    """On a mesh without order, in two materials; every tetrahedron counts with its volume once."""
    x0 = np.random.default_rng(0).uniform(size=(60, 3))
    elements = Delaunay(x0).simplices.astype(np.int64)
    is_stiff = x0[elements].mean(axis=1)[:, 0] > 0.5
    parameters = np.where(is_stiff, 1000.0, 1.0)[:, None] * [MU, LAM]
    points = points_of("smoothed", x0, elements, parameters)
    volumes = np.abs(shape_gradients(x0, elements)[1])
    for part in (points.shear, points.volume):
        assert part.sum(axis=0) == pytest.approx(volumes, rel=1e-12)
        stiff = (part @ is_stiff.astype(float)) / np.maximum(part.sum(axis=1), 1e-300)
        assert np.isin(stiff.round(12), (0.0, 1.0)).all()
    sizes = np.array([np.count_nonzero(row) for row in points.volume.toarray()])
    assert sizes[sizes > 0].min() >= PATCH_SIZE_MIN
    edges = {tuple(sorted(pair)) for e in elements for pair in itertools.combinations(e, 2)}
    assert (sizes == 0).sum() >= len(edges)  # those on the border of the materials count twice
