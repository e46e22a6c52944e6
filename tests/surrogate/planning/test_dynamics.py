"""The projected step: its derivatives, its balance, its energy."""

import numpy as np
import pytest
import scipy.sparse

from sofa_softctl.surrogate.costs.dynamics import Steps
from sofa_softctl.surrogate.costs.line_dynamics import LineDynamics
from sofa_softctl.surrogate.grid.embedding import Layout


def differences(function, at, step=1e-6):
    """Central differences, error 1e-10 of the third derivative; last axis: component of `at`."""
    columns = []
    for i in range(at.shape[1]):
        e = np.zeros(at.shape[1])
        e[i] = step
        columns.append((function(at + e) - function(at - e)) / (2 * step))
    return np.stack(columns, axis=-1)


def residual(dynamics, a_next, a, a_before, u):
    jets = [dynamics.embedding.at(points) for points in (a_next, a, a_before)]
    return dynamics.residual(Steps(a_next, a, u, *jets))


def test_the_toy_is_an_equilibrium_map(chain):
    """dW/da = -s L_a^T a, and its gradients are those of its values."""
    a = np.random.default_rng(1).normal(size=(5, 2))
    jet = chain.at(a)
    pull = -chain.force * np.einsum("mji,mj->mi", jet.gradient[:, chain.layout.length], a)
    force = differences(lambda p: np.array([chain.energy(each) for each in p]), a)
    assert force == pytest.approx(pull, abs=1e-8)
    assert differences(lambda p: chain.at(p).value, a) == pytest.approx(jet.gradient, abs=1e-9)
    w = np.random.default_rng(2).normal(size=jet.value.shape)
    contracted = differences(lambda p: np.einsum("mi,mij->mj", w, chain.at(p).gradient), a)
    assert contracted == pytest.approx(chain.curvature(a, w), abs=1e-8)


STRESS = np.random.default_rng(8).normal(size=(4, 3, 3))
"""A stress stiffness of three lines: at rest, and by each coordinate."""


@pytest.mark.parametrize("stress", [None, lambda: STRESS])
@pytest.mark.parametrize("damping", [(0.0, 0.0), (3.0, 0.1)])
def test_derivatives_of_the_residual_are_its_differences(
    make_chain, make_dynamics, damping, stress
):
    chain = make_chain(d=3)
    mass_damping, stiffness_damping = damping
    dynamics = make_dynamics(
        chain,
        mass_damping=mass_damping,
        stiffness_damping=stiffness_damping,
        stress_stiffness=stress,
    )
    rng = np.random.default_rng(3)
    a_next, a, a_before, u = (rng.normal(size=(6, 3)) for _ in range(4))
    found = dynamics.linearise(Steps(a_next, a, u, *(chain.at(p) for p in (a_next, a, a_before))))
    assert found.residual == pytest.approx(residual(dynamics, a_next, a, a_before, u))
    # Residuals are about 1000 (dt = 0.02), so differences are off by 1e-16 * 1000 / 1e-6 = 1e-7.
    by_next = differences(lambda p: residual(dynamics, p, a, a_before, u), a_next)
    by_now = differences(lambda p: residual(dynamics, a_next, p, a_before, u), a)
    by_before = differences(lambda p: residual(dynamics, a_next, a, p, u), a_before)
    by_input = differences(lambda p: residual(dynamics, a_next, a, a_before, p), u)
    assert found.by_next == pytest.approx(by_next, abs=1e-5)
    assert found.by_now == pytest.approx(by_now, abs=1e-5)
    assert found.by_before == pytest.approx(by_before, abs=1e-5)
    assert found.by_input == pytest.approx(by_input, abs=1e-5)


def test_stress_stiffness_takes_no_part_in_damping(make_chain, make_dynamics):
    """Without inertia, what damps is (K - S) v: S(a+) = S_0 + sum_j a+_j S_j is taken away."""
    chain = make_chain(d=3)
    rng = np.random.default_rng(9)
    a_next, a, u = (rng.normal(size=(1, 3)) for _ in range(3))
    with_, without = (
        residual(
            make_dynamics(chain, stiffness_damping=0.1, stress_stiffness=stress), a_next, a, a, u
        )
        for stress in (lambda: STRESS, None)
    )
    S = STRESS[0] + sum(each * part for each, part in zip(a_next[0], STRESS[1:], strict=True))
    dt = 0.02
    assert without - with_ == pytest.approx(0.1 / dt * (a_next - a) @ S.T)


def test_the_right_hand_side_is_the_projected_sum_of_all_forces(chain, make_dynamics):
    """Without inertia, r is the slope of W + s u . L: no elastic force was needed for it."""
    dynamics = make_dynamics(chain, dt=1e6)
    rng = np.random.default_rng(4)
    a, u = rng.normal(size=(5, 2)), rng.normal(size=(5, 2))

    def potential(points):
        L = chain.at(points).value[:, chain.layout.length]
        return np.array([chain.energy(p) for p in points]) + chain.force * (u * L).sum(axis=1)

    assert residual(dynamics, a, a, a, u) == pytest.approx(differences(potential, a), abs=1e-8)


def test_a_vector_of_masses_and_a_matrix_are_the_same(chain, make_dynamics):
    masses = np.random.default_rng(5).uniform(0.5, 1.0, 3 * chain.nodes)
    rng = np.random.default_rng(6)
    a_next, a, a_before, u = (rng.normal(size=(4, 2)) for _ in range(4))
    jets = [chain.at(p) for p in (a_next, a, a_before)]
    for sparse in (scipy.sparse.diags_array(masses).tocsr(), scipy.sparse.diags(masses).tocsc()):
        here = make_dynamics(chain, mass=masses).linearise(Steps(a_next, a, u, *jets))
        there = make_dynamics(chain, mass=sparse).linearise(Steps(a_next, a, u, *jets))
        assert there.residual == pytest.approx(here.residual)
        assert there.by_next == pytest.approx(here.by_next)
        assert there.by_before == pytest.approx(here.by_before)


def test_steps_in_a_batch_do_not_know_of_each_other(chain, make_dynamics):
    dynamics = make_dynamics(chain)
    rng = np.random.default_rng(7)
    a_next, a, a_before, u = (rng.normal(size=(4, 2)) for _ in range(4))
    together = residual(dynamics, a_next, a, a_before, u)
    for k in range(4):
        one = slice(k, k + 1)
        alone = residual(dynamics, a_next[one], a[one], a_before[one], u[one])
        assert alone[0] == pytest.approx(together[k], rel=1e-12)


def test_recover_gives_the_nodes(chain, make_dynamics):
    """All links hang straight down at a = 0."""
    x = make_dynamics(chain).recover(np.zeros((1, 2)))
    assert x.shape == (1, 4, 3)
    assert x[0, :, 1] == pytest.approx([-0.1, -0.2, -0.3, -0.4])


def test_what_does_not_fit_is_refused_with_both_numbers(chain):
    mass = np.ones(12)
    with pytest.raises(ValueError, match=r"layout must have a line for each of 2 .* Got: 3"):
        LineDynamics(chain, Layout(4, 3), mass, 0.01)
    with pytest.raises(ValueError, match=r"layout must have 17 rows, as the map. Got: 14"):
        LineDynamics(chain, Layout(4, 2), mass, 0.01)
    with pytest.raises(ValueError, match=r"shape \(12,\) or \(12, 12\). Got: \(4,\)"):
        LineDynamics(chain, chain.layout, np.ones(4), 0.01)
    with pytest.raises(ValueError, match="dt and force must be positive"):
        LineDynamics(chain, chain.layout, mass, 0.0)


def test_a_layout_finds_rows_by_name():
    layout = Layout(nodes=2, lines=3, points=("tip", "laser"))
    assert layout.size == 15
    assert layout.point("laser") == (12, 13, 14)
    assert layout.node(1) == (3, 4, 5)
    with pytest.raises(ValueError, match=r"no point 'tap'. Points: tip, laser\."):
        layout.point("tap")
    with pytest.raises(ValueError, match="from 0 to 1. Got: 2"):
        layout.node(2)
