"""What is learned in a scene."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sofa_softctl.learning.action import Action
from sofa_softctl.learning.episode import Episode
from sofa_softctl.learning.observation import Observation

TIME_LIMIT = "time limit"
"""`info["truncation"]` of an episode whose decisions are used up."""


@dataclass(frozen=True)
class Limits:
    """How long things last."""

    decisions: int = 200
    """Of an episode: then it is truncated."""
    hold: int = 1
    """Steps of the scene from one decision to the next."""
    settle: int = 0
    """Steps of the scene before the first episode, which all episodes begin with."""
    out_of_bounds: str = "clip"
    """What happens to actions beyond their bounds: 'clip' (and count) or 'refuse'."""

    def __post_init__(self) -> None:
        if self.decisions < 1 or self.hold < 1 or self.settle < 0:
            raise ValueError(
                "decisions and hold must be 1 at least, settle 0. Got: "
                f"{self.decisions}, {self.hold}, {self.settle}"
            )
        if self.out_of_bounds not in ("clip", "refuse"):
            raise ValueError(f"out_of_bounds is 'clip' or 'refuse'. Got: '{self.out_of_bounds}'")


@dataclass(frozen=True)
class Task:
    """A task of a scene, from the dictionary LEARNING of its file, or for `SceneEnv`."""

    observation: Sequence[Observation]
    """What the policy sees."""
    action: Sequence[Action]
    """What it drives."""
    reward: Callable[[Episode], float]
    """Of a decision, once its steps are done."""
    limits: Limits = field(default_factory=Limits)
    """How long things last."""
    begin: Callable[[Episode], None] | None = None
    """Called at the start of each episode, in the state that all begin with: draws a goal."""
    done: Callable[[Episode], bool] | None = None
    """Whether the task is at its end, done or failed, after a decision."""
    success: Callable[[Episode], bool] | None = None
    """Whether the task is done, where that is a yes or a no; in the last `info` of an episode."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Of createScene, such as those that leave a controller out."""
    randomize: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Parameters of createScene that each episode draws anew, from least to greatest. The scene is
    built again for that."""
    baseline: Callable[[Episode], Mapping[str, Any]] | None = None
    """Parameters of createScene with which the scene's own controller does an episode that has
    begun, beside those that are drawn; for `softctl score --baseline`."""
