"""Distances from disturbed starts, swum by policies and by gaits whose torques are replayed."""

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
"""Factors of the deviations of `Start` from rest, straight ahead [-]."""
STARTS, TRIED = 100, 10
"""Number of starts of each swimmer, and number of starts that select the best of the rivals."""

Act = Callable[[int, np.ndarray], np.ndarray]
"""(decision, states (m, k)) -> torques [N m], shape (m, n)."""


@dataclass(frozen=True)
class Ways:
    """Distances of one policy or gait from many starts."""

    name: str
    """Name of the policy or gait."""
    disturbance: float
    """Factor of the deviations of `Start` [-]."""
    mean: float
    """Mean distance of the centre of mass along x, until the end or a hinge's limit [cm]."""
    deviation: float
    """Standard deviation over the starts [cm]."""
    lost: float
    """Fraction of starts after which a hinge bends too far [-]."""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
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
    """Compare policies, the planned gait and the best of other gaits from the same starts.

    The torques of gaits are replayed without feedback and rate limit. The best of the rivals has
    the largest mean distance from the first `TRIED` starts.

    Args:
        study: The swimmer, on its map.
        policies: Policies by name.
        planned: Gait of the planner.
        rivals: Other gaits, at least one.
        starts: Number of starts for each of `FACTORS`.
        seed: Seed of the starts.
    """
    distances = []
    for factor in FACTORS:
        start = Start().times(factor)
        task, sudden = (SwimTask(study, start=start, rise=rise) for rise in (None, 0.0))
        state = task.begin(np.random.default_rng(seed), starts)
        for name, policy in policies.items():
            policy.check_fits(task.interface, f"the {study.body}")
            way, lost = _swim(task, state, _act_by_policy(task, policy))
            distances.append(_ways(name, factor, way, lost))
        tried = np.tile(state[:TRIED], (len(rivals), 1))
        rival_torques = np.array([gait.u for gait in rivals]).repeat(len(state[:TRIED]), axis=0)
        way, _ = _swim(sudden, tried, _act_by_torques(sudden, rival_torques))
        best = rivals[int(way.reshape(len(rivals), -1).mean(axis=1).argmax())]
        gaits = {"planned gait": planned, f"best of {len(rivals)} random gaits": best}
        for name, gait in gaits.items():
            way, lost = _swim(sudden, state, _act_by_torques(sudden, gait.u[None]))
            distances.append(_ways(name, factor, way, lost))
    return distances


def _act_by_policy(task: SwimTask, policy: Policy) -> Act:
    return lambda _, state: policy(task.observe(state))


def _act_by_torques(task: SwimTask, torques: np.ndarray) -> Act:
    """Return a function that applies torques over the limit, shape (m or 1, K - 1, n)."""
    return lambda k, state: np.broadcast_to(task.torque * torques[:, k], (len(state), task.n))


def _ways(name: str, factor: float, way: np.ndarray, lost: np.ndarray) -> Ways:
    return Ways(name, factor, float(way.mean()), float(way.std()), float(lost.mean()))


def _swim(task: SwimTask, state: np.ndarray, act: Act) -> tuple[np.ndarray, np.ndarray]:
    """Return the distances [cm] and a mask of the lost swimmers, shapes (m,)."""
    first = task.centre(state)[:, 0]
    lost = np.zeros(len(state), bool)
    for k in range(task.decisions):
        after, valid = task.advance(state, act(k, state))
        lost |= ~valid
        state = np.where(lost[:, None], state, after)
    way: np.ndarray = 100.0 * (task.centre(state)[:, 0] - first)
    return way, lost
