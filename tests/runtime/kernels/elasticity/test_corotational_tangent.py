"""The exact tangent of corotational tetrahedra, by finite differences."""

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sofa_softctl.runtime.kernels.cholesky.block_matrix import BlockPattern
from sofa_softctl.runtime.kernels.elasticity import corotational as kernel
from sofa_softctl.runtime.kernels.elasticity import corotational_tangent as tangent

METHODS = {
    "small": kernel.SMALL,
    "large": kernel.LARGE,
    "polar": kernel.POLAR,
    "svd": kernel.SVD,
    "gradient": kernel.GRADIENT,
}
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


class Body:
    """A turned and deformed cube of tetrahedra."""

    def __init__(self, method, seed=0):
        rng = np.random.default_rng(seed)
        self.method = method
        self.x0 = np.array(list(itertools.product(range(3), repeat=3)), float)
        strides = np.array([9, 3, 1])
        self.elements = np.array(
            [
                strides @ corner + np.cumsum([0, *order])
                for corner in itertools.product(range(2), repeat=3)
                for order in itertools.permutations(strides)
            ]
        )
        self.gradients, volumes = kernel.shape_gradients(self.x0, self.elements)
        self.stiffness = np.abs(volumes)[:, None] * [[2.0, 1.0]]
        self.frames0 = np.empty((len(self.elements), 3, 3))
        kernel.rest_frames(self.x0, self.elements, method, self.frames0)
        turn = Rotation.random(random_state=seed).as_matrix()
        self.x = (self.x0 + 0.1 * rng.normal(size=self.x0.shape)) @ turn.T

    def force(self, x):
        self.rotations, self.h = np.zeros_like(self.frames0), np.zeros((len(self.elements), 4, 3))
        kernel.rotate(
            x, self.x0, self.elements, self.method, self.frames0, self.gradients,
            self.rotations, self.h,
        )  # fmt: skip
        force = np.zeros_like(x)
        geometry = (self.elements, self.rotations, self.h)
        kernel.add_force(x, self.x0, x, 0.0, *geometry, self.stiffness, force)
        return force

    def turning(self):
        self.force(self.x)
        B, G = np.empty((2, len(self.elements), 4, 3, 3))
        tangent.tangent_factors(
            self.x, self.x0, self.elements, self.method, self.frames0, self.rotations, self.h,
            self.stiffness, B, G,
        )  # fmt: skip
        return B, G


def turning_matrix(body):
    """What turning rotations add to the stiffness: its symmetric part and the other one."""
    B, G = body.turning()
    pairs = kernel.element_pairs(body.elements)
    pattern = BlockPattern.build(len(body.x), *pairs)
    slots = pattern.slots(*pairs).reshape(-1, 10)
    parts = np.zeros((2, len(pattern.indices), 3, 3))
    for transposed, values in zip((1.0, -1.0), parts, strict=True):
        tangent.add_turning_matrix(B, G, transposed, 1.0, slots, values)
    return pattern.to_csr(parts[0], skew=parts[1])


@every_method
def test_the_exact_product_is_the_derivative_of_the_forces(method):
    """Central differences with h = 1e-5: h^2 and rounding over h leave 1e-9 of the largest."""
    body = Body(method)
    v = np.random.default_rng(1).normal(size=body.x.shape)
    h = 1e-5
    expected = -(body.force(body.x + h * v) - body.force(body.x - h * v)) / (2.0 * h)
    found = (turning_matrix(body) @ v.ravel()).reshape(v.shape)
    kernel.add_product(v, body.elements, body.h, body.stiffness, 1.0, found)
    assert found == pytest.approx(expected, abs=1e-8 * np.abs(expected).max())


def test_only_rotations_of_the_gradient_leave_a_symmetric_tangent():
    """The antisymmetric part, relative to the forces' derivative: rounding for the gradient's polar
    decomposition, more than a thousandth for SOFA's methods."""
    for name, method in METHODS.items():
        body = Body(method)
        K = turning_matrix(body)
        share = abs(K - K.T).max() / 2.0
        assert share < 1e-13 if name in ("small", "gradient") else share > 1e-3
