"""Gauss-Newton steps of parameters and unknown inputs at once.

To find the likeliest inputs anew for each set of parameters takes several steps each time, and may
fail where parameters are wrong. Here both change in every step; a search by the profile likelihood
goes on from the end, and judges it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from scipy.optimize import lsq_linear

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.fitting.residual import Fit, StackedResidual
from sofa_softctl.identification.model.parameter import bounds

STEPS = 100
"""Limit of steps."""
DECREASE = 1e-2
"""Predicted decrease of the cost at which they end: a tenth of a deviation, squared [-]."""
ARMIJO = 0.1
"""Least share of a predicted decrease that a step must bring."""
SHORTEST = 1e-3
"""Shortest step."""


class Rows(NamedTuple):
    """Residuals with the best change of the unknowns, linearised, by a change of parameters."""

    residuals: np.ndarray
    """In standard deviations, shape (m,)."""
    jacobian: np.ndarray
    """By the experiment's parameters, shape (m, n_rho)."""


@runtime_checkable
class Lifted(Protocol):
    """An experiment whose unknowns can be changed along with its parameters.

    A state is parameters with values of the unknowns, not necessarily the likeliest ones.
    """

    def state(self, rho: np.ndarray) -> Any:
        """A state at parameters rho."""

    def resumed(self, state: Any, rho: np.ndarray) -> Any:
        """A state at parameters rho, with the unknowns of a state of a like experiment."""

    def cost(self, state: Any) -> float:
        """Sum of its squared residuals [-]."""

    def rows(self, state: Any) -> Rows:
        """Residuals after the best change of the unknowns."""

    def moved(self, state: Any, rho: np.ndarray, share: float) -> Any:
        """The state at other parameters, after a share of the best change for these."""

    def keep(self, state: Any) -> None:
        """Go on from a state when the likeliest unknowns are asked for."""

    @property
    def kept(self) -> Any:
        """The state from which it goes on."""


def approach(
    misfit: StackedResidual,
    start: np.ndarray,
    free: np.ndarray,
    progress: Callable[[int, float], None] | None = None,
    *,
    most: int = STEPS,
    states: list[Any] | None = None,
) -> tuple[np.ndarray, int, float]:
    """Parameters near a minimum of the cost, the number of steps, and the cost there.

    Experiments that are `Lifted` keep the unknowns found there.

    Args:
        misfit: Residuals.
        start: All parameters, shape (n_rho,).
        free: Mask of those to fit, shape (n_rho,).
        progress: Called with the number of steps and the cost.
        most: Limit of steps; as many where none of them was the last.
        states: To go on from, those that were `kept` at this start; None: new ones.

    Raises:
        SimulationError: The model cannot be simulated at the start.
    """
    lower, upper = bounds(misfit.parameters)
    scale = np.array([one.scale for one in misfit.parameters])
    search = _Joint(misfit)
    rho, states = start.copy(), search.begin(start, states)
    cost = search.cost(states, rho)
    count = 0
    for count in range(1, most + 1):
        r, J = search.rows(states, rho)
        room = (lower - rho)[free] / scale[free], (upper - rho)[free] / scale[free]
        change = np.zeros(len(rho))
        found = lsq_linear((J * scale)[:, free], -r, room)
        change[free] = scale[free] * found.x
        decrease = cost - 2.0 * found.cost
        if decrease < DECREASE:
            break
        share = 1.0
        while share > SHORTEST:
            try:
                there = rho + share * change
                moved = search.moved(states, there, share)
                after = search.cost(moved, there)
            except SimulationError:
                after = np.inf
            if cost - after > ARMIJO * share * decrease:
                break
            share *= 0.5
        else:
            break
        rho, states, cost = there, moved, after
        if progress is not None:
            progress(count, cost)
    search.keep(states)
    return rho, count, float(cost)


def kept(misfit: StackedResidual) -> list[Any]:
    """What experiments go on from, to be given back to `keep`."""
    return [one.kept if isinstance(one, Lifted) else None for one in misfit.experiments]


def keep(misfit: StackedResidual, states: list[Any]) -> None:
    """Let experiments go on from states of `kept`."""
    for one, state in zip(misfit.experiments, states, strict=True):
        if isinstance(one, Lifted):
            one.keep(state)


class _Plain:
    """An experiment without unknowns, in the same way: a state is its fit."""

    def __init__(self, misfit: StackedResidual, k: int) -> None:
        self.misfit, self.k = misfit, k

    def state(self, rho: np.ndarray) -> Fit:
        whole = np.zeros(len(self.misfit.parameters))
        whole[self.misfit.places(self.k)] = rho
        return self.misfit.fit(self.k, whole)

    def resumed(self, state: Fit, rho: np.ndarray) -> Fit:
        del state
        return self.state(rho)

    def cost(self, state: Fit) -> float:
        return float(np.sum(state.rows[0] ** 2))

    def rows(self, state: Fit) -> Rows:
        r, J = state.rows
        return Rows(r, J[:, self.misfit.places(self.k)])

    def moved(self, state: Fit, rho: np.ndarray, share: float) -> Fit:
        del state, share
        return self.state(rho)

    def keep(self, state: Fit) -> None:
        del state

    @property
    def kept(self) -> None:
        return None


class _Joint:
    """All experiments and the priors."""

    def __init__(self, misfit: StackedResidual) -> None:
        self.misfit = misfit
        self.parts: list[Lifted] = [
            one if isinstance(one, Lifted) else _Plain(misfit, k)
            for k, one in enumerate(misfit.experiments)
        ]

    def begin(self, rho: np.ndarray, known: list[Any] | None) -> list[Any]:
        """States of all experiments, new where they are not known."""
        pairs = enumerate(zip(self.parts, known or [None] * len(self.parts), strict=True))
        return [one.state(self.misfit.of(k, rho)) if at is None else at for k, (one, at) in pairs]

    def moved(self, states: list[Any], rho: np.ndarray, share: float) -> list[Any]:
        """States at other parameters."""
        pairs = enumerate(zip(self.parts, states, strict=True))
        return [one.moved(state, self.misfit.of(k, rho), share) for k, (one, state) in pairs]

    def cost(self, states: list[Any], rho: np.ndarray) -> float:
        """Sum of all squares."""
        known, _ = self.misfit.stacked((), rho)
        each = [one.cost(state) for one, state in zip(self.parts, states, strict=True)]
        return float(known @ known) + sum(each)

    def rows(self, states: list[Any], rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All residuals, and their derivatives by all parameters."""
        residuals, jacobians = ([one] for one in self.misfit.stacked((), rho))
        for k, (one, state) in enumerate(zip(self.parts, states, strict=True)):
            r, J = one.rows(state)
            residuals.append(r)
            jacobians.append(self.misfit.spread(k, J))
        return np.concatenate(residuals), np.concatenate(jacobians)

    def keep(self, states: list[Any]) -> None:
        """Keep the unknowns."""
        for one, state in zip(self.parts, states, strict=True):
            one.keep(state)
