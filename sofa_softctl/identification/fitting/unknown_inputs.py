"""Searches with noisy inputs as unknowns, from the ends of searches with exact ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.fitting.gauss_newton import SearchResult, Termination, search
from sofa_softctl.identification.fitting.joint_search import DECREASE, STEPS, approach, keep, kept
from sofa_softctl.identification.fitting.residual import StackedResidual
from sofa_softctl.identification.fitting.starts import distinct_minima
from sofa_softctl.identification.model.parameter import bounds

TRIED = 10
"""Steps after which searches are compared."""
HOPELESS = 3.0
"""One is left that costs more than the best end by so many times what its last steps gained [-]."""
AROUND = 4
"""Number of searches that begin around the best end..."""
DISTANCE = 3.0
"""... at this distance from it [standard deviations]."""
SEEN = 1.0
"""Least information on a direction in which they differ [1 / scale^2]."""


class Found(NamedTuple):
    """Result of the searches."""

    misfit: StackedResidual
    """Residuals with unknown inputs; with exact ones where these failed, or are all there are."""
    searches: tuple[SearchResult, ...]
    """For each start the best end, best first."""
    branches: tuple[SearchResult, ...] = ()
    """All ends near the best one, best first."""
    evaluations: int = 0
    """Simulations of all experiments, with derivatives."""
    warnings: tuple[str, ...] = ()
    """Why inputs were taken as exact."""


def with_unknown_inputs(
    exact: StackedResidual,
    searches: Sequence[SearchResult],
    free: np.ndarray,
    most: int,
    progress: Callable[[int, float], None] | None = None,
) -> Found:
    """Search with noisy inputs as unknowns, for each distinct end with exact inputs.

    Noise of inputs biases searches that take them as exact. So each search begins at the start or
    at the end of one with exact inputs, whichever has less cost after a few steps. The best one is
    ended first, and others are left where they hardly come nearer. The likeliest inputs may lie on
    several branches of the motion, each with a minimum of its own: further searches begin around
    the best end, with new inputs.

    Args:
        exact: Residuals with exact inputs.
        searches: Their ends, best first.
        free: Mask of the parameters to fit, shape (n_rho,).
        most: Limit of evaluations of a search.
        progress: Called with steps or evaluations so far, and the last cost.
    """
    experiments = [one.with_unknown_inputs() or one for one in exact.experiments]
    if all(one.unknowns == 0 for one in experiments):
        return Found(exact, tuple(searches))
    ends = _Ends(StackedResidual(experiments, exact.parameters), free, most, progress)
    begun = list[tuple[_Begun, tuple[int, ...]]]()
    for group in _groups(searches):
        one = ends.begin(searches[group[0]].start, searches[group[0]].rho)
        begun += [(one, group)] if one is not None else []
    found = list[SearchResult]()
    for one, group in sorted(begun, key=lambda pair: pair[0].cost):
        end = ends.end(one)
        found += [replace(end, start=searches[i].start) for i in group] if end else []
    if not ends.found:
        warning = (
            "noisy inputs were taken as exact, since the search with unknown errors of them "
            f"failed: {ends.why} Estimates may be biased"
        )
        return Found(exact, tuple(searches), (), ends.evaluations, (warning,))
    ends.around()
    keep(ends.misfit, ends.kept)
    found.sort(key=lambda one: one.cost)
    found[0] = replace(ends.found[0], start=found[0].start)
    return Found(ends.misfit, tuple(found), tuple(ends.found), ends.evaluations)


def _groups(searches: Sequence[SearchResult]) -> list[tuple[int, ...]]:
    """Searches that ended at the same minimum, and each that ended at none."""
    groups = [one.searches for one in distinct_minima(searches)]
    converged = {i for group in groups for i in group}
    return groups + [(i,) for i in range(len(searches)) if i not in converged]


class _Ends:
    """Searches with unknown inputs."""

    def __init__(
        self,
        misfit: StackedResidual,
        free: np.ndarray,
        most: int,
        progress: Callable[[int, float], None] | None,
    ) -> None:
        self.misfit, self.free, self.most, self.progress = misfit, free, most, progress
        self.evaluations, self.why = 0, ""
        self.found: list[SearchResult] = []
        """All ends, best first."""
        self.kept: list[Any] = []
        """Unknowns of the best one."""

    def begin(self, *at: np.ndarray) -> _Begun | None:
        """The best after a few steps from some parameters; None: all failed."""
        tried = [one for one in map(self._tried, at) if one is not None]
        return min(tried, key=lambda one: one.cost, default=None)

    def end(self, begun: _Begun) -> SearchResult | None:
        """The end of a search, or where it was left; None: it failed."""
        try:
            begun, hopeless = self._approached(begun)
            if hopeless:
                rho = begun.rho
                return SearchResult(rho, rho, begun.cost, Termination.LEFT, (), 0, 0, "")
            keep(self.misfit, begun.states or [])
            found = search(
                self.misfit, begun.rho, self.free, most=self.most, progress=self.progress
            )
            self.misfit.fits(found.rho)
        except SimulationError as error:
            self.why = str(error)
            return None
        self.evaluations += found.evaluations
        if not self.found or found.cost < self.found[0].cost:
            self.kept = kept(self.misfit)
        self.found = sorted((*self.found, found), key=lambda one: one.cost)
        return found

    def around(self) -> None:
        """Search again from around the best end, with new inputs."""
        random = np.random.default_rng(0)
        for _ in range(AROUND):
            begun = self.begin(self.found[0].rho + self._away(self.found[0], random))
            if begun is not None:
                self.end(begun)

    def _away(self, end: SearchResult, random: np.random.Generator) -> np.ndarray:
        """A random step of `DISTANCE` deviations, as far as the data determine the parameters."""
        scale = np.array([one.scale for one in self.misfit.parameters])
        assert end.information is not None  # of a search
        w, V = np.linalg.eigh(end.information * np.outer(scale, scale))
        seen = w > SEEN
        step = random.standard_normal(seen.sum())
        step *= DISTANCE / (np.linalg.norm(step) * np.sqrt(w[seen]))
        return scale * (V[:, seen] @ step)

    def _tried(self, rho: np.ndarray) -> _Begun | None:
        """A few steps; None: they failed."""
        inside = np.clip(rho, *bounds(self.misfit.parameters))
        try:
            return self._stepped(_Begun(inside, None, np.inf))
        except SimulationError as error:
            self.why = str(error)
            return None

    def _approached(self, begun: _Begun) -> tuple[_Begun, bool]:
        """A search after steps enough, and whether it is hopeless."""
        for _ in range(STEPS // TRIED):
            now = self._stepped(begun)
            gained, begun = begun.cost - now.cost, now
            if gained < DECREASE:
                break
            if self.found and now.cost - self.found[0].cost > HOPELESS * gained:
                return begun, True
        return begun, False

    def _stepped(self, begun: _Begun) -> _Begun:
        rho, steps, cost = approach(
            self.misfit,
            begun.rho,
            self.free,
            self.progress,
            most=TRIED,
            states=begun.states,
        )
        self.evaluations += steps
        return _Begun(rho, kept(self.misfit), cost)


class _Begun(NamedTuple):
    """A search after a few steps."""

    rho: np.ndarray
    states: list[Any] | None
    """Its unknowns; None: new ones."""
    cost: float
