"""Settings of a training."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sofa_softctl.errors import UsageError


@dataclass(frozen=True)
class Settings:
    """Proximal policy optimisation, with the paper's size of an iteration.

    Source: Schulman, Wolski, Dhariwal, Radford, Klimov 2017, "Proximal policy optimization
        algorithms"; 16,384 decisions an iteration: Jia, Pan, Manocha 2019, section V.
    """

    steps: int = 200 * 16384
    """Total number of decisions."""
    iteration: int = 16384
    """Number of decisions in an iteration, of all environments together."""
    envs: int = 64
    """Number of environments."""
    minibatch: int = 512
    """Number of decisions in a gradient."""
    epochs: int = 10
    """Number of passes over the decisions of an iteration."""
    learning_rate: float = 3e-4
    """Initial learning rate of Adam; decays to zero over the training."""
    discount: float = 0.99
    """Discount of rewards per decision [-]."""
    trace: float = 0.95
    """Lambda of the generalised advantage estimate."""
    clip: float = 0.2
    """Largest change of the probability ratio that is rewarded [-]."""
    entropy: float = 0.0
    """Weight of the entropy."""
    spread: float = 0.6
    """Standard deviation of actions at the start [fraction of half their range]."""
    layers: tuple[int, ...] = (64, 64)
    """Number of neurons of the hidden layers, in policy and in value."""
    seed: int = 0
    """Seed of all random numbers."""

    def __post_init__(self) -> None:
        if self.steps < 1 or self.envs < 1 or self.iteration % self.envs:
            raise UsageError(
                "A training needs steps and environments, and as many decisions of each in an "
                f"iteration. Got: {self.steps} steps, {self.envs} environments, {self.iteration} "
                "decisions in an iteration"
            )
        wrong = [
            f"{name} {value}, {expected}"
            for expected, names, fits in (
                ("from 0 to 1", ("discount", "trace"), lambda value: 0.0 <= value <= 1.0),
                ("above 0", ("learning_rate", "clip", "spread"), lambda value: value > 0.0),
                ("0 at least", ("entropy",), lambda value: value >= 0.0),
                ("1 at least", ("minibatch", "epochs", "iteration"), lambda value: value >= 1),
            )
            for name in names
            if not fits(value := getattr(self, name))
        ]
        if wrong:
            raise UsageError(f"Settings of a training are not possible: {'; '.join(wrong)}.")
        if self.iteration % self.minibatch:
            raise UsageError(
                f"Minibatches must fill an iteration. Got: {self.minibatch} of {self.iteration}"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return asdict(self)


SCENES = {"steps": 50_000, "iteration": 1024, "envs": 2, "minibatch": 128, "spread": 0.5}
"""Settings for scenes, whose steps take milliseconds."""
