"""Gymnasium environments of scenes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.base.processes import interrupted_after
from sofa_softctl.errors import DivergedError, ParameterError, SceneError, SimulationError
from sofa_softctl.learning.task.action import Action, Actuation
from sofa_softctl.learning.task.episode import Episode
from sofa_softctl.learning.task.observation import Observation, Observer
from sofa_softctl.learning.task.quantities import Interface
from sofa_softctl.learning.task.spaces import QuantityBox, goal_of, gymnasium
from sofa_softctl.learning.task.task import TIME_LIMIT, Limits, Task, begin, flag_of, reward_of
from sofa_softctl.scene.control.units import declared_units
from sofa_softctl.scene.session.session import Session, Snapshot

DIVERGED_EPISODES_MAX = 3
"""Number of successive episodes that diverge in their first decision, which is an error."""


class SceneEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """A scene as an environment, with actuators driven within their limits and rates.

    The scene runs in the embedded runtime; in SOFA, a policy controls it by `PolicyController`.
    Each episode begins in the same state, restored from a snapshot bit for bit; values that the
    task draws, such as a goal, depend on the seed of `reset`. So the same seeds and actions give
    the same episode, to the last bit. A simulation that diverges truncates its episode, with the
    reason in `info["truncation"]`; its reward is the worst one so far for each remaining decision.

    Args:
        scene: A scene file, or a function createScene(root, ...).
        observation: Observations of the policy.
        action: The actuators that it drives, with their limits and rates.
        reward: Reward of a decision.
        limits: Durations, and the treatment of actions out of bounds.
        begin: Called at the start of each episode.
        done: Whether the task is at its end, after a decision.
        success: Whether the task is done; in the last `info` of an episode.
        parameters: Parameters of createScene.
        randomize: Parameters of createScene that each episode draws again, between two numbers.
        baseline: Parameters for the scene's own controller, see `Task`.
        scaled: Whether observations and actions run from -1 to 1 between their bounds; otherwise
            they are in the scene's units. `observation_space.quantities` has names, units, bounds.
        render_mode: 'rgb_array' for pictures by `render`.

    Raises:
        SceneError: The scene cannot be loaded, a path does not exist, or limits are missing.

    Attributes:
        metadata: Passed to gymnasium.Env.
        interface: Observations and actions of policies for this environment.
        episode: Episode that the task's functions read.
        actuation: Actuators of the environment.
        units: Units of the scene, or None if it declares none.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 20}

    def __init__(
        self,
        scene: str | Path | Callable[..., Any],
        *,
        observation: Sequence[Observation],
        action: Sequence[Action],
        reward: Callable[[Episode], float],
        limits: Limits | None = None,
        begin: Callable[[Episode], None] | None = None,
        done: Callable[[Episode], bool] | None = None,
        success: Callable[[Episode], bool] | None = None,
        parameters: Mapping[str, Any] | None = None,
        randomize: Mapping[str, tuple[float, float]] | None = None,
        baseline: Callable[[Episode], Mapping[str, Any]] | None = None,
        scaled: bool = True,
        render_mode: str | None = None,
    ) -> None:
        self.task = Task(
            observation=tuple(observation),
            action=tuple(action),
            reward=reward,
            limits=limits or Limits(),
            begin=begin,
            done=done,
            success=success,
            parameters=dict(parameters or {}),
            randomize=dict(randomize or {}),
            baseline=baseline,
        )
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode is None or 'rgb_array'. Got: '{render_mode}'")
        self.scene, self.render_mode = scene, render_mode
        self._session: Session | None = None
        self._observation_space: QuantityBox
        self._action_space: QuantityBox
        self._window: Any = None
        self._running, self._failed_first = False, 0
        for name, (low, high) in self.task.randomize.items():
            if not low <= high:
                raise ParameterError(f"randomize '{name}' from low to high. Got: {low} and {high}")
        middle = {name: 0.5 * (low + high) for name, (low, high) in self.task.randomize.items()}
        self._load(middle)
        assert self._session is not None  # loaded
        self.metadata = {
            **self.metadata,
            "render_fps": max(1, round(1.0 / self.interface.interval)),
        }
        self._observation_space = QuantityBox(self.interface.observation, scaled=scaled)
        self._action_space = QuantityBox(self.interface.action, scaled=scaled)
        self.observation_space, self.action_space = self._observation_space, self._action_space

    @classmethod
    def of_task(
        cls,
        scene: str | Path | Callable[..., Any],
        task: Task,
        *,
        scaled: bool = True,
        render_mode: str | None = None,
    ) -> SceneEnv:
        """Return the environment of a task."""
        return cls(
            scene,
            observation=task.observation,
            action=task.action,
            reward=task.reward,
            limits=task.limits,
            begin=task.begin,
            done=task.done,
            success=task.success,
            parameters=task.parameters,
            randomize=task.randomize,
            baseline=task.baseline,
            scaled=scaled,
            render_mode=render_mode,
        )

    @property
    def session(self) -> Session:
        """Present scene, which `randomize` replaces.

        Raises:
            gymnasium.error.ClosedEnvironmentError: The environment is closed.
        """
        if self._session is None:
            raise gymnasium.error.ClosedEnvironmentError("This environment is closed.")
        return self._session

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: Seed of the random numbers of this episode and the ones after it.
            options: `{"goal": {...}}` sets entries of the goal instead of drawing them.

        Returns:
            The observation, and info: the time, and the drawn parameters.
        """
        goal = goal_of(options)
        self._running = False
        super().reset(seed=seed)
        session = self.session
        drawn = {
            name: float(self.np_random.uniform(low, high))
            for name, (low, high) in self.task.randomize.items()
        }
        if drawn:
            self._load(drawn)
        else:
            session.restore(self._start)
            self.actuation.reset()
        self.episode.begin(self.np_random)
        self.episode.action = self.actuation.applied.copy()
        begin(self.task, self.episode)
        for name, value in goal.items():
            self._set_goal(name, np.array(value, dtype=float))
        self._running, self._clipped, self._worst = True, 0, 0.0
        self._last = self._observe()
        return self._last.copy(), {"time": self.episode.time, "parameters": drawn}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Hold an action for `limits.hold` steps of the scene.

        Returns:
            Observation, reward, whether the task is at its end, whether the episode is truncated,
            and info: the time, the number of actions that were out of bounds (`clipped`), at the
            end `success`, and the reason of a truncation (`truncation`).

        Raises:
            gymnasium.error.ResetNeeded: The episode is at its end, or none was begun.
            ValueError: The action has another shape, is not finite, or is out of bounds where
                limits refuse that. The episode continues.
            SceneError: The reward is not a finite number, or several episodes in a row diverged
                in their first decision.
        """
        session = self.session
        if not self._running:
            raise gymnasium.error.ResetNeeded("The episode is at its end: call reset() first.")
        self._request(self._check_action(action))
        episode, limits = self.episode, self.task.limits
        info: dict[str, Any] = {"clipped": self._clipped}
        begun = episode.decisions
        try:
            # Divergence is reported below.
            with interrupted_after(), np.errstate(over="ignore", invalid="ignore"):
                for _ in range(limits.hold):
                    self.actuation.advance()
                    session.step()
            session.condition.raise_if_inverted(session.time)
            episode.decisions += 1
            self._last = self._observe()
        except (DivergedError, SimulationError) as error:
            self._note_divergence(error)
            info |= {"time": episode.time, "truncation": f"diverged: {error}"}
            if self.task.success is not None:
                info["success"] = False
            left = limits.decisions - begun
            return self._last.copy(), left * self._worst, False, True, info
        if episode.decisions == 1:
            self._failed_first = 0
        reward = self._finite_reward()
        self._worst = min(self._worst, reward)
        terminated = flag_of("done", self.task.done, episode)
        truncated = not terminated and episode.decisions >= limits.decisions
        info["time"] = episode.time
        if truncated:
            info["truncation"] = TIME_LIMIT
        if terminated or truncated:
            self._running = False
            if self.task.success is not None:
                info["success"] = flag_of("success", self.task.success, episode)
        return self._last.copy(), reward, terminated, truncated, info

    def render(self) -> np.ndarray | None:
        """Return the scene as pixels, shape (height, width, 3), or None without `render_mode`."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() gives nothing: make it with render_mode='rgb_array'.")
            return None
        from sofa_softctl.view.movie.window import Window

        if self._window is None or self._window.session is not self.session:
            self._window = Window(self.session)
        picture: np.ndarray = self._window.picture()
        return picture

    def close(self) -> None:
        """Close the scene; a second call does nothing."""
        self._window = None
        session, self._session = self._session, None
        self._running = False
        if session is not None:
            session.close()

    def _load(self, drawn: Mapping[str, float]) -> None:
        """Build the scene, and simulate it to the start of episodes."""
        if self._session is not None:
            self._session.close()
        limits = self.task.limits
        values = {**self.task.parameters, **drawn}
        session = Session(
            self.scene, backend="embedded", parameters=values, add=self._drive, history=0
        )
        self._session = session
        try:
            self.episode = Episode(session.root)
            for _ in range(limits.settle):
                self.actuation.advance()
                session.step()
            self.episode.action = self.actuation.applied.copy()
            self._start: Snapshot = session.snapshot()
            self._begin_once()
            self._observer = Observer(self.task.observation, self.episode, self.units)
            self._connect(
                Interface(
                    self._observer.quantities, self.actuation.quantities, limits.hold * session.dt
                )
            )
        except BaseException:
            self.close()
            raise

    def _connect(self, interface: Interface) -> None:
        """Set the interface; check that it stays the same and nothing else drives its actuators."""
        first_interface = getattr(self, "interface", interface)
        if differences := first_interface.differences(interface):
            raise SceneError(
                f"randomize changes what a policy is connected to: {'; '.join(differences)}. Give "
                "observations and actions their own low and high, and leave dt as it is."
            )
        self.interface = interface
        own_ids = {id(component) for component in self.actuation.components}
        for controller in self.session.controllers:
            driven = [*getattr(controller, "actuators", ()), *getattr(controller, "lines", ())]
            if any(id(component) in own_ids for component in driven):
                raise SceneError(
                    f"'{controller.getPathName()}' ({type(controller).__name__}) drives actuators "
                    "of the task as well: give parameters of createScene that leave it out, such "
                    'as Task(parameters={"policy": None}).'
                )

    def _drive(self, root: Any) -> None:
        self.units = declared_units(root)
        self.actuation = Actuation(self.task.action, root, self.units)

    def _begin_once(self) -> None:
        """Set a goal, so that the sizes of observations are known."""
        self.episode.begin(np.random.default_rng(0))
        begin(self.task, self.episode)

    def _set_goal(self, name: str, value: np.ndarray) -> None:
        drawn = self.episode.goal.get(name)
        if drawn is None or np.shape(drawn) != value.shape:
            shapes = {key: np.shape(goal) for key, goal in self.episode.goal.items()}
            raise SceneError(
                f"The goal has entries of these shapes: {shapes}. Got: '{name}' of {value.shape}"
            )
        self.episode.goal[name] = value

    def _observe(self) -> np.ndarray:
        observation: np.ndarray = self._observation_space.of_units(self._observer())
        return observation

    def _check_action(self, action: np.ndarray) -> np.ndarray:
        """Return an action in units."""
        values = np.asarray(action, dtype=float)
        names = self.interface.action.names
        if values.shape != (len(names),):
            raise ValueError(f"An action has shape ({len(names)},). Got: {values.shape}")
        if not np.isfinite(values).all():
            i = int(np.argmin(np.isfinite(values)))
            raise ValueError(f"The action of '{names[i]}' is {values[i]}; expected a number.")
        action_values: np.ndarray = self._action_space.in_units(values)
        return action_values

    def _request(self, values: np.ndarray) -> None:
        quantities = self.interface.action
        if self.task.limits.out_of_bounds == "refuse":
            is_outside = quantities.is_outside(values)
            if is_outside.any():
                i = int(np.argmax(is_outside))
                raise ValueError(
                    f"The action of '{quantities.names[i]}' is {values[i]:g}; expected "
                    f"{quantities.low[i]:g} to {quantities.high[i]:g}."
                )
        self._clipped += int(self.actuation.request(values).sum())
        self.episode.action = self.actuation.asked.copy()

    def _finite_reward(self) -> float:
        reward = reward_of(self.task, self.episode)
        if not math.isfinite(reward):
            self._running = False
            raise SceneError(
                f"The reward of decision {self.episode.decisions} is {reward}; expected a number."
            )
        return reward

    def _note_divergence(self, error: Exception) -> None:
        self._running = False
        if self.episode.decisions > 0:
            return
        self._failed_first += 1
        if self._failed_first >= DIVERGED_EPISODES_MAX:
            raise SceneError(
                f"{self._failed_first} episodes in a row diverged in their first decision: {error} "
                "Try a smaller dt, lower limits or rates of the actuators, or more steps to settle."
            ) from error
