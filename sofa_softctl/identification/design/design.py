"""Design of the motion that adds most information: random search, then local refinement.

Information is that of `experiment_design.rank`, half of the log det of the parameters' covariance
before over after (D-optimal). It does not depend on the units of the parameters, and counts each
halving of an interval alike. A-optimal designs (sum of variances) depend on units, E-optimal ones
(the worst direction) on how directions are scaled, and ignore all others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.data.recording import Recording
from sofa_softctl.identification.design.limits import InputLimits, input_limits, output_range
from sofa_softctl.identification.design.motions import FAMILIES, within
from sofa_softctl.identification.fitting.estimate import Estimate
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.problem import Problem
from sofa_softctl.identification.uncertainty.experiment_design import Candidate, Known

EVALUATIONS = 200
"""Motions that are simulated."""
RANDOM = 0.4
"""Share of these that are drawn; the others are near the best ones so far."""
SEVERAL = 0.5
"""Share of the others that are near the best one of each family, not near the best of all."""
STEP, WIDER, NARROWER = 0.3, 1.5, 0.9
"""First deviation of the local search, and its factors after a better and a worse motion."""
MOVED = 0.4
"""Share of the numbers of a motion that change at once."""


@dataclass(frozen=True, eq=False)
class Design:
    """A motion to command next, and what it is expected to tell."""

    candidate: Candidate
    """Information that it adds, and intervals afterwards."""
    again: Candidate
    """The same of a recorded motion, recorded once more."""
    family: str
    """Kind of the motion."""
    time: np.ndarray
    """Times [s], shape (n_times,)."""
    inputs: np.ndarray
    """Inputs to command [units], shape (n_times, n_inputs)."""
    outputs: np.ndarray
    """Predicted outputs [units], shape (n_times, n_outputs)."""
    channels: tuple[Channel, ...]
    """Of the outputs."""
    limits: tuple[InputLimits, ...]
    """Of the inputs."""
    gains: tuple[float, ...]
    """Information added by each motion that was drawn [nats], -inf: not allowed."""
    evaluations: int
    """Motions that were simulated."""
    seed: int
    """Of the search."""


def design_motion(
    problem: Problem,
    estimate: Estimate,
    experiments: Sequence[Experiment],
    recordings: Sequence[Recording],
    *,
    name: str = "designed motion",
    duration: float | None = None,
    amplitudes: Mapping[str, tuple[float, float]] | None = None,
    evaluations: int = EVALUATIONS,
    seed: int = 0,
    progress: Callable[[int, int, float], None] | None = None,
) -> Design:
    """The most informative of multisines, chirps and steps within the limits of the recordings.

    Inputs keep the range and rates of the recordings, each by itself; predicted outputs leave the
    range of the measured ones by a tenth of it at most. Ranges that are given replace recorded
    ones, and outputs are then not limited.

    Args:
        problem: Makes experiments of motions.
        estimate: From the recordings so far.
        experiments: Those of the estimate.
        recordings: Motions that the robot has made, those of the experiments first.
        name: Of the motion.
        duration: Of the motion [s]; None: that of the longest recording.
        amplitudes: Ranges of inputs [unit] in place of the recorded ones, by name.
        evaluations: Motions to simulate.
        seed: Of the search; the same seed gives the same motion.
        progress: Called with the motions simulated, of how many, and the best information so far.

    Raises:
        IdentificationError: No input can be changed, or no motion is possible.
    """
    search = _Search(problem, estimate, experiments, recordings, name, amplitudes, duration)
    random, drawn = np.random.default_rng(seed), max(len(FAMILIES), round(RANDOM * evaluations))
    gains = []
    for k in range(max(evaluations, drawn)):
        if k < drawn:
            gains.append(search.draw(k % len(FAMILIES), random))
        elif not np.isfinite(search.best.candidate.gain):
            break
        else:  # all families in turns, then the best one
            several = k < drawn + SEVERAL * (evaluations - drawn)
            search.refine(k % len(FAMILIES) if several else search.family, random)
        if progress is not None:
            progress(k + 1, evaluations, search.best.candidate.gain)
    if not np.isfinite(search.best.candidate.gain):
        raise IdentificationError(
            f"None of {drawn} motions within the limits of the recordings is possible: "
            f"{search.best.candidate.reason} Give a shorter --duration, or a range: --amplitude."
        )
    return search.result(tuple(gains), max(evaluations, drawn), seed)


@dataclass
class _Best:
    """The best motion of a family."""

    candidate: Candidate
    x: np.ndarray
    step: float = STEP


class _Search:
    """The best motion so far."""

    def __init__(
        self,
        problem: Problem,
        estimate: Estimate,
        experiments: Sequence[Experiment],
        recordings: Sequence[Recording],
        name: str,
        amplitudes: Mapping[str, tuple[float, float]] | None,
        duration: float | None,
    ) -> None:
        self.problem, self.estimate, self.name = problem, estimate, name
        self.known = Known(estimate, experiments)
        self.limits = input_limits(problem, recordings, amplitudes)
        longest = max(recordings, key=lambda one: one.time[-1] - one.time[0])
        self.time = _times(longest, problem.rate, duration)
        self.low, self.high = output_range(recordings, problem.channels)
        if amplitudes:
            self.low, self.high = np.full_like(self.low, -np.inf), np.full_like(self.high, np.inf)
        again = f"{longest.name} once more"
        self.again = self.known.judge(self._experiment(longest.time, longest.inputs, again))
        self.bests = [_Best(Candidate(name, -np.inf, {}, {}), np.empty(0)) for _ in FAMILIES]

    @property
    def family(self) -> int:
        """The family of the best motion."""
        return int(np.argmax([one.candidate.gain for one in self.bests]))

    @property
    def best(self) -> _Best:
        """The best motion."""
        return self.bests[self.family]

    def draw(self, family: int, random: np.random.Generator) -> float:
        """Information of a motion that is drawn; it is kept if it is the best of its family."""
        x = random.uniform(size=FAMILIES[family].size(len(self.limits)))
        found = self._judge(family, x)
        if found.gain > self.bests[family].candidate.gain or not self.bests[family].x.size:
            self.bests[family] = _Best(found, x)
        return found.gain

    def refine(self, family: int, random: np.random.Generator) -> None:
        """Try a motion near the best one of a family; steps grow and shrink with success.

        Source: Rechenberg, "Evolutionsstrategie", 1973: the (1 + 1) strategy.
        """
        best = self.bests[family]
        moved = random.uniform(size=len(best.x)) < MOVED
        x = np.clip(best.x + best.step * moved * random.standard_normal(len(best.x)), 0.0, 1.0)
        found = self._judge(family, x)
        if found.gain > best.candidate.gain:
            best.candidate, best.x, best.step = found, x, best.step * WIDER
        else:
            best.step *= NARROWER

    def result(self, gains: tuple[float, ...], evaluations: int, seed: int) -> Design:
        """The design, with predicted outputs."""
        inputs = self._inputs(self.family, self.best.x)
        experiment = self._experiment(self.time, inputs, self.name)
        rho = self.known.own(experiment)
        return Design(
            candidate=self.best.candidate,
            again=self.again,
            family=FAMILIES[self.family].name,
            time=self.time,
            inputs=inputs,
            outputs=experiment.outputs(rho),
            channels=tuple(experiment.channels),
            limits=self.limits,
            gains=gains,
            evaluations=evaluations,
            seed=seed,
        )

    def _judge(self, family: int, x: np.ndarray) -> Candidate:
        experiment = self._experiment(self.time, self._inputs(family, x), self.name)
        return self.known.judge(experiment, self._refused)

    def _inputs(self, family: int, x: np.ndarray) -> np.ndarray:
        shares = FAMILIES[family].motion(x, self.time, len(self.limits))
        return within(shares, self.time, self.limits)

    def _experiment(self, time: np.ndarray, inputs: np.ndarray, name: str) -> Experiment:
        outputs = np.full((len(time), len(self.problem.channels)), np.nan)
        return Experiment.checked(self.problem.experiment(Recording(name, time, inputs, outputs)))

    def _refused(self, channels: Sequence[Channel], outputs: np.ndarray) -> str:
        """Why predicted outputs are not allowed; empty: they are."""
        columns = {one.name: k for k, one in enumerate(self.problem.channels)}
        for one, predicted in zip(channels, outputs.T, strict=True):
            k, least, most = columns.get(one.name), predicted.min(), predicted.max()
            if k is not None and (least < self.low[k] or most > self.high[k]):
                reach = f"{least:.4g} to {most:.4g} {one.unit}"
                return f"{one.name} would be {reach}, outside what was recorded."
        return ""


def _times(longest: Recording, rate: float | None, duration: float | None) -> np.ndarray:
    """Even times from 0 on, at the rate of the problem, or of the longest recording."""
    dt = 1.0 / rate if rate else float(np.median(np.diff(longest.time)))
    wanted = longest.time[-1] - longest.time[0] if duration is None else duration
    steps = round(wanted / dt)
    if steps < 2:
        raise IdentificationError(
            f"A motion of {wanted:g} s has {steps} steps of {dt:g} s. Expected at least 2."
        )
    return dt * np.arange(steps + 1)
