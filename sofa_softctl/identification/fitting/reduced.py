"""Orthogonal reduction of all residuals and their Jacobian to a few rows.

A least-squares problem stays the same when residuals and Jacobian are multiplied by an orthogonal
matrix: costs, gradients, singular values and steps are unchanged. The triangular factor of [J, r]
has n_rho + 1 rows for any number of samples. It is computed block by block, in time linear in the
samples, and has the condition number of J, not its square as J'J has.

Source: Golub, Van Loan, "Matrix Computations", section 5.3; by blocks: Bjorck, "Numerical Methods
for Least Squares Problems", section 6.3 (sequential QR).

The module also finds unobservable parameters, on which no datum depends, and checks the results of
experiments' adjoints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from sofa_softctl.errors import IdentificationError, SimulationError
from sofa_softctl.identification.fitting.residual import Fit, StackedResidual
from sofa_softctl.identification.model.experiment import Experiment, PulledBack
from sofa_softctl.identification.model.parameter import bounds

BLOCK_SIZE = 1 << 17
"""Number of entries in a block of the Jacobian: 1 MB, which stays in the cache."""

Rows = tuple[np.ndarray, np.ndarray]
"""Residuals and their Jacobian, shapes (m,), (m, n_rho)."""


def reduce_by_qr(fits: Sequence[Fit], *more_rows: Rows) -> Rows:
    """Return Q'r and Q'J for the residuals r of all measured samples and their Jacobian J.

    Args:
        fits: Fits of all experiments.
        more_rows: Further residuals with their Jacobian, such as those of priors.

    Returns:
        Arrays of shapes (k,), (k, n_rho), k = min(rows, n_rho + 1).
    """
    R: np.ndarray | None = None
    for r, J in chain(more_rows, *map(sample_blocks, fits)):
        block = np.column_stack([J, r])
        R = np.asarray(np.linalg.qr(block if R is None else np.concatenate([R, block]), mode="r"))
    assert R is not None  # an estimate has data
    return R[:, -1], R[:, :-1]


def sample_blocks(fit: Fit) -> Iterator[Rows]:
    """Yield residuals and Jacobian of the measured samples in blocks, in the order of time."""
    length = max(1, BLOCK_SIZE // max(1, fit.sensitivities[0].size))
    for begin in range(0, len(fit.time), length):
        part = slice(begin, begin + length)
        yield replace(
            fit,
            time=fit.time[part],
            measured=fit.measured[part],
            outputs=fit.outputs[part],
            sensitivities=fit.sensitivities[part],
        ).rows


def data_changes(misfit: StackedResidual, fits: Sequence[Fit]) -> np.ndarray:
    """Change of all data [deviations] by a change of each parameter by its scale, (n_rho,)."""
    size = np.array([parameter.scale for parameter in misfit.parameters])
    changes: np.ndarray = size * np.linalg.norm(reduce_by_qr(fits)[1], axis=0)
    return changes


def unobservable_parameters(
    misfit: StackedResidual, start: np.ndarray, fits: Sequence[Fit]
) -> tuple[str, ...]:
    """Return the names of parameters that data depend on neither at the start nor near it.

    The second test is for starts where a derivative vanishes, as at a symmetry.
    """
    change_min = 1e-4  # of all data [deviations], when an observable parameter doubles
    is_hidden = data_changes(misfit, fits) < change_min
    if is_hidden.any():
        lower, upper = bounds(misfit.parameters)
        shifted = start + 0.1 * np.array([parameter.scale for parameter in misfit.parameters])
        inside_bounds = np.where(
            shifted <= upper, shifted, np.maximum(2.0 * start - shifted, lower)
        )
        try:
            is_hidden &= data_changes(misfit, misfit.fits(inside_bounds)) < change_min
        except SimulationError:
            pass  # the first test decides
    return tuple(np.array(misfit.names)[is_hidden].tolist())


def left_out_noise_warnings(experiments: Sequence[Experiment]) -> tuple[str, ...]:
    """Return warnings on experiments with noisy inputs whose noise the intervals leave out."""
    return tuple(
        f"noise of the inputs of {experiment.name} is left out of the intervals, as "
        f"{_no_adjoint(experiment)}"
        for experiment in experiments
        if any(channel.deviation for channel in experiment.inputs) and not experiment.has_adjoint
    )


def adjoint_gradient(
    experiment: Experiment, rho: np.ndarray, gradient: Callable[[np.ndarray], np.ndarray]
) -> PulledBack:
    """Return the result of an experiment's `pull_back` after checking its type.

    Raises:
        IdentificationError: The method is missing, or returns something else.
    """
    reason = _no_adjoint(experiment)
    if experiment.has_adjoint:
        result = experiment.pull_back(rho, gradient)
        if isinstance(result, PulledBack):
            return result
        reason = f"its pull_back returns {type(result).__name__}"
    raise IdentificationError(
        f"{experiment.name}: expected a method pull_back that returns PulledBack; {reason}. See "
        "docs/how-to/identify-a-model.md#what-an-experiment-needs."
    )


def _no_adjoint(experiment: Experiment) -> str:
    """Return a text on the missing method of an experiment without an adjoint."""
    has_sweep = "pull_back" in vars(experiment)  # an adapter without the second method
    return f"it has no {'measured_by_inputs' if has_sweep else 'pull_back'}"
