"""Searches with noisy inputs as unknowns, from the results of searches with exact inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.fitting.gauss_newton import SearchResult, Termination, search
from sofa_softctl.identification.fitting.joint_search import SETTINGS as JOINT_SETTINGS
from sofa_softctl.identification.fitting.joint_search import approach, current_states, set_states
from sofa_softctl.identification.fitting.residual import StackedResidual
from sofa_softctl.identification.fitting.starts import distinct_minima
from sofa_softctl.identification.model.parameter import bounds


@dataclass(frozen=True)
class UnknownInputSettings:
    """Effort spent on searches with unknown inputs."""

    comparison_interval: int = 10
    """Number of steps after which searches are compared."""
    stop_cost_ratio: float = 3.0
    """Excess of a search's cost over the best one, relative to the decrease by its last steps,
    above which the search stops [-]."""
    searches_around_best: int = 4
    """Number of searches that begin around the best result."""
    start_distance: float = 3.0
    """Distance of these starts from the best result [standard deviations]."""
    information_min: float = 1.0
    """Smallest information on a direction in which these starts differ [1 / scale^2]."""


SETTINGS = UnknownInputSettings()


class JointSearchResult(NamedTuple):
    """Result of the searches."""

    misfit: StackedResidual
    """Residuals with unknown inputs, or with exact inputs if the former failed or do not exist."""
    searches: tuple[SearchResult, ...]
    """Best result for each start, best first."""
    branches: tuple[SearchResult, ...] = ()
    """All results near the best one, best first."""
    evaluations: int = 0
    """Number of simulations of all experiments, with derivatives."""
    warnings: tuple[str, ...] = ()
    """Reason for taking inputs as exact."""


def with_unknown_inputs(
    exact: StackedResidual,
    searches: Sequence[SearchResult],
    free: np.ndarray,
    evaluations_max: int,
    progress: Callable[[int, float], None] | None = None,
) -> JointSearchResult:
    """Search with noisy inputs as unknowns, for each distinct result with exact inputs.

    Noise of inputs biases searches that take them as exact. So each search begins at the start or
    at the end of a search with exact inputs, whichever has the lower cost after a few steps. The
    best search runs to its end first; others stop if they hardly approach it. The most likely
    inputs may lie on several branches of the motion, each with a separate minimum: further
    searches begin around the best result, with new inputs.

    Args:
        exact: Residuals with exact inputs.
        searches: Results of searches with exact inputs, best first.
        free: Mask of the parameters to fit, shape (n_rho,).
        evaluations_max: Limit of evaluations of a search.
        progress: Called with the number of steps or evaluations, and the last cost.
    """
    experiments = [
        experiment.with_unknown_inputs() or experiment for experiment in exact.experiments
    ]
    if all(experiment.unknowns == 0 for experiment in experiments):
        return JointSearchResult(exact, tuple(searches))
    joint = _JointSearches(
        StackedResidual(experiments, exact.parameters), free, evaluations_max, progress
    )
    partial_searches = list[tuple[_PartialSearch, tuple[int, ...]]]()
    for group in _groups(searches):
        partial_search = joint.begin(searches[group[0]].start, searches[group[0]].rho)
        partial_searches += [(partial_search, group)] if partial_search is not None else []
    results = list[SearchResult]()
    for partial_search, group in sorted(partial_searches, key=lambda pair: pair[0].cost):
        result = joint.end(partial_search)
        results += [replace(result, start=searches[i].start) for i in group] if result else []
    if not joint.results:
        warning = (
            "noisy inputs were taken as exact, since the search with unknown errors of them "
            f"failed: {joint.error} Estimates may be biased"
        )
        return JointSearchResult(exact, tuple(searches), (), joint.evaluations, (warning,))
    joint.search_around_best()
    set_states(joint.misfit, joint.best_states)
    results.sort(key=lambda partial_search: partial_search.cost)
    results[0] = replace(joint.results[0], start=results[0].start)
    return JointSearchResult(joint.misfit, tuple(results), tuple(joint.results), joint.evaluations)


def _groups(searches: Sequence[SearchResult]) -> list[tuple[int, ...]]:
    """Group searches that ended at the same minimum; each that ended at no minimum is a group."""
    groups = [minimum.searches for minimum in distinct_minima(searches)]
    converged = {i for group in groups for i in group}
    return groups + [(i,) for i in range(len(searches)) if i not in converged]


class _JointSearches:
    """Searches with unknown inputs."""

    def __init__(
        self,
        misfit: StackedResidual,
        free: np.ndarray,
        evaluations_max: int,
        progress: Callable[[int, float], None] | None,
    ) -> None:
        self.misfit, self.free, self.evaluations_max, self.progress = (
            misfit,
            free,
            evaluations_max,
            progress,
        )
        self.evaluations, self.error = 0, ""
        self.results: list[SearchResult] = []
        """All results, best first."""
        self.best_states: list[Any] = []
        """States of the best result."""

    def begin(self, *at: np.ndarray) -> _PartialSearch | None:
        """Return the best search after a few steps from each of `at`, or None if all failed."""
        partial_searches = [
            partial_search
            for partial_search in map(self._try_steps, at)
            if partial_search is not None
        ]
        return min(partial_searches, key=lambda partial_search: partial_search.cost, default=None)

    def end(self, partial: _PartialSearch) -> SearchResult | None:
        """Run a search to its end, or stop it early if it is hopeless; None if it failed."""
        try:
            partial, is_hopeless = self._run_until_promising(partial)
            if is_hopeless:
                rho = partial.rho
                return SearchResult(rho, rho, partial.cost, Termination.LEFT, (), 0, 0, "")
            set_states(self.misfit, partial.states or [])
            result = search(
                self.misfit,
                partial.rho,
                self.free,
                evaluations_max=self.evaluations_max,
                progress=self.progress,
            )
            self.misfit.fits(result.rho)
        except SimulationError as error:
            self.error = str(error)
            return None
        self.evaluations += result.evaluations
        if not self.results or result.cost < self.results[0].cost:
            self.best_states = current_states(self.misfit)
        self.results = sorted((*self.results, result), key=lambda result: result.cost)
        return result

    def search_around_best(self) -> None:
        """Search from starts around the best result, with new inputs."""
        random = np.random.default_rng(0)
        for _ in range(SETTINGS.searches_around_best):
            partial = self.begin(self.results[0].rho + self._random_step(self.results[0], random))
            if partial is not None:
                self.end(partial)

    def _random_step(self, end: SearchResult, random: np.random.Generator) -> np.ndarray:
        """Return a random step of `start_distance` in directions that the data determine."""
        scale = np.array([parameter.scale for parameter in self.misfit.parameters])
        assert end.information is not None  # of a search
        w, V = np.linalg.eigh(end.information * np.outer(scale, scale))
        is_informed = w > SETTINGS.information_min
        step = random.standard_normal(is_informed.sum())
        step *= SETTINGS.start_distance / (np.linalg.norm(step) * np.sqrt(w[is_informed]))
        return scale * (V[:, is_informed] @ step)

    def _try_steps(self, rho: np.ndarray) -> _PartialSearch | None:
        """Run a few steps from parameters, or return None if they failed."""
        inside = np.clip(rho, *bounds(self.misfit.parameters))
        try:
            return self._run_steps(_PartialSearch(inside, None, np.inf))
        except SimulationError as error:
            self.error = str(error)
            return None

    def _run_until_promising(self, partial: _PartialSearch) -> tuple[_PartialSearch, bool]:
        """Run steps until a search has converged or is hopeless; return it, True if hopeless."""
        for _ in range(JOINT_SETTINGS.steps_max // SETTINGS.comparison_interval):
            continued = self._run_steps(partial)
            gained, partial = partial.cost - continued.cost, continued
            if gained < JOINT_SETTINGS.decrease_min:
                break
            if (
                self.results
                and continued.cost - self.results[0].cost > SETTINGS.stop_cost_ratio * gained
            ):
                return partial, True
        return partial, False

    def _run_steps(self, partial: _PartialSearch) -> _PartialSearch:
        rho, steps, cost = approach(
            self.misfit,
            partial.rho,
            self.free,
            self.progress,
            steps_max=SETTINGS.comparison_interval,
            start_states=partial.states,
        )
        self.evaluations += steps
        return _PartialSearch(rho, current_states(self.misfit), cost)


class _PartialSearch(NamedTuple):
    """Search after a few steps."""

    rho: np.ndarray
    states: list[Any] | None
    """States of the experiments, or None for new ones."""
    cost: float
