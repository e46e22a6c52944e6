"""Which motion to record next: the one that adds the most information.

The paper leaves "algorithms to determine appropriate actions" to future work; this is the simplest
of them: among given candidates, the D-optimal one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.estimate import Estimate
from sofa_softctl.identification.experiment import Experiment
from sofa_softctl.identification.identifiability import CONFIDENCE, information
from sofa_softctl.identification.misfit import Fit, Misfit

IGNORANCE = 10.0
"""Parameters are taken to be known within so many times their sizes before any data."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """What a motion would tell."""

    name: str
    """Of its recording."""
    gain: float
    """Information added: half of log det after over before, in nats [-]; -inf: it failed."""
    half_widths: dict[str, float]
    """Half of the 95 % interval of each parameter that is expected afterwards [unit]."""
    half_widths_now: dict[str, float]
    """The same before [unit]."""
    reason: str = ""
    """Why it cannot be judged; empty: it can."""


def rank(estimate: Estimate, candidates: Sequence[Experiment]) -> tuple[Candidate, ...]:
    """Candidates by what they would add to what is known, the most informative first.

    The gain is (log det(F + F_c) - log det F) / 2: by so many nats the ellipsoid of what the
    parameters may be shrinks. All parameters that the caller did not fix count, also those that
    data so far do not see, with a wide prior of 10 times their sizes. All samples of a candidate
    count as measured; its motion is predicted with the estimate.

    Args:
        estimate: From the data so far.
        candidates: Experiments whose `measured` is not looked at.
    """
    counted = np.array([name not in estimate.fixed for name in estimate.names])
    size = np.array([one.scale for one in estimate.parameters])
    before = information(estimate) + np.diag(estimate.prior_information)
    before += np.diag((IGNORANCE * size) ** -2.0)
    found = [_judge(estimate, one, before, counted, size) for one in candidates]
    return tuple(sorted(found, key=lambda one: -one.gain))


def _judge(
    estimate: Estimate,
    experiment: Experiment,
    before: np.ndarray,
    counted: np.ndarray,
    size: np.ndarray,
) -> Candidate:
    names = np.array(estimate.names)[counted].tolist()
    F, scale = before[np.ix_(counted, counted)], size[counted]
    now = _half_widths(F, scale, names)
    try:
        (fit,) = Misfit([experiment], estimate.parameters).fits(estimate.rho)
    except SimulationError as error:
        return Candidate(experiment.name, -np.inf, now, now, str(error))
    J = _as_measured(fit).rows[1][:, counted]
    after = F + J.T @ J
    gain = 0.5 * (_log_det(after, scale) - _log_det(F, scale))
    return Candidate(experiment.name, gain, _half_widths(after, scale, names), now)


def _as_measured(fit: Fit) -> Fit:
    return replace(fit, measured=np.zeros_like(fit.outputs))


def _log_det(F: np.ndarray, size: np.ndarray) -> float:
    return float(np.linalg.slogdet(F * np.outer(size, size))[1])


def _half_widths(F: np.ndarray, size: np.ndarray, names: list[str]) -> dict[str, float]:
    C = np.linalg.inv(F * np.outer(size, size)) * np.outer(size, size)
    reach = float(stats.norm.ppf(0.5 + CONFIDENCE / 2.0))
    return dict(zip(names, (reach * np.sqrt(np.diag(C))).tolist(), strict=True))
