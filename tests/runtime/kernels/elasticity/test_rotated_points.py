"""Stiffness in rotated frames beside the one of tangents."""

import numpy as np
import pytest

from sofa_softctl.runtime.kernels.elasticity import corotational_energy, rotated_points
from sofa_softctl.runtime.kernels.elasticity import strain_points as kernel

FIRST = np.array([0, 4, 11, 15])
"""Stencils of three points: 4, 7 and 4 of ten nodes."""
FACTOR = -0.7


@pytest.fixture
def points():
    """Stencils, deformation gradients far from small, their rotations, parameters and tangents."""
    random = np.random.default_rng(0)
    nodes = np.concatenate([np.sort(random.permutation(10)[:count]) for count in np.diff(FIRST)])
    gradients = random.normal(size=(len(nodes), 3))
    for start, end in zip(FIRST[:-1], FIRST[1:], strict=True):
        gradients[start:end] -= gradients[start:end].mean(axis=0)
    F = np.eye(3) + 0.4 * random.normal(size=(3, 3, 3))
    F[np.linalg.det(F) < 0.0] *= -1.0
    rotations, tangents = np.empty_like(F), np.empty((3, 9, 9))
    corotational_energy.rotate(F, rotations)
    parameters = np.array([[2.0, 0.0], [0.0, 3.0], [1.0, 5.0]])  # shear, volume, both
    corotational_energy.tangents(F, rotations, parameters, 1.0, False, tangents)
    return nodes, gradients, rotations, parameters, tangents


def test_products_are_those_of_the_tangents(points):
    """The same sums in another order: 1e-13."""
    nodes, gradients, rotations, parameters, tangents = points
    v = np.random.default_rng(1).normal(size=(10, 3))
    out, expected = np.zeros_like(v), np.zeros_like(v)
    stencils = FIRST, nodes, gradients
    rotated_points.add_product(v, *stencils, rotations, parameters, FACTOR, out)
    kernel.add_product(v, *stencils, tangents, FACTOR, expected)
    assert out == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("is_transposed", [False, True])
def test_matrices_are_those_of_the_tangents(points, is_transposed):
    """Each pair in a block of its own, stored as it is or transposed: 1e-13."""
    nodes, gradients, rotations, parameters, tangents = points
    count = len(kernel.stencil_pairs(FIRST, nodes)[0])
    slots = np.arange(count)
    if is_transposed:
        slots = ~slots
    out, expected = np.zeros((count, 3, 3)), np.zeros((count, 3, 3))
    stencils = FIRST, gradients
    rotated_points.add_matrix(*stencils, rotations, parameters, FACTOR, slots, out)
    kernel.add_matrix(*stencils, tangents, FACTOR, slots, expected)
    assert out == pytest.approx(expected, abs=1e-13)
    assert np.abs(out).max() > 0.1
