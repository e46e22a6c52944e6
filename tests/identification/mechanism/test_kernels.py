"""Derivatives of the Lagrangian and of constraints against central differences."""

import numpy as np
import pytest

from sofa_softctl.identification.mechanism import kernels
from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.parts import Body, Clamp, Joint, Pin, Rod, Spring

STEP = 1e-6
CLOSE = {"rtol": 0.0, "atol": 2e-8}
"""Of central differences with that step: rounding gives 1e-16 / 1e-6 of values near 10."""


def slope(function, x):
    """Central differences; the last axis runs over x."""
    moves = STEP * np.eye(len(x))
    parts = [(function(x + move) - function(x - move)) / (2.0 * STEP) for move in moves]
    return np.stack(parts, axis=-1)


@pytest.fixture(scope="module")
def state(tree):
    rng = np.random.default_rng(1)
    n = len(tree.coordinates)
    return rng.normal(size=n), rng.normal(size=n)


def lagrange(tree, rho, q, v):
    kinetic, potential = kernels.energies(tree.tree, rho, q, v)
    return kinetic - potential


def test_first_derivatives_are_those_of_the_energies(tree, rho, state):
    q, v = state
    L, joint = kernels.lagrangian(tree.tree, rho, q, v, False), tree.tree.joint
    np.testing.assert_allclose(L.q[joint], slope(lambda x: lagrange(tree, rho, x, v), q), **CLOSE)
    np.testing.assert_allclose(L.v[joint], slope(lambda x: lagrange(tree, rho, q, x), v), **CLOSE)


def test_second_derivatives_are_those_of_the_first(tree, rho, state):
    q, v = state
    joint = tree.tree.joint
    at = np.ix_(joint, joint)

    def first(name, q, v):
        return getattr(kernels.lagrangian(tree.tree, rho, q, v, False), name)[joint]

    L = kernels.lagrangian(tree.tree, rho, q, v, False)
    np.testing.assert_allclose(L.qq[at], slope(lambda x: first("q", x, v), q), **CLOSE)
    np.testing.assert_allclose(L.qv[at], slope(lambda x: first("q", q, x), v), **CLOSE)
    np.testing.assert_allclose(L.vv[at], slope(lambda x: first("v", q, x), v), **CLOSE)


def test_derivatives_by_parameters_hold_for_masses_springs_and_lengths(tree, rho, state):
    """A length is the place of a joint that does not move: its columns are those of q."""
    q, v = state
    joint, length = tree.tree.joint, tree.frame("length")
    L = kernels.lagrangian(tree.tree, rho, q, v, True)
    by_q, by_v = L.q_rho[joint].copy(), L.v_rho[joint].copy()
    column = [one.name for one in tree.parameters].index("length")
    by_q[:, column] += L.qq[joint, length]
    by_v[:, column] += L.qv[length, joint]

    def first(name, rho):
        return getattr(kernels.lagrangian(tree.tree, rho, q, v, False), name)[joint]

    np.testing.assert_allclose(by_q, slope(lambda x: first("q", x), rho), **CLOSE)
    np.testing.assert_allclose(by_v, slope(lambda x: first("v", x), rho), **CLOSE)


@pytest.mark.parametrize(
    "constraint",
    [
        Pin("three", (0.1, 0.2, 0.3)),
        Pin("three", (0.1, 0.2, 0.3), "two", (0.3, 0.0, 0.1)),
        Clamp("three", (0.1, 0.2, 0.3), "side", (0.3, 0.0, 0.1)),
        Rod("three", (0.1, 0.2, 0.3), 1.0, "side", (0.0, 0.4, 0.1)),
        Rod("three", (0.1, 0.2, 0.3), 1.0, "one", (0.0, 0.4, 0.1)),
    ],
    ids=["pin to the world", "pin to a parent", "clamp", "rod across", "rod to a parent"],
)
def test_constraints_have_exact_first_and_second_derivatives(constraint):
    joints = (
        Joint("one", axis=(1, 0.2, 0), moved=(0.1, 0.0, 0.2)),
        Joint("two", "one", axis=(0, 1, 0.3), sliding=True, moved=(0.4, 0.0, 0.2)),
        Joint("three", "two", axis=(0.3, 0.1, 1), moved=(0.4, 0.1, 0.2)),
        Joint("side", "one", axis=(0.3, 1.1, 1), moved=(-0.4, 0.1, 0.2)),
    )
    loop = Mechanism(joints, [Body(one.name, 1.0) for one in joints], constraints=[constraint])
    tree, rho = loop.tree, np.zeros(0)
    rows, rng = len(tree.closed.kind), np.random.default_rng(2)
    q, weights = rng.normal(size=4), rng.normal(size=rows)

    def measured(q):
        h, Dh = np.empty(rows), np.empty((rows, 4))
        kernels.measure(tree, tree.closed, rho, kernels.frames(tree, rho, q), h, Dh)
        return h, Dh

    np.testing.assert_allclose(measured(q)[1], slope(lambda x: measured(x)[0], q), **CLOSE)
    curved = np.zeros((4, 4))
    kernels.add_curvature(tree, kernels.frames(tree, rho, q), weights, curved)
    np.testing.assert_allclose(curved, slope(lambda x: weights @ measured(x)[1], q), **CLOSE)


def test_a_mass_on_a_slide_weighs_what_it_should():
    lift = Mechanism([Joint("lift", sliding=True)], [Body("lift", 2.0)], [Spring("lift", 5.0)])
    L = kernels.lagrangian(lift.tree, np.zeros(0), np.array([0.3]), np.array([0.7]), False)
    assert L.q[0] == pytest.approx(-2.0 * 9.81 - 5.0 * 0.3)
    assert L.v[0] == pytest.approx(2.0 * 0.7)
    kinetic, potential = kernels.energies(lift.tree, np.zeros(0), np.array([0.3]), np.array([0.7]))
    assert kinetic == pytest.approx(0.5 * 2.0 * 0.49)
    assert potential == pytest.approx(2.0 * 9.81 * 0.3 + 0.5 * 5.0 * 0.09)
