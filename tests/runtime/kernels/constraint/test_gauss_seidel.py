import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sofa_softctl.runtime.kernels.constraint.gauss_seidel import (
    BILATERAL,
    COULOMB,
    IMPOSE_DELTA,
    IMPOSE_LAMBDA,
    UNILATERAL,
    conjugate_gradient,
    gauss_seidel,
    row_parameters,
)


def compliance(n, seed):
    """A symmetric positive definite W, and delta_free of both signs."""
    random = np.random.default_rng(seed)
    B = random.uniform(-1.0, 1.0, (n, n))
    return B @ B.T + 0.5 * np.eye(n), random.uniform(-1.0, 1.0, n)


def solve(W, delta_free, rows, sor=1.0, tolerance=1e-14, sweeps=10000, start=None):
    """lambda, sweeps, error."""
    lam = np.zeros(len(delta_free)) if start is None else start.copy()
    done, error = gauss_seidel(W, delta_free, np.array(rows), sor, tolerance, sweeps, lam)
    return lam, done, error


def box_solution(W, delta_free, low, high):
    """The one lambda with low <= lambda <= high, delta = W lambda + delta_free = 0 inside,
    delta >= 0 at low, delta <= 0 at high: by trying all 3^n sets of active limits."""
    for held in itertools.product((-1, 0, 1), repeat=len(low)):
        held = np.array(held)
        lam = np.where(held < 0, low, np.where(held > 0, high, 0.0))
        if not np.isfinite(lam).all():
            continue
        free = held == 0
        if free.any():
            rest = delta_free[free] + W[np.ix_(free, ~free)] @ lam[~free]
            lam[free] = np.linalg.solve(W[np.ix_(free, free)], -rest)
        delta = W @ lam + delta_free
        inside = (lam >= low - 1e-12) & (lam <= high + 1e-12)
        signs = np.where(held < 0, delta >= 0.0, np.where(held > 0, delta <= 0.0, True))
        if inside.all() and signs.all():
            return lam
    raise AssertionError("a positive definite W has exactly one solution")


@pytest.mark.parametrize("seed", range(5))
def test_bilateral_rows_solve_the_linear_system(seed):
    """W lambda = -delta_free, against LAPACK. The sum of |W_jj step| below 1e-14 and a
    contraction above 0.9 leave 1e-12."""
    W, delta_free = compliance(6, seed)
    lam, _, _ = solve(W, delta_free, [row_parameters(BILATERAL)] * 6)
    assert lam == pytest.approx(np.linalg.solve(W, -delta_free), abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_imposed_displacements_are_reached(seed):
    """W lambda + delta_free = value on every row."""
    W, delta_free = compliance(6, seed)
    values = np.random.default_rng(seed + 100).uniform(-2.0, 2.0, 6)
    lam, _, _ = solve(W, delta_free, [row_parameters(IMPOSE_DELTA, value) for value in values])
    assert W @ lam + delta_free == pytest.approx(values, abs=1e-12)


def test_imposed_forces_are_given():
    """lambda = value after one sweep; the second only sees that nothing changes."""
    W, delta_free = compliance(4, 0)
    values = [1.0, -2.0, 0.0, 5.0]
    lam, sweeps, error = solve(W, delta_free, [row_parameters(IMPOSE_LAMBDA, v) for v in values])
    assert lam.tolist() == values
    assert (sweeps, error) == (2, 0.0)


def test_imposed_forces_and_displacements_mix():
    """Rows with given lambda load the others: W_dd lam_d = value - delta_free - W_df lam_f."""
    W, delta_free = compliance(5, 1)
    rows = [row_parameters(IMPOSE_LAMBDA, 3.0)] * 2 + [row_parameters(IMPOSE_DELTA, 0.7)] * 3
    lam, _, _ = solve(W, delta_free, rows)
    assert lam[:2].tolist() == [3.0, 3.0]
    expected = np.linalg.solve(W[2:, 2:], 0.7 - delta_free[2:] - W[2:, :2] @ lam[:2])
    assert lam[2:] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_unilateral_rows_solve_the_complementarity_problem(seed):
    """lambda >= 0, delta >= 0, lambda delta = 0, against all 2^n sets of contacts."""
    W, delta_free = compliance(5, seed)
    lam, _, _ = solve(W, delta_free, [row_parameters(UNILATERAL)] * 5)
    none, endless = np.zeros(5), np.full(5, np.inf)
    assert lam == pytest.approx(box_solution(W, delta_free, none, endless), abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_limits_of_force_hold_and_the_rest_is_reached(seed):
    """min <= lambda <= max; delta = value inside the limits, short of it where lambda is cut."""
    W, delta_free = compliance(4, seed)
    random = np.random.default_rng(seed + 200)
    values, low, high = random.uniform(-1, 1, 4), random.uniform(-1, 0, 4), random.uniform(0, 1, 4)
    rows = [
        row_parameters(IMPOSE_DELTA, v, a, b) for v, a, b in zip(values, low, high, strict=True)
    ]
    lam, _, _ = solve(W, delta_free, rows)
    assert lam == pytest.approx(box_solution(W, delta_free - values, low, high), abs=1e-12)


@pytest.mark.parametrize(("limits", "reached"), [((-9.0, 1.5), 1.5), ((2.75, 9.0), 2.75)])
def test_a_given_force_yields_to_the_limit_of_displacement(limits, reached):
    """One row, w = 2, delta_free = 0.5: lambda = 1 gives delta = 2.5; where that is not allowed
    lambda is what reaches the limit."""
    row = row_parameters(IMPOSE_LAMBDA, 1.0, delta_min=limits[0], delta_max=limits[1])
    lam, _, _ = solve(np.array([[2.0]]), np.array([0.5]), [row])
    assert 2.0 * lam[0] + 0.5 == pytest.approx(reached, abs=1e-15)


def test_limits_of_displacement_hold_beside_other_rows():
    """A second row that moves the first by W_01: the limit is on the total displacement."""
    W, delta_free = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([0.1, 0.2])
    rows = [
        row_parameters(IMPOSE_LAMBDA, 1.0, delta_max=1.2),
        row_parameters(IMPOSE_DELTA, 0.9),
    ]
    lam, _, _ = solve(W, delta_free, rows)
    assert W @ lam + delta_free == pytest.approx([1.2, 0.9], abs=1e-12)


def test_a_row_without_compliance_keeps_its_force():
    """W_jj = 0, as for a cable on held nodes alone: no division by zero, lambda stays."""
    W = np.array([[1.0, 0.0], [0.0, 0.0]])
    rows = [row_parameters(IMPOSE_DELTA, 2.0)] * 2
    lam, _, _ = solve(W, np.array([0.5, 0.5]), rows)
    assert lam == pytest.approx([1.5, 0.0])
    lam, _, _ = solve(W, np.array([0.5, 0.5]), [row_parameters(IMPOSE_LAMBDA, 4.0)] * 2)
    assert lam.tolist() == [4.0, 4.0]


def test_a_row_of_negative_compliance_is_solved():
    """Of an indefinite matrix, as in SOFA: -2 lambda + 1 = 0."""
    lam, _, _ = solve(np.array([[-2.0]]), np.array([1.0]), [row_parameters(BILATERAL)])
    assert lam == pytest.approx([0.5])


def reference(W, delta_free, values, sor, tolerance, max_sweeps):
    """The algorithm of the docstring in plain NumPy, for IMPOSE_DELTA without limits."""
    lam = np.zeros(len(values))
    for sweep in range(1, max_sweeps + 1):
        error = 0.0
        for j, value in enumerate(values):
            step = -(W[j] @ lam + delta_free[j] - value) / W[j, j]
            error += abs(W[j, j] * step)
            lam[j] += sor * step
        if error < tolerance or sweep == max_sweeps:
            return lam, sweep, error


@pytest.mark.parametrize("kind", [IMPOSE_DELTA, BILATERAL], ids=["imposed", "bilateral"])
@pytest.mark.parametrize("sor", [1.0, 0.7, 1.3])
@pytest.mark.parametrize(("tolerance", "sweeps"), [(1e-3, 1000), (1e-9, 1000), (0.0, 7)])
def test_it_stops_when_the_sum_of_changes_is_below_the_tolerance(sor, tolerance, sweeps, kind):
    """Number of sweeps and last sum as in the rule; lambda to rounding of some hundred sweeps."""
    W, delta_free = compliance(6, 3)
    values = np.linspace(-1.0, 1.0, 6) if kind == IMPOSE_DELTA else np.zeros(6)
    rows = [row_parameters(kind, value) for value in values]
    lam, done, error = solve(W, delta_free, rows, sor, tolerance, sweeps)
    expected, expected_sweeps, expected_error = reference(
        W, delta_free, values, sor, tolerance, sweeps
    )
    assert done == expected_sweeps
    assert error == pytest.approx(expected_error, rel=1e-6)
    assert lam == pytest.approx(expected, abs=1e-12)


def test_sweeps_never_raise_the_energy():
    """Each row minimises lambda W lambda / 2 + delta_free lambda over its own lambda >= 0."""
    W, delta_free = compliance(6, 4)
    lam, energies = np.zeros(6), [0.0]
    for _ in range(20):
        lam, _, _ = solve(W, delta_free, [row_parameters(UNILATERAL)] * 6, sweeps=1, start=lam)
        energies.append(lam @ W @ lam / 2.0 + delta_free @ lam)
    assert np.diff(energies).max() <= 1e-15
    assert energies[-1] < energies[1] < 0.0


def test_it_starts_from_the_given_multipliers():
    """From the solution nothing changes, and one sweep is enough."""
    W, delta_free = compliance(5, 5)
    exact = np.linalg.solve(W, -delta_free)
    _, sweeps, error = solve(
        W, delta_free, [row_parameters(BILATERAL)] * 5, tolerance=1e-12, start=exact
    )
    assert sweeps == 1
    assert error < 1e-13


# -- contacts with friction -----------------------------------------------------------------------


def contact(W, delta_free, mu, method=gauss_seidel, tolerance=1e-13, sweeps=10000):
    """lambda, sweeps and error of contacts alone, three rows each."""
    W, delta_free = np.array(W, float), np.array(delta_free, float)
    rows = np.tile(row_parameters(COULOMB, mu), (len(delta_free), 1))
    lam = np.zeros(len(delta_free))
    done, error = method(W, delta_free, rows, 1.0, tolerance, sweeps, lam)
    return lam, done, error


BOTH = pytest.mark.parametrize("method", [gauss_seidel, conjugate_gradient], ids=["gs", "nncg"])
ALONE = np.diag([2.0, 4.0, 4.0])


@BOTH
def test_an_open_contact_gives_no_force(method):
    """A gap stays after the free motion, whatever slides."""
    assert contact(ALONE, [1e-3, 5.0, -5.0], 0.5, method)[0].tolist() == [0.0, 0.0, 0.0]


@BOTH
def test_a_sticking_contact_undoes_the_whole_motion(method):
    """lambda = -W^-1 delta_free while it lies in the cone: (1, 0.3, -0.4), |0.5| < 0.6."""
    lam, _, _ = contact(ALONE, [-2.0, -1.2, 1.6], 0.6, method)
    assert lam == pytest.approx([1.0, 0.3, -0.4], abs=1e-14)


@BOTH
def test_a_sliding_contact_is_held_back_by_mu_times_the_normal_force(method):
    """The same motion with mu = 0.4: against the direction of sliding, of size 0.4."""
    lam, _, _ = contact(ALONE, [-2.0, -1.2, 1.6], 0.4, method)
    assert lam == pytest.approx([1.0, 0.24, -0.32], abs=1e-14)


@BOTH
def test_without_friction_nothing_holds_back(method):
    assert contact(ALONE, [-2.0, 3.0, 1.0], 0.0, method)[0] == pytest.approx([1.0, 0.0, 0.0])


COUPLED = np.array([[2.0, 0.5, 0.0], [0.5, 3.0, 0.0], [0.0, 0.0, 3.0]])


@BOTH
@pytest.mark.parametrize("pull", [3.0, -3.0])
def test_sliding_where_friction_changes_the_normal_force(method, pull):
    """Sliding along t: lambda_t = -s mu lambda_n, s the sign of the slip, and the normal row
    w_nn lambda_n + w_nt lambda_t + d_n = 0, so lambda_n = -d_n / (w_nn - s mu w_nt)."""
    mu, s = 0.4, np.sign(pull)
    lam, _, _ = contact(COUPLED, [-2.0, pull, 0.0], mu, method)
    normal = 2.0 / (2.0 - s * mu * 0.5)
    assert lam == pytest.approx([normal, -s * mu * normal, 0.0], abs=1e-12)
    assert np.sign((COUPLED @ lam + [-2.0, pull, 0.0])[1]) == s


@BOTH
def test_sticking_where_friction_changes_the_normal_force(method):
    """Inside the cone the three rows are a linear system."""
    delta_free = np.array([-2.0, 0.5, 0.3])
    lam, _, _ = contact(COUPLED, delta_free, 0.8, method)
    assert lam == pytest.approx(np.linalg.solve(COUPLED, -delta_free), abs=1e-12)


def test_a_contact_without_compliance_takes_no_force():
    """Between two bodies that nothing can move: no division by zero."""
    assert contact(np.zeros((3, 3)), [-1.0, 1.0, 0.0], 0.5)[0].tolist() == [0.0, 0.0, 0.0]


def pile(count, seed, coupling):
    """W of contacts that push each other, and delta_free with open, sticking and sliding ones."""
    random = np.random.default_rng(seed)
    B = random.uniform(-1.0, 1.0, (3 * count, 3 * count))
    W = np.eye(3 * count) + coupling * B @ B.T / (3 * count)
    return W, random.uniform(-1.0, 1.0, 3 * count) * np.tile([1.0, 0.5, 0.5], count)


def law_violation(W, delta_free, mu, lam):
    """How far the contacts are from their law: [displacement], and [force] of the friction.

    Normal rows: the largest of -lambda, -delta and min(lambda, delta). Friction: lambda_t less the
    projection of lambda_t - delta_t / w on |lambda_t| <= mu lambda_n, zero exactly when it sticks
    without slip or opposes it (w: mean compliance, as any number > 0 would do).
    """
    delta = (W @ lam + delta_free).reshape(-1, 3)
    force = lam.reshape(-1, 3)
    normal = np.abs(np.minimum(force[:, 0], delta[:, 0])).max()
    slip = 0.0
    for k, (f, d) in enumerate(zip(force, delta, strict=True)):
        w = 0.5 * (W[3 * k + 1, 3 * k + 1] + W[3 * k + 2, 3 * k + 2])
        tried, limit = f[1:] - d[1:] / w, mu * f[0]
        size = np.linalg.norm(tried)
        held = tried if size <= limit else tried * (limit / size)
        slip = max(slip, np.linalg.norm(f[1:] - held))
    return normal, slip


@BOTH
@settings(max_examples=150, deadline=None)
@given(st.integers(1, 8), st.integers(0, 10**6), st.floats(0.0, 1.0), st.floats(0.0, 0.9))
def test_contacts_obey_signorini_and_coulomb(method, count, seed, coupling, mu):
    """A sweep solves each contact with the others as they are; what changes afterwards is what is
    left. The changes of the last sweep add up to less than t / min W_jj, so delta is off by less
    than e = t max|W| / min W_jj, a force by that over W_jj; the factor 4 is for the rows of a
    contact, of which friction changes two after the normal one."""
    tolerance = 1e-11
    W, delta_free = pile(count, seed, coupling)
    lam, _, error = contact(W, delta_free, mu, method, tolerance)
    assert error < tolerance
    least = W.diagonal().min()
    off = 4.0 * tolerance * np.abs(W).max() / least
    normal, slip = law_violation(W, delta_free, mu, lam)
    assert normal <= off * max(1.0, 1.0 / least)
    assert slip <= off / least


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 8), st.integers(0, 10**6), st.floats(0.0, 1.0), st.floats(0.0, 0.5))
def test_both_methods_find_the_same_forces(count, seed, coupling, mu):
    """W is at least the identity and friction weak, so that the law has one solution, which
    moves by no more than about a violation of the law (1e-10, see above): 1e-8."""
    W, delta_free = pile(count, seed, coupling)
    one = contact(W, delta_free, mu, gauss_seidel, 1e-12)[0]
    two = contact(W, delta_free, mu, conjugate_gradient, 1e-12)[0]
    assert one == pytest.approx(two, abs=1e-8)


def sweep_by_hand(W, delta_free, mu, lam):
    """One sweep over contacts in plain NumPy: new lambda, and the sum of changes."""
    lam, error = lam.copy(), 0.0
    for j in range(0, len(lam), 3):
        block = slice(j, j + 3)
        d, old = W[block] @ lam + delta_free[block], lam[block].copy()
        new = np.zeros(3)
        new[0] = old[0] - d[0] / W[j, j]
        if new[0] >= 0.0:
            d[1:] += W[j, j + 1 : j + 3] * (new[0] - old[0])
            new[1:] = old[1:] - 2.0 * d[1:] / (W[j + 1, j + 1] + W[j + 2, j + 2])
            size, limit = np.linalg.norm(new[1:]), mu * new[0]
            if size > limit:
                new[1:] *= limit / size
        else:
            new[0] = 0.0
        lam[block] = new
        error += np.linalg.norm(W[block, block] * (new - old), axis=1).sum()
    return lam, error


@pytest.mark.parametrize("mu", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("tolerance", [1e-2, 1e-6, 1e-10])
def test_contacts_take_as_many_sweeps_as_by_hand(mu, tolerance):
    """The rule of SOFA's resolution written down once more: same forces after as many sweeps.
    1e-12: sums in another order, over at most some hundred sweeps that contract."""
    W, delta_free = pile(12, 3, 3.0)
    expected, sweeps, error = np.zeros(36), 0, np.inf
    while error >= tolerance:
        expected, error = sweep_by_hand(W, delta_free, mu, expected)
        sweeps += 1
    lam, done, found = contact(W, delta_free, mu, tolerance=tolerance)
    assert done == sweeps
    assert lam == pytest.approx(expected, abs=1e-12)
    assert found == pytest.approx(error, rel=1e-3)


@BOTH
@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_contacts_and_other_rows_does_not_matter(method, seed):
    """Contacts between bilateral, unilateral and imposed rows, in two orders: one solution, as
    W is at least the identity and friction weak; 1e-9 for a tolerance of 1e-12."""
    W, delta_free = pile(5, seed, 1.0)
    kinds = [(COULOMB, 0.3)] * 3 + [(BILATERAL, 0.0), (UNILATERAL, 0.0), (IMPOSE_DELTA, 0.2)]
    kinds += [(IMPOSE_LAMBDA, 0.5), (UNILATERAL, 0.0), (BILATERAL, 0.0)]
    starts = np.cumsum([0] + [3 if kind == COULOMB else 1 for kind, _ in kinds])
    blocks = [range(a, b) for a, b in itertools.pairwise(starts.tolist())]
    rows = np.array([row_parameters(*k) for k, b in zip(kinds, blocks, strict=True) for _ in b])
    expected = None
    for order in (range(9), (3, 0, 8, 1, 6, 2, 4, 7, 5)):
        at = np.concatenate([blocks[k] for k in order])
        lam = np.zeros(15)
        _, error = method(W[np.ix_(at, at)], delta_free[at], rows[at], 1.0, 1e-12, 10000, lam)
        assert error < 1e-12
        back = np.empty(15)
        back[at] = lam
        assert expected is None or back == pytest.approx(expected, abs=1e-9)
        expected = back


def test_conjugate_gradients_need_fewer_sweeps_of_a_chain():
    """W of second differences: a sweep carries a push one contact further, so plain sweeps contract
    by cos^2(pi / 31) = 0.99; conjugate gradients see the whole chain."""
    count = 30
    W = 2.0 * np.eye(count) - np.eye(count, k=1) - np.eye(count, k=-1)
    delta_free = np.full(count, -1.0)
    rows = np.tile(row_parameters(UNILATERAL), (count, 1))
    sweeps = {}
    for method in (gauss_seidel, conjugate_gradient):
        lam = np.zeros(count)
        sweeps[method], error = method(W, delta_free, rows, 1.0, 1e-9, 100000, lam)
        assert error < 1e-9
        assert np.minimum(lam, W @ lam + delta_free) == pytest.approx(0.0, abs=1e-6)
    assert sweeps[conjugate_gradient] < 0.3 * sweeps[gauss_seidel]


@pytest.mark.quick
@pytest.mark.parametrize("kind", [BILATERAL, UNILATERAL])
def test_rounding_of_large_multipliers_does_not_stay(kind):
    """A start of 1e9 leaves 1e9 eps in deltas that only changes are added to; the sweeps end at
    1e-12 all the same."""
    W, delta_free = compliance(6, 1)
    rows = [row_parameters(kind)] * 6
    expected, _, _ = solve(W, delta_free, rows)
    lam, _, error = solve(W, delta_free, rows, tolerance=1e-12, start=np.full(6, 1e9))
    assert error < 1e-12
    assert lam == pytest.approx(expected, abs=1e-11)
