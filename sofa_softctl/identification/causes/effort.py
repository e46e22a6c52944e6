"""Expected time of the search for causes: tests of effects, and fits with the likely ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from sofa_softctl.identification.effects.selection import effects_of
from sofa_softctl.identification.fitting.estimate import Estimate
from sofa_softctl.identification.model.experiment import Experiment


@dataclass(frozen=True)
class EffortSettings:
    """Longest time of a search for causes, and its typical simulations."""

    time_max: float = 60.0
    """Expected time above which the search is made on request only [s]."""
    fit_simulations: float = 4.5
    """Simulations of a fit with one more parameter."""
    column_simulations: float = 10.0
    """Simulations of the search for columns that are wrong, and for signals that stick."""


SETTINGS = EffortSettings()


class SearchTooLongError(Exception):
    """The search for causes is expected to take too long; `seconds` says how long."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"about {seconds:.0f} s")
        self.seconds = seconds


class SearchTime:
    """Time of a search for causes: past, and expected by its number of simulations.

    Args:
        estimate: Estimate whose residuals are explained.
        experiments: Experiments as they were given to it.
        is_limited: Whether a search above `EffortSettings.time_max` ends.
    """

    def __init__(
        self, estimate: Estimate, experiments: Sequence[Experiment], *, is_limited: bool
    ) -> None:
        self.effects = {
            effect.name: effect.simulations
            for experiment in experiments
            for effect in effects_of(experiment)
            if effect.name not in estimate.names
        }
        """Simulations, with derivatives, that the test of each effect takes, by name."""
        self.tests = sum(self.effects.values()) + len(estimate.fixed)
        """Simulations of all tests."""
        self.simulation = simulation_seconds(estimate)
        """Time of a simulation [s]."""
        self.is_limited, self._began = is_limited, perf_counter()

    def total_seconds(self, fits: int) -> float:
        """Return the expected time of all tests, and of a number of fits with columns [s]."""
        simulations = [self.fit_simulations(name) for name in self.effects]
        average = float(np.mean(simulations)) if simulations else SETTINGS.fit_simulations
        columns = SETTINGS.column_simulations if fits else 0.0
        return self.simulation * (self.tests + columns + fits * average)

    def fit_simulations(self, name: str) -> float:
        """Return the simulations of a fit with an effect, or with a parameter that was fixed."""
        return SETTINGS.fit_simulations * max(self.effects.get(name, 1.0), 1.0)

    def check(self, remaining: float) -> None:
        """End a limited search that takes too long.

        Args:
            remaining: Expected remaining time [s].

        Raises:
            SearchTooLongError: Past and remaining time are above the limit.
        """
        total = perf_counter() - self._began + remaining
        if self.is_limited and total > SETTINGS.time_max:
            raise SearchTooLongError(total)


def simulation_seconds(estimate: Estimate) -> float:
    """Wall time of a simulation of all experiments, with derivatives [s]."""
    seconds = [search.simulation_seconds for search in estimate.searches]
    typical = float(np.median(seconds)) if seconds else 0.0
    return typical or estimate.seconds / max(estimate.evaluations, 1)
