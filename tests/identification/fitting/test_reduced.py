"""The reduced least-squares problem is the one of all samples."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.identification.fitting import reduced as module
from sofa_softctl.identification.fitting.reduced import reduce_by_qr, sample_blocks
from sofa_softctl.identification.fitting.residual import Fit, StackedResidual


@pytest.fixture
def stack(models):
    """Two recordings, with samples missing, at the truth; sample_blocks of 7 samples."""
    pair = [models.swing(1, load=1.0), models.swing(2, place=0.01)]
    pair[0].measured[3:20] = np.nan
    misfit = StackedResidual(pair)
    return misfit, misfit.fits(models.SWING_TRUTH), models.SWING_TRUTH


def test_costs_gradients_and_information_are_those_of_all_rows(stack, monkeypatch):
    """To rounding of sums of some 300 rows."""
    misfit, fits, rho = stack
    monkeypatch.setattr(module, "BLOCK_SIZE", 21)  # 3 parameters: 7 samples
    assert len(list(sample_blocks(fits[0]))) == -(-len(fits[0].time) // 7)
    r, J = misfit.stack_residuals(fits, rho)
    r2, J2 = reduce_by_qr(fits, misfit.stack_residuals((), rho))
    assert r2.shape == (4,) and J2.shape == (4, 3)
    assert r2 @ r2 == pytest.approx(r @ r, rel=1e-12)
    np.testing.assert_allclose(J2.T @ r2, J.T @ r, rtol=1e-10)
    np.testing.assert_allclose(J2.T @ J2, J.T @ J, rtol=1e-12)


def test_small_singular_values_are_not_squared_away(stack):
    """Columns that are equal to 1e-10: J'J, of condition 1e20, would say nothing of the third."""
    _, (fit, _), _ = stack
    J = fit.sensitivities.copy()
    J[..., 2] = J[..., 0] * (1.0 + 1e-10 * np.arange(len(J)) / len(J))[:, None]
    fit = replace(fit, sensitivities=J)
    size = np.linalg.norm(fit.rows[1], axis=0)
    exact = np.linalg.svd(fit.rows[1] / size, compute_uv=False)
    found = np.linalg.svd(reduce_by_qr([fit])[1] / size, compute_uv=False)
    assert exact[2] < 1e-9 * exact[0]
    assert found == pytest.approx(exact, rel=1e-3)  # rounding 1e-16 relative to 1e-10, times 100


def test_sixty_thousand_samples_take_little_memory(models):
    """A square factor of 60,000 samples would take 29 GB; their Jacobian takes 1.4 MB."""
    short = models.swing(1)
    time = np.linspace(short.time[0], short.time[-1], 60_000)
    fit = Fit(
        "long",
        time,
        short.channels,
        np.zeros((60_000, 1)),
        np.ones((60_000, 1)),
        np.random.default_rng(0).standard_normal((60_000, 1, 3)),
    )
    tracemalloc.start()
    reduce_by_qr([fit])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6


def test_fewer_samples_than_parameters_stay_as_they_are(stack):
    _, (fit, _), _ = stack
    two = replace(
        fit,
        **{name: getattr(fit, name)[:2] for name in ("time", "measured", "outputs")},
        sensitivities=fit.sensitivities[:2],
    )
    r, J = reduce_by_qr([two])
    assert J.shape == (2, 3)
    np.testing.assert_allclose(J.T @ J, two.rows[1].T @ two.rows[1], rtol=1e-12)
    assert r @ r == pytest.approx(two.rows[0] @ two.rows[0])
