"""How far swimmers come from disturbed starts: policies, and gaits whose torques are played."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sofa_softctl.learning import Policy
from softctl_swimmer.learning.task import Start, SwimTask
from softctl_swimmer.planning.gaits import Gait
from softctl_swimmer.planning.study import Study

FACTORS = (0.0, 0.1, 0.3, 1.0)
"""How far starts are from rest, straight ahead, over `Start`."""
STARTS, TRIED = 100, 10
"""From which each swims, and those from which the best of other gaits is chosen."""

Act = Callable[[int, np.ndarray], np.ndarray]
"""(decision, states (m, k)) -> torques [N m], shape (m, n)."""


@dataclass(frozen=True)
class Ways:
    """How far one swims from many starts."""

    name: str
    """What drives it."""
    disturbance: float
    """Over `Start` [-]."""
    mean: float
    """Way of the centre of mass along x, to the end or to where a hinge bends too far [cm]."""
    deviation: float
    """Its standard deviation over the starts [cm]."""
    lost: float
    """Share of starts after which a hinge bends too far."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def compare_starts(
    study: Study,
    policies: Mapping[str, Policy],
    planned: Gait,
    rivals: Sequence[Gait],
    *,
    starts: int = STARTS,
    seed: int = 0,
) -> list[Ways]:
    """Policies, the planned gait, and the best of others, from the same starts.

    The torques of gaits are played whatever the swimmer does, and as suddenly as they were planned;
    the best of the rivals is the one that comes farthest from the first `TRIED` starts in the mean.

    Args:
        study: The swimmer, on its map.
        policies: By name.
        planned: A gait of its planner.
        rivals: Other gaits, one at least.
        starts: From each of which all swim, for each of `FACTORS`.
        seed: Of the starts.
    """
    found = []
    for factor in FACTORS:
        start = Start().times(factor)
        task, sudden = (SwimTask(study, start=start, rise=rise) for rise in (None, 0.0))
        state = task.begin(np.random.default_rng(seed), starts)
        for name, policy in policies.items():
            policy.check_fits(task.interface, f"the {study.body}")
            way, lost = _swim(task, state, _acting(task, policy))
            found.append(_ways(name, factor, way, lost))
        tried = np.tile(state[:TRIED], (len(rivals), 1))
        each = np.array([gait.u for gait in rivals]).repeat(len(state[:TRIED]), axis=0)
        way, _ = _swim(sudden, tried, _playing(sudden, each))
        best = rivals[int(way.reshape(len(rivals), -1).mean(axis=1).argmax())]
        others = {"planned gait": planned, f"best of {len(rivals)} random gaits": best}
        for name, gait in others.items():
            way, lost = _swim(sudden, state, _playing(sudden, gait.u[None]))
            found.append(_ways(name, factor, way, lost))
    return found


def _acting(task: SwimTask, policy: Policy) -> Act:
    return lambda _, state: policy(task.observe(state))


def _playing(task: SwimTask, torques: np.ndarray) -> Act:
    """Plays torques over the largest, shape (m or 1, K - 1, n)."""
    return lambda k, state: np.broadcast_to(task.torque * torques[:, k], (len(state), task.n))


def _ways(name: str, factor: float, way: np.ndarray, lost: np.ndarray) -> Ways:
    return Ways(name, factor, float(way.mean()), float(way.std()), float(lost.mean()))


def _swim(task: SwimTask, state: np.ndarray, act: Act) -> tuple[np.ndarray, np.ndarray]:
    """Ways [cm] and whether each was lost, shapes (m,)."""
    first = task.centre(state)[:, 0]
    lost = np.zeros(len(state), bool)
    for k in range(task.decisions):
        after, valid = task.advance(state, act(k, state))
        lost |= ~valid
        state = np.where(lost[:, None], state, after)
    way: np.ndarray = 100.0 * (task.centre(state)[:, 0] - first)
    return way, lost
