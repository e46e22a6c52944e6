"""Vector environments of Gymnasium for stable-baselines3, with statistics of episodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from sofa_softctl.errors import WorkerError
from sofa_softctl.learning.gym import gymnasium


class VectorAdapter(VecEnv):  # type: ignore[misc]
    """A `gymnasium.vector.VectorEnv` that resets in the same step, as stable-baselines3 sees it.

    Args:
        vector: The environments.
        seed: Of the first reset.
    """

    def __init__(self, vector: gymnasium.vector.VectorEnv, seed: int) -> None:
        mode = vector.metadata.get("autoreset_mode")
        assert mode is gymnasium.vector.AutoresetMode.SAME_STEP, mode
        self.vector, self._seed = vector, seed
        self._returns = np.zeros(vector.num_envs)
        self._lengths = np.zeros(vector.num_envs, int)
        self._lost_process = False
        self.episodes: list[tuple[float, int, bool | None]] = []
        """Return, decisions and success (None: there is no such) of each episode that ended."""
        super().__init__(
            vector.num_envs, vector.single_observation_space, vector.single_action_space
        )

    def reset(self) -> np.ndarray:
        """Observations of new episodes; the seed is used once."""
        seed, self._seed = self._seed, None  # type: ignore[assignment]
        seen, _ = self._alive(self.vector.reset, seed=seed)
        self._returns[:], self._lengths[:] = 0.0, 0
        return np.asarray(seen)

    def step_async(self, actions: np.ndarray) -> None:
        """Remember actions."""
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Observations, rewards, ends and infos."""
        seen, rewards, done, cut, info = self._alive(self.vector.step, self._actions)
        self._returns += rewards
        self._lengths += 1
        ended = done | cut
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for i in np.flatnonzero(ended).tolist():
            last = info["final_obs"][i]
            infos[i] = {"terminal_observation": last, "TimeLimit.truncated": bool(cut[i])}
            infos[i]["episode"] = {"r": float(self._returns[i]), "l": int(self._lengths[i])}
            success = _success(info, i)
            self.episodes.append((float(self._returns[i]), int(self._lengths[i]), success))
        self._returns[ended], self._lengths[ended] = 0.0, 0
        return np.asarray(seen), np.asarray(rewards, np.float32), ended, infos

    def close(self) -> None:
        """Let go of the environments; what is left of their processes is ended."""
        self.vector.close(**({"terminate": True} if self._lost_process else {}))

    def _alive(self, call: Any, *args: Any, **options: Any) -> Any:
        try:
            return call(*args, **options)
        except (BrokenPipeError, EOFError, ConnectionResetError) as error:
            self._lost_process = True
            raise WorkerError(
                "A process with an environment was killed, perhaps for want of memory. The last "
                "checkpoint is kept: go on with --resume, with fewer --workers."
            ) from error

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Not of single environments."""
        if attr_name == "render_mode":
            return [None] * self.num_envs
        raise AttributeError(attr_name)

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Not of single environments."""
        raise AttributeError(attr_name)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> Any:
        """Not of single environments."""
        raise AttributeError(method_name)

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """None is."""
        return [False] * self.num_envs

    def seed(self, seed: int | None = None) -> Sequence[None]:
        """Of the next reset; stable-baselines3 gives its own, ours stays."""
        del seed
        return [None] * self.num_envs


def _success(info: dict[str, Any], i: int) -> bool | None:
    """What an episode's last info said of its success."""
    last = info.get("final_info", {})
    known = last.get("_success", np.zeros(0, bool))
    return bool(last["success"][i]) if len(known) > i and known[i] else None
