"""Orthogonal reduction of all residuals and their Jacobian to a few rows.

A least-squares problem stays the same when residuals and Jacobian are multiplied by an orthogonal
matrix: costs, gradients, singular values and steps are unchanged. The triangular factor of [J, r]
has n_rho + 1 rows, however many samples there are. It is found block by block, in time linear in
the samples, and has the condition of J, not its square as J'J has.

Source: Golub, Van Loan, "Matrix Computations", section 5.3; by blocks: Bjorck, "Numerical Methods
for Least Squares Problems", section 6.3 (sequential QR).

Unobservable parameters: no datum depends on them.

Gradients of experiments by their adjoint, checked.
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

BLOCK = 1 << 17
"""Numbers in a block of the Jacobian: 1 MB, which stays in the cache."""

Rows = tuple[np.ndarray, np.ndarray]
"""Residuals and their Jacobian, shapes (m,), (m, n_rho)."""


def reduced(fits: Sequence[Fit], *others: Rows) -> Rows:
    """Q'r and Q'J for the residuals r of all measured samples and their Jacobian J.

    Args:
        fits: Of all experiments.
        others: More rows, as those of priors.

    Returns:
        Shapes (k,), (k, n_rho), k = min(rows, n_rho + 1).
    """
    R: np.ndarray | None = None
    for r, J in chain(others, *map(blocks, fits)):
        block = np.column_stack([J, r])
        R = np.asarray(np.linalg.qr(block if R is None else np.concatenate([R, block]), mode="r"))
    assert R is not None  # an estimate has data
    return R[:, -1], R[:, :-1]


def blocks(fit: Fit) -> Iterator[Rows]:
    """Residuals and Jacobian of the measured samples, in the order of time."""
    length = max(1, BLOCK // max(1, fit.sensitivities[0].size))
    for begin in range(0, len(fit.time), length):
        part = slice(begin, begin + length)
        yield replace(
            fit,
            time=fit.time[part],
            measured=fit.measured[part],
            outputs=fit.outputs[part],
            sensitivities=fit.sensitivities[part],
        ).rows


VISIBLE = 1e-4
"""Least change of all data, in deviations, when an observable parameter doubles."""
ASIDE = 0.1
"""Shift of the parameters for the second test, as share of their scales."""


def visibility(misfit: StackedResidual, fits: Sequence[Fit]) -> np.ndarray:
    """Change of all data, in deviations, by a change of each parameter by its scale, (n_rho,)."""
    size = np.array([one.scale for one in misfit.parameters])
    found: np.ndarray = size * np.linalg.norm(reduced(fits)[1], axis=0)
    return found


def unobservable_parameters(
    misfit: StackedResidual, start: np.ndarray, fits: Sequence[Fit]
) -> tuple[str, ...]:
    """Names of parameters that data depend on neither at the start nor near it.

    The second test is for starts where a derivative vanishes, as at a symmetry.
    """
    hidden = visibility(misfit, fits) < VISIBLE
    if hidden.any():
        lower, upper = bounds(misfit.parameters)
        moved = start + ASIDE * np.array([one.scale for one in misfit.parameters])
        beside = np.where(moved <= upper, moved, np.maximum(2.0 * start - moved, lower))
        try:
            hidden &= visibility(misfit, misfit.fits(beside)) < VISIBLE
        except SimulationError:
            pass  # the first test decides
    return tuple(np.array(misfit.names)[hidden].tolist())


def left_out(experiments: Sequence[Experiment]) -> tuple[str, ...]:
    """Warnings on experiments with noisy inputs whose noise the intervals leave out."""
    return tuple(
        f"noise of the inputs of {one.name} is left out of the intervals, as {_no_adjoint(one)}"
        for one in experiments
        if any(channel.deviation for channel in one.inputs) and not one.has_adjoint
    )


def adjoint_gradient(
    experiment: Experiment, rho: np.ndarray, gradient: Callable[[np.ndarray], np.ndarray]
) -> PulledBack:
    """The checked result of an experiment's `pull_back`.

    Raises:
        IdentificationError: It has none, or it returns something else.
    """
    why = _no_adjoint(experiment)
    if experiment.has_adjoint:
        found = experiment.pull_back(rho, gradient)
        if isinstance(found, PulledBack):
            return found
        why = f"its pull_back returns {type(found).__name__}"
    raise IdentificationError(
        f"{experiment.name}: expected a method pull_back that returns PulledBack; {why}. See "
        "docs/how-to/identify-a-model.md#what-an-experiment-needs."
    )


def _no_adjoint(experiment: Experiment) -> str:
    """The missing method; where a class does not derive, it may be the second one."""
    has_sweep = "pull_back" in vars(experiment)  # of an adapter
    return f"it has no {'measured_by_inputs' if has_sweep else 'pull_back'}"
