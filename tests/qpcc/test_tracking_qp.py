import numpy as np
import pytest

from sofa_softctl.qpcc.problem.problem import InverseProblem, build_qp


def random_problem(seed=0, n_e=3, n_a=5, **changes):
    """A problem whose W comes from one compliance matrix, with limits of every kind."""
    rng = np.random.default_rng(seed)
    R = rng.normal(size=(n_e + n_a, 2 * (n_e + n_a)))
    W = R @ R.T
    fields = {
        "W_ea": W[:n_e, n_e:],
        "W_aa": W[n_e:, n_e:],
        "delta_e_free": rng.normal(size=n_e),
        "delta_a_free": rng.normal(size=n_a),
        "effector_weight": rng.uniform(0.5, 2.0, n_e),
        "effort_min": np.zeros(n_a),
        "displacement_max": np.full(n_a, 3.0),
        "displacement_rate": np.array([2.0, 2.0, *[np.inf] * (n_a - 2)]),
        "energy": 0.01,
    }
    return InverseProblem(**(fields | changes))


FREE = {"effort_min": -np.inf, "displacement_max": np.inf, "displacement_rate": np.inf}


def hessian(problem):
    """The Hessian in the problem's own units, from the scaled QP of a problem without limits."""
    built = build_qp(problem)
    d = built.effort_scale / size(problem)
    return built.qp.H / np.outer(d, d)


def size(problem):
    """The one length that all lengths are divided by, if there are no limits."""
    return np.linalg.norm(problem.effector_weight * problem.delta_e_free)


def _reference_hessian(problem, rows=slice(None)):
    """Q + energy ||Q|| / ||W_E|| W_E, from the formulas, entry by entry."""
    n_e, n_a = problem.W_ea.shape
    Q = np.zeros((n_a, n_a))
    for i in range(n_a):
        for j in range(n_a):
            for k in range(n_e):
                w = problem.effector_weight[k]
                Q[i, j] += w * problem.W_ea[k, i] * w * problem.W_ea[k, j]
    W_E = np.zeros((n_a, n_a))
    covered = np.arange(n_a)[rows]
    for i in covered:
        for j in covered:
            W_E[i, j] = problem.W_aa[i, j]
    norm_Q = max(sum(abs(Q[i, j]) for j in range(n_a)) for i in range(n_a))
    norm_W = max(sum(abs(W_E[i, j]) for j in range(n_a)) for i in range(n_a))
    s = norm_Q / norm_W if norm_W > 1e-14 else 0.0
    return Q + problem.energy * s * W_E


@pytest.mark.parametrize("energy", [0.0, 1e-3, 1.0])
def test_the_hessian_is_tracking_plus_scaled_energy(energy):
    """Against the double sums of the definition; 1e-13: rounding of 5-term sums."""
    problem = random_problem(energy=energy, **FREE)
    assert hessian(problem) == pytest.approx(_reference_hessian(problem), rel=1e-13)


def test_energy_may_cover_some_actuators_only():
    covered = np.array([True, False, True, True, False])
    problem = random_problem(energy_rows=covered, **FREE)
    assert hessian(problem) == pytest.approx(_reference_hessian(problem, covered), rel=1e-13)


@pytest.mark.parametrize(("scale", "counts"), [(2e-14, True), (0.9e-14, False)])
def test_energy_does_not_count_if_the_compliance_is_nothing(scale, counts):
    """SoftRobots.Inverse drops the term at a norm of 1e-14."""
    problem = random_problem(W_aa=scale * np.eye(5))
    assert build_qp(problem).energy_matrix.any() == counts


def test_the_scaled_hessian_has_a_unit_diagonal_and_the_rows_a_unit_norm():
    """1e-14: one square root and two products."""
    qp = build_qp(random_problem()).qp
    assert qp.H.diagonal() == pytest.approx(np.ones(5), rel=1e-14)
    assert np.linalg.norm(qp.A, axis=1) == pytest.approx(np.ones(5), rel=1e-14)


def test_the_gradient_is_the_derivative_of_the_tracking_cost():
    """cost / size^2 is what the QP minimises: central difference, exact for a quadratic but for
    rounding, 1e-16 / 1e-4 a step."""
    problem = random_problem(energy=0.0, **FREE)
    built = build_qp(problem)

    def cost(x):
        error = problem.W_ea @ (built.effort_scale * x) + problem.delta_e_free
        return 0.5 * np.sum((problem.effector_weight * error) ** 2) / size(problem) ** 2

    step = 1e-4 * np.eye(5)
    gradient = [(cost(h) - cost(-h)) / 2e-4 for h in step]
    assert built.qp.g == pytest.approx(np.array(gradient), abs=1e-11)


def test_only_limited_displacements_are_rows():
    problem = random_problem(displacement_max=[1.0, np.inf, np.inf, 2.0, np.inf])
    assert build_qp(problem).rows.tolist() == [0, 1, 3]  # 1 has a rate
    free = random_problem(**FREE)
    assert build_qp(free).qp.A.shape == (0, 5)


def test_limits_of_the_qp_are_the_limits_of_the_problem():
    """Back in the problem's units; 1e-13: rounding of a product and a quotient."""
    problem = random_problem()
    built = build_qp(problem)
    low, high = built.qp.lower, built.qp.upper
    assert (low[:5] == 0.0).all() and (high[:5] == np.inf).all()
    upper = high[5:] * built.displacement_scale + problem.delta_a_free
    assert upper == pytest.approx(np.minimum(3.0, [2.0, 2.0, 3.0, 3.0, 3.0]), rel=1e-13)
    lower = low[5:7] * built.displacement_scale[:2] + problem.delta_a_free[:2]
    assert lower == pytest.approx([-2.0, -2.0], rel=1e-13)


def test_units_do_not_matter():
    """Other units of effort and of length give the very same QP: powers of two are exact.

    Effort times displacement stays an energy. The energy term is left out: by definition, its norms
    add up rows of different units.
    """
    problem = random_problem(energy=0.0)
    effort = 2.0 ** np.array([-30, 0, 7, 20, -3])  # of the old unit, in each new one
    length = 2.0**-10
    other = random_problem(
        energy=0.0,
        W_ea=problem.W_ea * effort * length,
        W_aa=problem.W_aa * effort[:, None] * effort,
        delta_e_free=problem.delta_e_free * length,
        delta_a_free=problem.delta_a_free * effort,
        displacement_max=problem.displacement_max * effort,
        displacement_rate=problem.displacement_rate * effort,
    )
    one, two = build_qp(problem).qp, build_qp(other).qp
    for name in ("H", "g", "A", "lower", "upper"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name


def test_a_column_of_rounding_is_no_effect():
    """1e-17 beside 1: without care the QP would ask for efforts of 1e17."""
    W_ea = np.array([[1.0, 1e-17], [0.0, 3e-17]])
    problem = InverseProblem(
        W_ea=W_ea, W_aa=np.eye(2), delta_e_free=[-1.0, -1.0], delta_a_free=[0.0, 0.0]
    )
    qp = build_qp(problem).qp
    assert qp.H.tolist() == [[1.0, 0.0], [0.0, 0.0]]
    assert qp.g[1] == 0.0


def test_a_weak_actuator_is_an_actuator():
    """A hundred thousand times weaker than the other one, it still reaches its own goal."""
    W_ea = np.array([[1.0, 0.0], [0.0, 1e-5]])
    problem = InverseProblem(
        W_ea=W_ea, W_aa=np.eye(2), delta_e_free=[-1.0, -1.0], delta_a_free=[0.0, 0.0]
    )
    assert build_qp(problem).qp.H == pytest.approx(np.eye(2), abs=1e-15)


def test_actuators_that_cost_nothing_are_scaled_by_their_compliance():
    """Without effector and limits nothing is exceeded, so that the size is 1."""
    problem = random_problem(W_ea=np.zeros((3, 5)), delta_e_free=np.zeros(3), **FREE)
    expected = 1.0 / np.sqrt(problem.W_aa.diagonal())
    assert build_qp(problem).effort_scale == pytest.approx(expected, rel=1e-15)


def test_an_actuator_that_nothing_moves_may_have_a_limit():
    problem = random_problem(W_aa=np.diag([1.0, 1.0, 0.0, 1.0, 1.0]))
    qp = build_qp(problem).qp
    assert np.isfinite(qp.A).all()
    assert not np.isnan(qp.lower).any() and not np.isnan(qp.upper).any()
