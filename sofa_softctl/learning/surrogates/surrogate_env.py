"""Gymnasium environments of surrogates: one robot, or many in one process."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.learning.surrogates.batch_task import BatchTask
from sofa_softctl.learning.task.quantities import Interface
from sofa_softctl.learning.task.spaces import QuantityBox, goal_of, gymnasium
from sofa_softctl.learning.task.task import TIME_LIMIT

LOST = "lost: the surrogate ends here"
"""`info["truncation"]` of a robot that the surrogate cannot follow."""
AutoresetMode = gymnasium.vector.AutoresetMode


class SurrogateVectorEnv(gymnasium.vector.VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Many robots of a `BatchTask` that take their steps together.

    Args:
        task: Task to learn.
        num_envs: Number of robots.
        scaled: Option of `SceneEnv`.
        autoreset_mode: Step that resets a robot whose episode ended: the next one, or the same
            one, with its last observation in `info["final_obs"]`.

    Attributes:
        metadata: Passed to gymnasium.Env.
        steps: Number of decisions of all robots.
    """

    def __init__(
        self,
        task: BatchTask,
        num_envs: int = 1,
        *,
        scaled: bool = True,
        autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
    ) -> None:
        if autoreset_mode not in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
            raise ValueError(f"autoreset_mode is NEXT_STEP or SAME_STEP. Got: {autoreset_mode}")
        if num_envs < 1:
            raise ValueError(f"num_envs is 1 at least. Got: {num_envs}")
        self.task, self.num_envs, self.steps = task, num_envs, 0
        self.metadata = {"autoreset_mode": autoreset_mode}
        interface = task.interface
        self._observation_space = QuantityBox(interface.observation, scaled=scaled)
        self._action_space = QuantityBox(interface.action, scaled=scaled)
        self.single_observation_space = self._observation_space
        self.single_action_space = self._action_space
        batched = gymnasium.vector.utils.batch_space
        self.observation_space = batched(self.single_observation_space, num_envs)
        self.action_space = batched(self.single_action_space, num_envs)
        self._same_step = autoreset_mode is AutoresetMode.SAME_STEP
        self._state = np.zeros((0, 0))
        self._count = np.zeros(num_envs, int)
        self._ended = np.zeros(num_envs, bool)
        self._closed = False

    def reset(
        self, *, seed: int | list[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode of each robot.

        Args:
            seed: Seed of the random numbers of all robots, or a list with seeds of each robot.
            options: `{"goal": {...}}` sets entries of the goals instead of drawing them.

        Raises:
            ValueError: There is not one seed per robot, or an option is unknown.
            SceneError: The goal does not have these entries.
        """
        self._check_open()
        goal = goal_of(options)
        self._state = np.zeros((0, 0))
        if isinstance(seed, list):
            if len(seed) != self.num_envs:
                raise ValueError(f"A list has a seed for each robot, {self.num_envs}. Got: {seed}")
            super().reset(seed=int(np.random.SeedSequence(seed).generate_state(1)[0]))
            generators = [gymnasium.utils.seeding.np_random(robot_seed)[0] for robot_seed in seed]
            state = np.vstack([self.task.begin(random, 1) for random in generators])
        else:
            super().reset(seed=seed)
            state = self.task.begin(self.np_random, self.num_envs)
        self._state = self.task.with_goal(state, goal) if goal else state
        self._count[:], self._ended[:] = 0, False
        return self._observe(self._state), {}

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Advance each robot by one decision.

        Returns:
            Observations, rewards, masks of terminated and truncated episodes, and info: number of
            actions out of bounds (`clipped`), True for robots that the surrogate lost (`lost`),
            time since episodes began (`time`), and of episodes that end `success` and `truncation`,
            in `final_info` if the same step resets.

        Raises:
            gymnasium.error.ResetNeeded: reset() comes first.
            ValueError: Actions have another shape, or are not finite.
            SceneError: A reward is not finite.
        """
        self._check_open()
        if not len(self._state):
            raise gymnasium.error.ResetNeeded("Call reset() first.")
        actions = np.asarray(actions, dtype=float)
        shape = (self.num_envs, len(self.task.interface.action))
        if actions.shape != shape or not np.isfinite(actions).all():
            raise ValueError(
                f"Actions are numbers of shape {shape}. Got: {actions.shape}, "
                f"{np.count_nonzero(~np.isfinite(actions))} of them not finite"
            )
        bounds = self.task.interface.action
        action = self._action_space.in_units(actions)
        clipped, action = bounds.is_outside(action), np.clip(action, bounds.low, bounds.high)
        before = self._state
        after, valid = self.task.advance(before, action)
        after = np.where(valid[:, None], after, before)
        with np.errstate(all="ignore"):
            rewards = self.task.reward(before, action, after)
        rewards = np.where(valid, rewards, self.task.lost_reward(before))
        self._count += 1
        self.steps += self.num_envs
        terminated = self.task.done(after) & valid
        truncated = ~terminated & (~valid | (self._count >= self.task.decisions))
        time = self._count * self.task.interface.interval
        info: dict[str, Any] = {"clipped": clipped.sum(axis=1), "lost": ~valid, "time": time}
        fresh = self._ended
        if fresh.any():  # NEXT_STEP: these are reset, their actions ignored
            after, rewards = after.copy(), np.where(fresh, 0.0, rewards)
            after[fresh] = self.task.begin(self.np_random, int(fresh.sum()))
            terminated, truncated = terminated & ~fresh, truncated & ~fresh
            self._count[fresh] = 0
        if not np.isfinite(rewards).all():
            number = int(np.argmin(np.isfinite(rewards)))
            raise SceneError(f"The reward of robot {number} is {rewards[number]}.")
        self._state, ended = after, terminated | truncated
        observation = self._observe(after)
        if ended.any():
            final = self._final(after, valid, truncated, ended)
            if self._same_step:
                info |= {"final_info": final, "_final_info": ended}
                info |= {"final_obs": observation.copy(), "_final_obs": ended}
            else:
                info |= final
        if self._same_step and ended.any():
            self._state = after.copy()
            self._state[ended] = self.task.begin(self.np_random, int(ended.sum()))
            self._count[ended] = 0
            observation = self._observe(self._state)
        self._ended = ended & (not self._same_step)
        return observation, rewards, terminated, truncated, info

    def _final(
        self, state: np.ndarray, valid: np.ndarray, truncated: np.ndarray, ended: np.ndarray
    ) -> dict[str, Any]:
        """Return reasons and success of ended episodes, in the format of Gymnasium's vectors."""
        reasons = np.where(valid, TIME_LIMIT, LOST).astype(object)
        info: dict[str, Any] = {"truncation": reasons, "_truncation": truncated}
        success = self.task.success(state)
        if success is not None:
            info |= {"success": success & valid, "_success": ended}
        return info

    @property
    def state(self) -> np.ndarray:
        """Copy of the states of the robots, shape (num_envs, k)."""
        return self._state.copy()

    def close_extras(self, **kwargs: Any) -> None:
        """Remove the states."""
        del kwargs
        self._state, self._closed = np.zeros((0, 0)), True

    def _check_open(self) -> None:
        if self._closed:
            raise gymnasium.error.ClosedEnvironmentError("This environment is closed.")

    def _observe(self, state: np.ndarray) -> np.ndarray:
        observation: np.ndarray = self._observation_space.of_units(self.task.observe(state))
        return observation


class SurrogateEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """Environment of one robot of a `BatchTask`.

    Args:
        task: Task to learn.
        scaled: Option of `SceneEnv`.
        render_mode: Must be None: surrogates have no pictures.

    Attributes:
        metadata: Passed to gymnasium.Env.
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self, task: BatchTask, *, scaled: bool = True, render_mode: str | None = None
    ) -> None:
        if render_mode is not None:
            raise ValueError(f"A surrogate has no pictures: render_mode is None, not {render_mode}")
        self.task, self.render_mode = task, None
        mode = AutoresetMode.SAME_STEP
        self._all = SurrogateVectorEnv(task, 1, scaled=scaled, autoreset_mode=mode)
        self.observation_space = self._all.single_observation_space
        self.action_space = self._all.single_action_space
        self._running, self._clipped = False, 0

    @property
    def interface(self) -> Interface:
        """Observations and actions of policies."""
        return self.task.interface

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode; for options, see `SurrogateVectorEnv`."""
        self._running = False
        super().reset(seed=seed)
        observation, _ = self._all.reset(seed=seed, options=options)
        self._running, self._clipped = True, 0
        return observation[0], {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Advance by one decision, see `SurrogateVectorEnv` and `SceneEnv`."""
        if not self._running:
            self._all._check_open()
            raise gymnasium.error.ResetNeeded("The episode is at its end: call reset() first.")
        result = self._all.step(np.asarray(action, float)[None])
        observation, reward, terminated, truncated, all_info = result
        self._clipped += int(all_info["clipped"][0])
        info: dict[str, Any] = {"clipped": self._clipped, "time": float(all_info["time"][0])}
        if terminated[0] or truncated[0]:
            self._running, observation = False, all_info["final_obs"]
            final = all_info["final_info"]
            if truncated[0]:
                info["truncation"] = final["truncation"][0]
            if "success" in final:
                info["success"] = bool(final["success"][0])
        return observation[0], float(reward[0]), bool(terminated[0]), bool(truncated[0]), info

    def close(self) -> None:
        """Close the environment; a second call does nothing."""
        self._running = False
        self._all.close()
