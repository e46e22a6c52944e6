import itertools

import numpy as np
import pytest

from sofa_softctl.runtime.kernels.gauss_seidel import (
    BILATERAL,
    IMPOSE_DELTA,
    IMPOSE_LAMBDA,
    UNILATERAL,
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
