"""Design of the motion that adds most information: random search, then local refinement.

Information is half of the log det of the parameters' covariance before over after (D-optimal), see
`experiment_design.rank`. It does not depend on the units of the parameters, and each halving of an
interval adds the same amount. A-optimal designs (sum of variances) depend on units, E-optimal ones
(the worst direction) on the scaling of directions, and ignore all other directions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.design.limits import InputLimits, input_limits, output_range
from sofa_softctl.identification.design.motions import FAMILIES, limit_inputs
from sofa_softctl.identification.fitting.estimate import Estimate
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.problem import Problem
from sofa_softctl.identification.model.recording import Recording
from sofa_softctl.identification.uncertainty.experiment_design import Candidate, PriorInformation


@dataclass(frozen=True)
class DesignSettings:
    """Numbers of the search."""

    random_fraction: float = 0.4
    """Fraction of the motions that are drawn at random; the others are near the best ones [-]."""
    family_fraction: float = 0.5
    """Fraction of these others that are near the best motion of each family, not of all [-]."""
    first_step: float = 0.3
    """First standard deviation of the local search, relative to the range of a number [-]."""
    success_factor: float = 1.5
    """Factor of the standard deviation after a better motion [-]."""
    failure_factor: float = 0.9
    """Factor of the standard deviation after a worse motion [-]."""
    changed_fraction: float = 0.4
    """Fraction of the numbers of a motion that change in a step [-]."""


SETTINGS = DesignSettings()


@dataclass(frozen=True, eq=False)
class Design:
    """Motion to command next, with the information that it is expected to add."""

    candidate: Candidate
    """Expected information, and intervals afterwards."""
    again: Candidate
    """Expected information of repeating a recorded motion."""
    family: str
    """Kind of the motion."""
    time: np.ndarray
    """Times [s], shape (n_times,)."""
    inputs: np.ndarray
    """Inputs to command [units], shape (n_times, n_inputs)."""
    outputs: np.ndarray
    """Predicted outputs [units], shape (n_times, n_outputs)."""
    channels: tuple[Channel, ...]
    """Channels of the outputs."""
    limits: tuple[InputLimits, ...]
    """Limits of the inputs."""
    gains: tuple[float, ...]
    """Information added by each motion that was drawn [nats], -inf: not allowed."""
    evaluations: int
    """Number of motions that were simulated."""
    seed: int
    """Seed of the search."""


def design_motion(
    problem: Problem,
    estimate: Estimate,
    experiments: Sequence[Experiment],
    recordings: Sequence[Recording],
    *,
    name: str = "designed motion",
    duration: float | None = None,
    amplitudes: Mapping[str, tuple[float, float]] | None = None,
    evaluations: int = 200,
    seed: int = 0,
    progress: Callable[[int, int, float], None] | None = None,
) -> Design:
    """Find the most informative multisine, chirp or steps within the limits of the recordings.

    Each input keeps the range and rates of the recordings; predicted outputs leave the range of the
    measured ones by at most a tenth. With `amplitudes`, outputs are not limited.

    Args:
        problem: Makes experiments of motions.
        estimate: Estimate from the recordings.
        experiments: Experiments of the estimate.
        recordings: Recorded motions of the robot, first the ones of the experiments.
        name: Name of the motion.
        duration: Duration of the motion [s], by default of the longest recording.
        amplitudes: Ranges of inputs [unit] that replace the recorded ones, by name.
        evaluations: Number of motions to simulate.
        seed: Seed of the search; the same seed gives the same motion.
        progress: Called with the number of simulated motions, of all, and the best information.

    Raises:
        IdentificationError: No input can be changed, or no motion is possible.
    """
    search = _Search(problem, estimate, experiments, recordings, name, amplitudes, duration)
    random, random_count = (
        np.random.default_rng(seed),
        max(len(FAMILIES), round(SETTINGS.random_fraction * evaluations)),
    )
    gains = []
    for k in range(max(evaluations, random_count)):
        if k < random_count:
            gains.append(search.draw(k % len(FAMILIES), random))
        elif not np.isfinite(search.best.candidate.gain):
            break
        else:  # each family in turn, then the best one
            refines_families = k < random_count + SETTINGS.family_fraction * (
                evaluations - random_count
            )
            search.refine(k % len(FAMILIES) if refines_families else search.family, random)
        if progress is not None:
            progress(k + 1, evaluations, search.best.candidate.gain)
    if not np.isfinite(search.best.candidate.gain):
        raise IdentificationError(
            f"None of {random_count} motions within the limits of the recordings is possible: "
            f"{search.best.candidate.reason} Give a shorter --duration, or a range: --amplitude."
        )
    return search.result(tuple(gains), max(evaluations, random_count), seed)


@dataclass
class _Best:
    """Best motion of a family."""

    candidate: Candidate
    x: np.ndarray
    step: float = SETTINGS.first_step


class _Search:
    """Search with the best motion of each family."""

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
        self.known = PriorInformation(estimate, experiments)
        self.limits = input_limits(problem, recordings, amplitudes)
        longest = max(recordings, key=lambda recording: recording.time[-1] - recording.time[0])
        self.time = _sample_times(longest, problem.rate, duration)
        self.low, self.high = output_range(recordings, problem.channels)
        if amplitudes:
            self.low, self.high = np.full_like(self.low, -np.inf), np.full_like(self.high, np.inf)
        again = f"{longest.name} once more"
        self.again = self.known.judge(self._experiment(longest.time, longest.inputs, again))
        self.bests = [_Best(Candidate(name, -np.inf, {}, {}), np.empty(0)) for _ in FAMILIES]

    @property
    def family(self) -> int:
        """Index of the family of the best motion."""
        return int(np.argmax([best.candidate.gain for best in self.bests]))

    @property
    def best(self) -> _Best:
        """The best motion."""
        return self.bests[self.family]

    def draw(self, family: int, random: np.random.Generator) -> float:
        """Draw a motion, store it if it is the best of its family, and return its information."""
        x = random.uniform(size=FAMILIES[family].size(len(self.limits)))
        candidate = self._judge(family, x)
        if candidate.gain > self.bests[family].candidate.gain or not self.bests[family].x.size:
            self.bests[family] = _Best(candidate, x)
        return candidate.gain

    def refine(self, family: int, random: np.random.Generator) -> None:
        """Try a motion near the best one of a family; steps grow and shrink with success.

        Source: Rechenberg, "Evolutionsstrategie", 1973: the (1 + 1) strategy.
        """
        best = self.bests[family]
        is_changed = random.uniform(size=len(best.x)) < SETTINGS.changed_fraction
        x = np.clip(best.x + best.step * is_changed * random.standard_normal(len(best.x)), 0.0, 1.0)
        candidate = self._judge(family, x)
        if candidate.gain > best.candidate.gain:
            best.candidate, best.x, best.step = candidate, x, best.step * SETTINGS.success_factor
        else:
            best.step *= SETTINGS.failure_factor

    def result(self, gains: tuple[float, ...], evaluations: int, seed: int) -> Design:
        """Return the design, with predicted outputs."""
        inputs = self._inputs(self.family, self.best.x)
        experiment = self._experiment(self.time, inputs, self.name)
        rho = self.known.parameters_of(experiment)
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
        return self.known.judge(experiment, self._reason_not_allowed)

    def _inputs(self, family: int, x: np.ndarray) -> np.ndarray:
        fractions = FAMILIES[family].motion(x, self.time, len(self.limits))
        return limit_inputs(fractions, self.time, self.limits)

    def _experiment(self, time: np.ndarray, inputs: np.ndarray, name: str) -> Experiment:
        outputs = np.full((len(time), len(self.problem.channels)), np.nan)
        return Experiment.checked(self.problem.experiment(Recording(name, time, inputs, outputs)))

    def _reason_not_allowed(self, channels: Sequence[Channel], outputs: np.ndarray) -> str:
        """Return the reason why predicted outputs are not allowed, or ""."""
        columns = {channel.name: k for k, channel in enumerate(self.problem.channels)}
        for channel, predicted in zip(channels, outputs.T, strict=True):
            k, lowest, highest = columns.get(channel.name), predicted.min(), predicted.max()
            if k is not None and (lowest < self.low[k] or highest > self.high[k]):
                range_text = f"{lowest:.4g} to {highest:.4g} {channel.unit}"
                return f"{channel.name} would be {range_text}, outside what was recorded."
        return ""


def _sample_times(longest: Recording, rate: float | None, duration: float | None) -> np.ndarray:
    """Return even times from 0, at the rate of the problem, or of the longest recording."""
    dt = 1.0 / rate if rate else float(np.median(np.diff(longest.time)))
    requested_duration = longest.time[-1] - longest.time[0] if duration is None else duration
    steps = round(requested_duration / dt)
    if steps < 2:
        raise IdentificationError(
            f"A motion of {requested_duration:g} s has {steps} steps of {dt:g} s. Expected at "
            "least 2."
        )
    return dt * np.arange(steps + 1)
