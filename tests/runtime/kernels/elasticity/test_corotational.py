import itertools
import math

import numpy as np
import pytest
import scipy.linalg
from scipy.spatial.transform import Rotation

from sofa_softctl.runtime.kernels.cholesky.block_matrix import BlockPattern
from sofa_softctl.runtime.kernels.elasticity import corotational as kernel
from sofa_softctl.runtime.kernels.elasticity.corotational import LARGE, POLAR, SMALL, SVD

EPS = np.finfo(float).eps
METHODS = {"small": SMALL, "large": LARGE, "polar": POLAR, "svd": SVD}
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
rotating_method = pytest.mark.parametrize("method", [LARGE, POLAR, SVD], ids=list(METHODS)[1:])


class Body:
    """Tetrahedra with stiffnesses, and what the kernels make of positions."""

    def __init__(self, x0, elements, method, young=1.0, poisson=0.3):
        self.x0, self.method = np.ascontiguousarray(x0), method
        self.elements = np.ascontiguousarray(elements)
        count = len(elements)
        self.gradients, signed = kernel.shape_gradients(self.x0, self.elements)
        self.volumes = np.abs(signed)
        self.young = np.broadcast_to(np.asarray(young, float), count)
        self.lam = self.young * poisson / ((1 + poisson) * (1 - 2 * poisson))
        self.mu = self.young / (2 * (1 + poisson))
        self.stiffness = np.stack([self.lam, self.mu], axis=1) * self.volumes[:, None]
        self.frames0 = np.empty((count, 3, 3))
        kernel.rest_frames(self.x0, self.elements, method, self.frames0)
        self.rotations, self.h = np.zeros((count, 3, 3)), np.zeros((count, 4, 3))

    def rotate(self, x):
        kernel.rotate(
            np.ascontiguousarray(x), self.x0, self.elements, self.method, self.frames0,
            self.gradients, self.rotations, self.h,
        )  # fmt: skip
        return self.rotations

    def force(self, x):
        x = np.ascontiguousarray(x)
        self.rotate(x)
        force = np.zeros_like(x)
        kernel.add_force(
            x, self.x0, x, 0.0, self.elements, self.rotations, self.h, self.stiffness, force
        )  # fmt: skip
        return force

    def force_and_product(self, x, v, factor):
        """Both in one pass."""
        self.rotate(x)
        out = np.zeros_like(x)
        geometry = (self.elements, self.rotations, self.h)
        kernel.add_force(x, self.x0, v, factor, *geometry, self.stiffness, out)
        return out

    def product(self, x, v, factor=1.0):
        self.rotate(x)
        out = np.zeros_like(v)
        kernel.add_product(v, self.elements, self.h, self.stiffness, factor, out)
        return out

    def matrix(self, x, factor=1.0):
        self.rotate(x)
        rows, cols = kernel.element_pairs(self.elements)
        pattern = BlockPattern.build(len(self.x0), rows, cols)
        values = np.zeros((len(pattern.indices), 3, 3))
        slots = pattern.slots(rows, cols).reshape(-1, 10)
        kernel.add_matrix(self.h, self.stiffness, factor, slots, values)
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


def motion(seed):
    """A random rotation, not small, and a translation."""
    random = np.random.default_rng(seed)
    return Rotation.random(random_state=seed).as_matrix(), random.uniform(-2.0, 2.0, 3)


def rigid_modes(x):
    """Three translations and three infinitesimal rotations, shape (6, 3 n)."""
    turns = [np.cross(axis, x) for axis in np.eye(3)]
    shifts = [np.broadcast_to(axis, x.shape) for axis in np.eye(3)]
    return np.array([mode.ravel() for mode in (*shifts, *turns)])


def test_the_gradient_of_an_affine_field_is_that_of_the_field():
    """sum_a u_a g_a^T = B for u = a + B x, and sum_a g_a = 0; rounding of a 3 x 3 inverse."""
    x0, elements = block()
    B = np.arange(9.0).reshape(3, 3)
    gradients, volumes = kernel.shape_gradients(x0, elements)
    u = x0 @ B.T + 5.0
    found = np.einsum("eai,eaj->eij", u[elements], gradients)
    assert found == pytest.approx(np.broadcast_to(B, found.shape), abs=1e-13)
    assert gradients.sum(axis=1) == pytest.approx(0.0, abs=1e-14)
    edges = x0[elements[:, 1:]] - x0[elements[:, :1]]
    assert volumes == pytest.approx(np.linalg.det(edges) / 6.0, rel=1e-14)


@rotating_method
@pytest.mark.parametrize("seed", range(5))
def test_a_rigid_motion_gives_no_force(method, seed):
    """x = R X + c: f = 0. Rounding: coordinates up to 5, E = 1, size 1, some tens of operations."""
    body = Body(*block(seed), method)
    R, c = motion(seed)
    x = body.x0 @ R.T + c
    assert np.abs(body.force(x)).max() < 200 * EPS
    assert body.rotations == pytest.approx(np.broadcast_to(R, (12, 3, 3)), abs=100 * EPS)


@rotating_method
def test_half_a_turn_gives_no_force(method):
    """The farthest that a rotation can be from none: R = diag(-1, -1, 1)."""
    body = Body(*block(), method)
    assert np.abs(body.force(body.x0 * [-1.0, -1.0, 1.0])).max() < 100 * EPS


def test_without_rotations_a_translation_alone_gives_no_force():
    """Method small: f = 0 for x = X + c, but not for a rotation."""
    body = Body(*block(), SMALL)
    R, c = motion(1)
    assert np.abs(body.force(body.x0 + c)).max() < 100 * EPS
    assert np.abs(body.force(body.x0 @ R.T)).max() > 0.1


def test_without_rotations_the_force_is_linear():
    """Method small: f = -K u for any u, here of the body's own size."""
    body = Body(*block(), SMALL)
    u = np.random.default_rng(2).uniform(-1.0, 1.0, body.x0.shape)
    expected = -body.matrix(body.x0) @ u.ravel()
    assert body.force(body.x0 + u).ravel() == pytest.approx(expected, abs=1e-14)


@rotating_method
def test_the_force_near_a_rigid_motion_is_stiffness_times_displacement(method):
    """f(R (X + u) + c) = -R K u + O(u^2): halving u quarters the error, log2 of the ratio is 2.

    0.1 leaves room for the cubic term at |u| = 1e-3 and for rounding, 1e-15 / 1e-7.
    """
    body = Body(*block(), method)
    K, (R, c) = body.matrix(body.x0), motion(3)
    direction = np.random.default_rng(3).uniform(-1.0, 1.0, body.x0.shape)
    errors = []
    for size in (2e-3, 1e-3):
        u = size * direction
        expected = -(K @ u.ravel()).reshape(-1, 3) @ R.T
        errors.append(np.abs(body.force((body.x0 + u) @ R.T + c) - expected).max())
    assert math.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


@rotating_method
def test_finite_differences_of_the_force_at_rest_give_the_stiffness(method):
    """-(f(X + e d) - f(X)) / e = K d + O(e) for every column, although K has no dR/dx: without
    strain that derivative has no effect. Order 1 in e: the log2 of the ratio is 1."""
    body = Body(*block(), method)
    K = body.matrix(body.x0)
    errors = []
    for step in (2e-4, 1e-4):
        columns = []
        for unit in np.eye(body.x0.size):
            columns.append(-body.force(body.x0 + step * unit.reshape(-1, 3)).ravel() / step)
        errors.append(np.abs(np.array(columns).T - K).max())
    assert errors[1] < 1e-3 * np.abs(K).max()
    assert math.log2(errors[0] / errors[1]) == pytest.approx(1.0, abs=0.05)


@every_method
def test_the_stiffness_is_symmetric_and_never_negative(method):
    """K = K^T and v^T K v >= 0 far from rest too; its least eigenvalue is 0 up to rounding."""
    body = Body(*block(), method, young=3.0)
    R, c = motion(4)
    x = body.x0 @ R.T + c + np.random.default_rng(4).uniform(-0.2, 0.2, body.x0.shape)
    K = body.matrix(x)
    assert np.abs(K - K.T).max() < 4 * EPS * np.abs(K).max()
    assert np.linalg.eigvalsh(K).min() > -100 * EPS * np.abs(K).max()


@every_method
def test_at_rest_only_rigid_modes_cost_nothing(method):
    """K has six zero eigenvalues, whose vectors are the rigid modes, and no other small one."""
    body = Body(*block(), method)
    K = body.matrix(body.x0)
    eigenvalues = np.linalg.eigvalsh(K)
    assert np.abs(eigenvalues[:6]).max() < 1e-14
    assert eigenvalues[6] > 1e-3
    assert np.abs(K @ rigid_modes(body.x0).T).max() < 1e-14


@every_method
@pytest.mark.parametrize("factor", [1.0, -0.03])
def test_the_matrix_does_what_the_product_does(method, factor):
    """factor K v, assembled and element by element, far from rest; rounding only."""
    body = Body(*block(), method, young=np.linspace(1.0, 9.0, 12))
    random = np.random.default_rng(5)
    x = body.x0 @ motion(5)[0].T + random.uniform(-0.2, 0.2, body.x0.shape)
    v = random.uniform(-1.0, 1.0, x.shape)
    assembled = body.matrix(x, factor) @ v.ravel()
    assert body.product(x, v, factor).ravel() == pytest.approx(assembled, abs=1e-13)


@every_method
def test_the_product_adds_to_what_is_there(method):
    """out += factor K v."""
    body = Body(*block(), method)
    v = np.random.default_rng(6).uniform(-1.0, 1.0, body.x0.shape)
    out = np.full_like(v, 7.0)
    body.rotate(body.x0)
    kernel.add_product(v, body.elements, body.h, body.stiffness, 2.0, out)
    assert out - 7.0 == pytest.approx(body.product(body.x0, v, 2.0), abs=1e-14)


@every_method
def test_one_pass_gives_force_and_product(method):
    """f + factor K v; rounding only."""
    body = Body(*block(), method)
    random = np.random.default_rng(8)
    x, v = body.x0 + random.uniform(-0.2, 0.2, body.x0.shape), random.normal(size=body.x0.shape)
    expected = body.force(x) + body.product(x, v, -0.3)
    assert body.force_and_product(x, v, -0.3) == pytest.approx(expected, abs=1e-13)


@every_method
def test_internal_forces_sum_to_zero(method):
    """sum_a f_a = 0 at any positions: linear momentum is conserved."""
    body = Body(*block(), method)
    x = body.x0 + np.random.default_rng(7).uniform(-0.3, 0.3, body.x0.shape)
    force = body.force(x)
    assert np.abs(force).max() > 0.01
    assert force.sum(axis=0) == pytest.approx(0.0, abs=1e-14)


def stress(strain, lam, mu):
    return lam * np.trace(strain) * np.eye(3) + 2.0 * mu * strain


def test_a_uniform_strain_gives_hookes_stress():
    """The patch test. For u = B X, e = (B + B^T) / 2 and s = lambda tr(e) I + 2 mu e, the virial
    of the nodal forces is -sum_a f_a X_a^T = V s, exactly (method small: linear)."""
    body = Body(*block(), SMALL, young=2.0, poisson=0.4)
    B = np.random.default_rng(8).uniform(-0.1, 0.1, (3, 3))
    force = body.force(body.x0 + body.x0 @ B.T)
    expected = body.volumes.sum() * stress((B + B.T) / 2.0, body.lam[0], body.mu[0])
    assert -force.T @ body.x0 == pytest.approx(expected, abs=1e-14)


def test_a_uniform_strain_leaves_inner_nodes_without_force():
    """The other half of the patch test: the stresses around an inner node balance."""
    points = np.array(list(itertools.product(range(3), repeat=3)), float)
    elements = []
    for corner in itertools.product(range(2), repeat=3):
        for order in itertools.permutations([9, 3, 1]):
            elements.append(np.dot(corner, [9, 3, 1]) + np.cumsum([0, *order]))
    points[13] += [0.1, -0.2, 0.15]  # the one inner node
    body = Body(points, np.array(elements), SMALL)
    B = np.random.default_rng(9).uniform(-0.1, 0.1, (3, 3))
    force = body.force(points + points @ B.T)
    assert np.abs(force[13]).max() < 1e-15
    assert np.abs(np.delete(force, 13, axis=0)).max() > 1e-3


@rotating_method
def test_a_turned_uniform_strain_gives_the_turned_stress(method):
    """x = R (I + e) X: virial V R s R^T up to the second order in e. The relative error therefore
    halves with e, log2 of the ratio is 1 (0.1: the next order at 1e-3)."""
    body = Body(*block(), method, poisson=0.4)
    R, c = motion(10)
    e = np.random.default_rng(10).uniform(-1.0, 1.0, (3, 3))
    errors = []
    for size in (2e-3, 1e-3):
        strain = size * (e + e.T) / 2.0
        x = body.x0 @ (R @ (np.eye(3) + strain)).T + c
        expected = body.volumes.sum() * R @ stress(strain, body.lam[0], body.mu[0]) @ R.T
        found = -body.force(x).T @ x
        errors.append(np.abs(found - expected).max() / np.abs(expected).max())
    assert errors[1] < 1e-2
    assert math.log2(errors[0] / errors[1]) == pytest.approx(1.0, abs=0.1)


@every_method
def test_each_element_has_its_own_youngs_modulus(method):
    """Two tetrahedra that do not touch: forces in the ratio of their moduli."""
    tetrahedron = np.vstack([np.zeros(3), np.eye(3)])
    x0 = np.vstack([tetrahedron, tetrahedron + 5.0])
    elements = np.arange(8).reshape(2, 4)
    body = Body(x0, elements, method, young=[1.0, 7.0])
    u = np.random.default_rng(11).uniform(-0.1, 0.1, (4, 3))
    force = body.force(x0 + np.vstack([u, u]))
    assert force[4:] == pytest.approx(7.0 * force[:4], abs=1e-14)


@every_method
def test_orientation_does_not_matter_at_rest(method):
    """A tetrahedron listed with negative volume has the same stiffness."""
    x0, elements = block()
    turned = elements[:, [0, 1, 3, 2]]
    K = Body(x0, elements, method).matrix(x0)
    assert Body(x0, turned, method).matrix(x0) == pytest.approx(K, abs=1e-14)


@pytest.mark.parametrize("method", [SMALL, POLAR, SVD], ids=["small", "polar", "svd"])
def test_orientation_does_not_matter_under_strain(method):
    """polar(P A) = P polar(A): changing the places of c and d changes no force. (The frame of
    `large` is made of a, b and c, so that there their order does matter.)"""
    x0, elements = block()
    turned = elements[:, [0, 1, 3, 2]]
    x = x0 @ motion(12)[0].T + np.random.default_rng(12).uniform(-0.2, 0.2, x0.shape)
    force = Body(x0, elements, method).force(x)
    assert Body(x0, turned, method).force(x) == pytest.approx(force, abs=1e-13)


@every_method
def test_the_frame_of_an_inverted_element(method):
    """x = diag(1, 1, -1) X turned: polar keeps the reflection, det R = -1; large makes a
    right-handed frame and svd a rotation, det R = 1."""
    body = Body(*block(), method)
    R = body.rotate((body.x0 * [1.0, 1.0, -1.0]) @ motion(13)[0].T)
    assert R @ R.transpose(0, 2, 1) == pytest.approx(
        np.broadcast_to(np.eye(3), R.shape), abs=100 * EPS
    )
    expected = -1.0 if method == POLAR else 1.0
    assert np.linalg.det(R) == pytest.approx(expected, abs=100 * EPS)


@pytest.mark.parametrize("stretch", [-1.0, -0.2, 1e-9], ids=["mirrored", "inverted", "flat"])
def test_svd_takes_the_rotation_nearest_to_an_inverted_element(stretch):
    """With A and A0 the edges (rows) now and at rest, F = A A0^-1 = U S V^T: the frame is
    Q R0, Q = U diag(1, 1, det(U V^T)) V^T with the least stretch last, R0 = polar(A0).

    Compared with LAPACK's singular values; rounding grows by 1 / (s2 + s3) < 1e2 here.
    """
    body = Body(*block(), SVD)
    turn = motion(14)[0]
    x = (body.x0 * [1.3, 0.8, stretch]) @ turn.T
    found = body.rotate(x)
    for e, element in enumerate(body.elements):
        A, A0 = (p[element[1:]] - p[element[0]] for p in (x, body.x0))
        U, _, Vt = np.linalg.svd(A @ np.linalg.inv(A0))
        Q = U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt
        R0 = scipy.linalg.polar(A0)[0]
        assert found[e] == pytest.approx((Q @ R0).T @ R0, abs=1e-12)


def polar_factor(A):
    """The kernel's: the rest frame of a tetrahedron whose edges are the rows of A."""
    frames = np.empty((1, 3, 3))
    x0 = np.vstack([np.zeros(3), A])
    kernel.rest_frames(x0, np.array([[0, 1, 2, 3]]), POLAR, frames)
    return frames[0]


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(
    "stretches",
    [(1.0, 1.0, 1.0), (3.0, 1.0, 0.2), (1e3, 1.0, 1e-3), (1.0, 0.5, 1e-10), (1.0, 1e-6, 1e-9)],
    ids=str,
)
def test_the_polar_factor_is_scipys(stretches, sign):
    """A = U S V^T has the orthogonal factor U V^T, also where A is nearly singular, and with
    det A < 0. Its sensitivity to rounding is 2 |A| / (s2 + s3), times some tens of operations."""
    tolerance = 100 * EPS * stretches[0] / (stretches[1] + stretches[2])
    for seed in range(20):
        U, V = Rotation.random(2, random_state=seed).as_matrix()
        A = sign * U @ np.diag(stretches) @ V.T
        assert polar_factor(A) == pytest.approx(scipy.linalg.polar(A)[0], abs=tolerance)


def test_the_polar_factor_does_not_feel_the_unit_of_length():
    """polar(c A) = polar(A), from nanometres to kilometres."""
    A = np.random.default_rng(15).uniform(-1.0, 1.0, (3, 3))
    for unit in (1e-9, 1e3):
        assert polar_factor(unit * A) == pytest.approx(polar_factor(A), abs=100 * EPS)


def test_each_pair_of_nodes_is_listed_once_an_element():
    """The ten pairs of a tetrahedron's four nodes, themselves included."""
    rows, cols = kernel.element_pairs(np.array([[10, 20, 30, 40]]))
    pairs = {frozenset(pair) for pair in zip(rows.tolist(), cols.tolist(), strict=True)}
    nodes = [10, 20, 30, 40]
    assert len(rows) == 10
    assert pairs == {frozenset(pair) for pair in itertools.product(nodes, repeat=2)}
