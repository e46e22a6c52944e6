"""Many environments that decide together, spread over processes that have many of them each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from sofa_softctl.base.executors.copies import Copies, raise_first
from sofa_softctl.base.machine import core_count
from sofa_softctl.learning.task.spaces import gymnasium
from sofa_softctl.scene.session.batch import create_quietly

VectorEnv = gymnasium.vector.VectorEnv
AutoresetMode = gymnasium.vector.AutoresetMode
_MODES = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)
Decision = tuple[np.ndarray, float, bool, bool, dict[str, Any]]


def worker_count(num_envs: int) -> int:
    """Return the number of processes with which environments are quickest: one per core, or 0."""
    count = min(core_count(), num_envs)
    return count if count > 1 else 0


class CopiesVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Copies of an environment, in this process or shared out to several.

    An episode depends on its seed and actions only, not on the number of copies or processes.

    Args:
        create: Returns an environment; with workers it is pickled.
        num_envs: Number of environments.
        workers: Number of processes, at most one per environment and core; 0 keeps all
            environments in this one.
        autoreset_mode: Step that resets an environment whose episode ended: the next one, or the
            same one, with its last observation in `info["final_obs"]`.

    Raises:
        UsageError: There is no environment, or there are more processes than environments or cores.
        WorkerError: A process was lost.

    Attributes:
        metadata: Passed to gymnasium.vector.VectorEnv.
        copies: The environments.
    """

    def __init__(
        self,
        create: Callable[[], Any],
        num_envs: int,
        workers: int = 0,
        *,
        autoreset_mode: AutoresetMode = AutoresetMode.SAME_STEP,
    ) -> None:
        if autoreset_mode not in _MODES:
            raise ValueError(f"autoreset_mode is NEXT_STEP or SAME_STEP. Got: {autoreset_mode}")
        numbered = partial(create_quietly, create)
        self.copies = Copies(numbered, num_envs, workers, name="environment", delete=_close)
        self.num_envs = num_envs
        spaces = self.copies.call(_spaces)[0]
        self.single_observation_space, self.single_action_space, metadata = spaces
        self.metadata = {**metadata, "autoreset_mode": autoreset_mode}
        batched = gymnasium.vector.utils.batch_space
        self.observation_space = batched(self.single_observation_space, num_envs)
        self.action_space = batched(self.single_action_space, num_envs)
        self._resets_now = autoreset_mode is AutoresetMode.SAME_STEP
        self._has_ended = np.zeros(num_envs, bool)

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode in each environment.

        Args:
            seed: Seed of the first environment, from which the others count up; or all seeds.
            options: Options for each environment.

        Raises:
            ValueError: There is not one seed per environment.
        """
        count = self.num_envs
        seeds = list(seed) if isinstance(seed, list) else [seed] * count
        if isinstance(seed, int):
            seeds = [seed + k for k in range(count)]
        if len(seeds) != count:
            raise ValueError(f"A list has a seed for each environment, {count}. Got: {seed}")
        self._has_ended[:] = False
        observations, infos = zip(*self.copies.call(_reset, seeds, [options] * count), strict=True)
        return np.stack(observations), self._merge(list(infos))

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Make a decision in each environment.

        Returns:
            Observations, rewards, masks of terminated and truncated episodes, and infos.

        Raises:
            Exception: The first error of an environment, named in a note.
        """
        begins = list(self._has_ended) if not self._resets_now else [False] * self.num_envs
        resets = [self._resets_now] * self.num_envs
        outcomes = self.copies.try_call(_decide, list(actions), begins, resets)
        raise_first(outcomes, self.copies.name)
        decisions: list[Decision] = [outcome.result for outcome in outcomes]
        observations, rewards, terminated, truncated, infos = zip(*decisions, strict=True)
        is_terminated, is_truncated = np.array(terminated, bool), np.array(truncated, bool)
        self._has_ended = is_terminated | is_truncated
        totals = np.array(rewards, float)
        return np.stack(observations), totals, is_terminated, is_truncated, self._merge(list(infos))

    def _merge(self, infos: list[dict[str, Any]]) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        for number, info in enumerate(infos):
            merged = self._add_info(merged, info, number)
        return merged

    def close_extras(self, **options: Any) -> None:
        """Close the environments; there are no options."""
        del options
        self.copies.close()


def _spaces(env: Any) -> tuple[Any, Any, dict[str, Any]]:
    return env.observation_space, env.action_space, dict(env.metadata)


def _reset(env: Any, seed: int | None, options: dict[str, Any] | None) -> Any:
    return env.reset(seed=seed, options=options)


def _decide(env: Any, action: np.ndarray, begins: bool, resets: bool) -> Decision:
    """Make a decision, or begin an episode; begin one after the end of another if it `resets`."""
    if begins:
        observation, info = env.reset()
        return observation, 0.0, False, False, info
    observation, reward, terminated, truncated, info = env.step(action)
    if resets and (terminated or truncated):
        last = {"final_obs": observation, "final_info": info}
        observation, info = env.reset()
        info = {**last, **info}
    return observation, reward, terminated, truncated, info


def _close(env: Any) -> None:
    env.close()
