"""Vector environments of Gymnasium for stable-baselines3, with statistics of episodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from sofa_softctl.errors import WorkerError
from sofa_softctl.learning.task.spaces import gymnasium
from sofa_softctl.learning.task.task import TIME_LIMIT


class EndedEpisode(NamedTuple):
    """Completed episode."""

    total: float
    """Return of the episode."""
    length: int
    """Number of decisions of the episode."""
    success: bool | None
    """Whether the task was done, or None if it does not define success."""
    lost: bool
    """Whether the robot was lost: it left its surrogate, or the simulation diverged."""


class VectorAdapter(VecEnv):  # type: ignore[misc]
    """Adapter of a `gymnasium.vector.VectorEnv` that resets in the same step to stable-baselines3.

    Args:
        vector: The environments.
        seed: Seed of the first reset.
    """

    def __init__(self, vector: gymnasium.vector.VectorEnv, seed: int) -> None:
        mode = vector.metadata.get("autoreset_mode")
        assert mode is gymnasium.vector.AutoresetMode.SAME_STEP, mode
        self.vector, self._seed = vector, seed
        self._returns = np.zeros(vector.num_envs)
        self._lengths = np.zeros(vector.num_envs, int)
        self.episodes: list[EndedEpisode] = []
        """Episodes that ended since they were last counted."""
        super().__init__(
            vector.num_envs, vector.single_observation_space, vector.single_action_space
        )

    def reset(self) -> np.ndarray:
        """Reset all environments and return observations; the seed is used once."""
        seed, self._seed = self._seed, None  # type: ignore[assignment]
        observation, _ = self.vector.reset(seed=seed)
        self._returns[:], self._lengths[:] = 0.0, 0
        return np.asarray(observation)

    def step_async(self, actions: np.ndarray) -> None:
        """Store actions."""
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Return observations, rewards, ends and infos."""
        try:
            observation, rewards, terminated, truncated, info = self.vector.step(self._actions)
        except WorkerError as error:
            raise WorkerError(f"{error} The last checkpoint is kept: --resume goes on.") from error
        self._returns += rewards
        self._lengths += 1
        ended = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for i in np.flatnonzero(ended).tolist():
            last, final = info["final_obs"][i], info.get("final_info", {})
            lost = _info_value(final, "truncation", i) not in (None, TIME_LIMIT)
            infos[i] = {
                "terminal_observation": last,
                "TimeLimit.truncated": bool(truncated[i] and not lost),
            }
            infos[i]["episode"] = {"r": float(self._returns[i]), "l": int(self._lengths[i])}
            success = _info_value(final, "success", i)
            is_success = None if success is None else bool(success)
            self.episodes.append(
                EndedEpisode(float(self._returns[i]), int(self._lengths[i]), is_success, lost)
            )
        self._returns[ended], self._lengths[ended] = 0.0, 0
        return np.asarray(observation), np.asarray(rewards, np.float32), ended, infos

    def close(self) -> None:
        """Close the environments, and end their remaining processes."""
        self.vector.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Raise AttributeError."""
        if attr_name == "render_mode":
            return [None] * self.num_envs
        raise AttributeError(attr_name)

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Raise AttributeError."""
        raise AttributeError(attr_name)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> Any:
        """Raise AttributeError."""
        raise AttributeError(method_name)

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Return False for each environment."""
        return [False] * self.num_envs

    def seed(self, seed: int | None = None) -> Sequence[None]:
        """Ignore the seed of stable-baselines3: ours is used at the next reset."""
        del seed
        return [None] * self.num_envs


def _info_value(final: dict[str, Any], name: str, i: int) -> Any:
    """Return a value of environment i's last info by its name, or None."""
    is_known = final.get(f"_{name}", np.zeros(0, bool))
    return final[name][i] if len(is_known) > i and is_known[i] else None
