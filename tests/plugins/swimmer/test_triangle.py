"""Closed-form layer potentials of one triangle against quadrature, limits and differences."""

import math

import numpy as np
import pytest
from scipy.integrate import dblquad
from softctl_swimmer.flow.layers import layer_gradients, layer_potentials
from softctl_swimmer.flow.tables import triangle_tables

CORNERS = np.array([[0.1, 0.0, 0.2], [1.1, 0.2, -0.1], [0.3, 0.9, 0.4]])
HATS = np.eye(3)[None]  # densities: the hat function of each corner
HATS.setflags(write=False)  # as a surface's, so that one compiled version does for both
TABLES = triangle_tables(CORNERS, np.array([[0, 1, 2]]))
NORMAL = TABLES.normals[0]


def potentials(*points):
    return layer_potentials(TABLES, np.array(points, dtype=float), HATS)


def on_triangle(*barycentric):
    return np.array(barycentric) @ CORNERS


def by_quadrature(x, corner, double):
    def integrand(v, u):
        y = on_triangle(1 - u - v, u, v)
        R = np.linalg.norm(y - x)
        kernel = NORMAL @ (x - y) / R**3 if double else 1 / R
        return (1 - u - v, u, v)[corner] * kernel * TABLES.double_areas[0] / (4 * math.pi)

    return dblquad(integrand, 0, 1, 0, lambda u: 1 - u, epsabs=1e-12)[0]


def in_the_plane_by_polar_quadrature(x, corner):
    """Single layer at a point of the triangle: one fan from the point, regular in polar terms."""
    total = 0.0
    s, w = np.polynomial.legendre.leggauss(60)
    s, w = (s + 1) / 2, w / 2
    for k in range(3):
        p, q = CORNERS[k] - x, CORNERS[(k + 1) % 3] - x
        area = np.linalg.norm(np.cross(p, q))
        if area < 1e-14:
            continue
        for one, weight in zip(s, w, strict=True):  # y = x + r ((1 - s) p + s q), dA = area r
            along = (1 - one) * p + one * q
            ends = [hat(x)[corner], hat(x + along)[corner]]
            total += weight * area * np.mean(ends) / np.linalg.norm(along)
    return total / (4 * math.pi)


def hat(y):
    return np.linalg.lstsq(CORNERS.T, y, rcond=None)[0]


def test_layers_off_the_triangle_agree_with_adaptive_quadrature():
    """To 1e-11, what the quadrature is asked for, beside, above and below the triangle."""
    for x in ([0.5, 0.3, 0.9], [0.4, 0.2, -0.6], [1.6, 1.2, 0.1], [-0.5, 0.1, 0.3]):
        single, double = potentials(x)
        for k in range(3):
            assert single[0, k] == pytest.approx(by_quadrature(x, k, False), abs=1e-11)
            assert double[0, k] == pytest.approx(by_quadrature(x, k, True), abs=1e-11)


@pytest.mark.parametrize(
    "where", [(1 / 3, 1 / 3, 1 / 3), (0.1, 0.2, 0.7), (0.5, 0.5, 0), (0.2, 0, 0.8), (1, 0, 0)]
)
def test_single_layer_on_the_triangle_its_edges_and_corners_agrees_with_polar_quadrature(where):
    """To 1e-6: Gauss' rule near a corner of the fan; the double layer has principal value zero."""
    x = on_triangle(*where)
    single, double = potentials(x)
    assert double == pytest.approx(np.zeros((1, 3)), abs=0)
    for k in range(3):
        assert single[0, k] == pytest.approx(in_the_plane_by_polar_quadrature(x, k), rel=1e-6)


@pytest.mark.parametrize("where", [(1 / 3, 1 / 3, 1 / 3), (0.5, 0.5, 0), (1, 0, 0), (0, 0.3, 0.7)])
def test_single_layer_is_continuous_across_the_triangle_down_to_rounding(where):
    """It is Lipschitz up to a logarithm: a change below 100 d for any small distance d."""
    x = on_triangle(*where)
    exact, _ = potentials(x)
    for d in (1e-4, 1e-7, 1e-10, 1e-13):
        for side in (1, -1):
            near, _ = potentials(x + side * d * NORMAL, x + d * np.array([0.6, -0.8, 0.0]))
            assert np.abs(near - exact).max() < 100 * d + 1e-15


def test_double_layer_jumps_by_the_density_across_the_triangle():
    """+-1/2 of the hat function on either side, to the distance of 1e-9 (times a logarithm)."""
    x = on_triangle(0.2, 0.5, 0.3)
    _, double = potentials(x + 1e-9 * NORMAL, x - 1e-9 * NORMAL)
    assert double[0] == pytest.approx([0.1, 0.25, 0.15], abs=1e-7)
    assert double[1] == pytest.approx([-0.1, -0.25, -0.15], abs=1e-7)


def test_far_away_the_layers_become_point_sources_with_rounding_of_eps_times_distance_squared():
    """Relative error of the moment expansion: 1 / R; rounding: eps (R / l)^2, 2e-10 at 1e3."""
    centre, area = CORNERS.mean(axis=0), TABLES.double_areas[0] / 2
    direction = np.array([0.48, 0.6, 0.64])
    for distance in (1e2, 1e3):
        x = centre + distance * direction
        single, double = potentials(x)
        assert single.sum() == pytest.approx(area / distance / (4 * math.pi), rel=1 / distance**2)
        dipole = area * (NORMAL @ direction) / distance**2 / (4 * math.pi)
        assert double.sum() == pytest.approx(dipole, rel=10 / distance**2)
        exact = [by_quadrature(x, k, True) for k in range(3)]
        assert double[0] == pytest.approx(exact, rel=1e-15 * distance**2)


def test_gradients_agree_with_central_differences():
    """Step 1e-5: truncation 1e-10 times third derivatives of the order of 10, so 1e-8."""
    points = np.array([[0.5, 0.3, 0.5], [0.4, 0.2, -0.2], [1.6, 1.2, 0.1], [0.1, 3.0, 1.0]])
    single, double = layer_gradients(TABLES, points, HATS)
    for i, step in enumerate(1e-5 * np.eye(3)):
        ahead, behind = potentials(*(points + step)), potentials(*(points - step))
        for gradient, plus, minus in zip((single, double), ahead, behind, strict=True):
            assert gradient[:, i] == pytest.approx((plus - minus) / 2e-5, abs=1e-8)


def test_single_layer_gradient_jumps_like_its_density():
    """Normal derivative on both sides: -+1/2 of the hat plus a common part (zero: flat)."""
    x = on_triangle(0.2, 0.5, 0.3)
    single, _ = layer_gradients(TABLES, np.array([x + 1e-9 * NORMAL, x - 1e-9 * NORMAL]), HATS)
    jump = np.einsum("i,nic->nc", NORMAL, single)
    assert jump[0] == pytest.approx([-0.1, -0.25, -0.15], abs=1e-7)
    assert jump[1] == pytest.approx([0.1, 0.25, 0.15], abs=1e-7)
