"""Gradients against finite differences, the adjoint against forward sensitivities."""

import numpy as np
import pytest

from sofa_softctl.identification.mechanism import adjoint
from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.parts import Body, Joint, Scaled, Spring
from sofa_softctl.identification.mechanism.start import _constraints, rest, settle
from sofa_softctl.identification.mechanism.variational import free, simulate
from sofa_softctl.identification.model.parameter import Parameter

DT, STEPS = 0.01, 60


@pytest.fixture(scope="module")
def drive(tree):
    """Two torques, one of which comes late, and feedback on two joints."""
    t = (np.arange(STEPS) + 0.5) * DT
    gain_u = np.zeros((5, 2))
    gain_u[0, 0], gain_u[3, 1], gain_u[1, 1] = 1.0, 0.5, 0.2
    return free(tree, STEPS)._replace(
        gain_u=gain_u,
        u=np.column_stack([np.sin(3 * t), np.cos(5 * t)]),
        fed=np.array([0, 2]),
        gain=np.array([[[2.0, 0.3], [0.1, 1.0]]]),
        target=np.column_stack([np.sin(t), 0.3 * np.sin(2 * t)]),
    )


HELD = ("a", "c")
"""Joints that stay where they are until the motion starts."""


def starts(tree, rho):
    """In equilibrium, on the rod: where that is depends on all parameters but the damping."""
    guess = np.zeros(5)
    guess[0] = 0.3
    return settle(tree, rho, guess, HELD).start


@pytest.fixture(scope="module")
def rho(rho):
    """With springs that leave one equilibrium near the guess."""
    return rho * [1.0, 13.0, 1.0, 1.0, 1.0, 1.0]


@pytest.fixture(scope="module", params=[0.5, 0.0], ids=["half and half", "the paper's split"])
def case(request, tree, rho, drive):
    """A cost of states, and the gradient of it."""
    shared = drive._replace(share=request.param)
    rng = np.random.default_rng(4)
    by_q, by_p = rng.normal(size=(2, STEPS + 1, 5))

    start = starts(tree, rho)

    def cost(rho_):
        motion = simulate(tree, rho_, starts(tree, rho_), shared, DT)
        return float((by_q * np.sin(motion.q)).sum() + (by_p * motion.p).sum()), motion

    value, motion = cost(rho)
    slopes = adjoint.Cost(value, by_q * np.cos(motion.q), by_p, np.zeros(6))
    found = adjoint.gradient(tree, rho, start, shared, motion, slopes)
    return cost, slopes, found, motion, shared


def test_gradients_are_those_of_central_differences_to_1e_6(case, rho):
    """Richardson's extrapolation of two central differences leaves rounding alone."""
    cost, slopes, found, _, _ = case
    for k in range(6):
        sides = []
        for h in (1e-3, 2e-3):
            e = h * np.eye(6)[k]
            ends = [cost(rho + s * e)[0] for s in (1, -1)]
            sides.append((ends[0] - ends[1]) / (2 * h))
        exact = (4.0 * sides[0] - sides[1]) / 3.0
        assert found.by_rho[k] == pytest.approx(exact, rel=1e-6, abs=1e-7 * abs(slopes.value))


def test_the_adjoint_is_the_forward_sensitivity_to_1e_10(case, tree, rho):
    _, slopes, found, motion, shared = case
    z_q, z_p = adjoint.sensitivities(tree, rho, starts(tree, rho), shared, motion)
    forward = np.einsum("kn,knr->r", slopes.by_q, z_q) + np.einsum("kn,knr->r", slopes.by_p, z_p)
    np.testing.assert_allclose(found.by_rho, forward, rtol=1e-10)


def test_linearised_steps_carry_sensitivities_and_inputs(case, tree, rho):
    """z_k+1 = A_k z_k + B_k, eq. (6); C_k is what a step's inputs change."""
    _, slopes, found, motion, shared = case
    z = np.concatenate(adjoint.sensitivities(tree, rho, starts(tree, rho), shared, motion), axis=1)
    for k in (0, 17, STEPS - 1):
        A, B, C = adjoint.linearise(tree, rho, shared, motion, k)
        np.testing.assert_allclose(A @ z[k] + B, z[k + 1], rtol=1e-10, atol=1e-10)
    last = np.concatenate([slopes.by_q[-1], slopes.by_p[-1]])
    np.testing.assert_allclose(last @ C, found.by_inputs[-1], rtol=1e-10)


def test_derivatives_by_inputs_are_those_of_central_differences(case, tree, rho):
    _, slopes, found, _, shared = case
    for k, column in ((0, 0), (20, 1), (40, 2), (59, 3)):
        ends = []
        for h in (1e-4, -1e-4):
            u, target = shared.u.copy(), shared.target.copy()
            (u if column < 2 else target)[k, column % 2] += h
            motion = simulate(tree, rho, starts(tree, rho), shared._replace(u=u, target=target), DT)
            # The cost's linear part at the point where its slopes were taken.
            ends.append((slopes.by_q * motion.q).sum() + (slopes.by_p * motion.p).sum())
        expected = (ends[0] - ends[1]) / 2e-4
        assert found.by_inputs[k, column] == pytest.approx(expected, rel=1e-5, abs=1e-9)


def test_feedback_may_have_other_gains_in_each_step(tree, rho, drive):
    """Derivatives by targets are those of central differences of the motion's end."""
    turns = 1.0 + np.sin(np.arange(STEPS))
    shared = drive._replace(gain=turns[:, None, None] * drive.gain)
    start = starts(tree, rho)
    motion = simulate(tree, rho, start, shared, DT)
    by_q, none = np.zeros((STEPS + 1, 5)), np.zeros((STEPS + 1, 5))
    by_q[-1] = [1.0, -2.0, 0.5, 3.0, -1.0]
    slopes = adjoint.Cost(0.0, by_q, none, np.zeros(6))
    found = adjoint.gradient(tree, rho, start, shared, motion, slopes)
    for k, column in ((1, 0), (20, 1), (32, 0)):
        ends = []
        for h in (1e-4, -1e-4):
            target = shared.target.copy()
            target[k, column] += h
            moved = simulate(tree, rho, start, shared._replace(target=target), DT)
            ends.append(float(by_q[-1] @ moved.q[-1]))
        expected = (ends[0] - ends[1]) / 2e-4
        assert found.by_inputs[k, 2 + column] == pytest.approx(expected, rel=1e-5, abs=1e-9)


def test_derivatives_of_multipliers_are_needed(case, tree, rho):
    """(7b) as printed, dq_k+1/dp_k = -M^-1, leaves the constraint: with it, h would change."""
    _, _, _, motion, shared = case
    A, _, _ = adjoint.linearise(tree, rho, shared, motion, 5)
    _, Dh = _constraints(tree, rho, motion.q[6])
    assert np.abs(Dh @ A[:5, 5:]).max() < 1e-12 * np.abs(A[:5, 5:]).max()


def test_a_hundred_parameters_have_gradients_too():
    """A chain of fifty rods, a stiffness and a mass each: two sweeps, the same answer."""
    count = 50
    joints = [
        Joint(f"j{k}", f"j{k - 1}" if k else "", axis=(0, 1, 0), moved=(0, 0, -0.02))
        for k in range(count)
    ]
    parameters = [Parameter(f"k{k}", 1.0 + 0.01 * k) for k in range(count)]
    parameters += [Parameter(f"m{k}", 0.01) for k in range(count)]
    rope = Mechanism(
        joints,
        [Body(f"j{k}", f"m{k}", (0, 0, -0.01), 1e-4) for k in range(count)],
        [Spring(f"j{k}", Scaled(f"k{k}", 0.5)) for k in range(count)],
        parameters=tuple(parameters),
    )
    rho = np.array([one.start for one in parameters])
    drive, start = free(rope, 20), rest(rope, np.full(count, 0.05))
    motion = simulate(rope, rho, start, drive, 2e-3)
    slopes = adjoint.Cost(0.0, np.cos(motion.q), np.zeros_like(motion.p), np.zeros(len(rho)))
    found = adjoint.gradient(rope, rho, start, drive, motion, slopes)
    z_q, _ = adjoint.sensitivities(rope, rho, start, drive, motion)
    forward = np.einsum("kn,knr->r", slopes.by_q, z_q)
    np.testing.assert_allclose(found.by_rho, forward, rtol=1e-9, atol=1e-9 * abs(forward).max())
