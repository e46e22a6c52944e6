"""A scene's task on the map of its equilibria, for many robots simultaneously."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import override

from sofa_softctl.errors import SceneError
from sofa_softctl.learning.surrogates.batch_task import BatchTask, DecisionResult
from sofa_softctl.learning.surrogates.episode_notes import EpisodeNotes
from sofa_softctl.learning.task.episode import Episode
from sofa_softctl.learning.task.observation import Observer
from sofa_softctl.learning.task.scene_env import SceneEnv
from sofa_softctl.learning.task.task import Task, begin, flag_of, reward_of
from sofa_softctl.scene.graph.nodes import state_at
from sofa_softctl.surrogate.costs.step import step_many
from sofa_softctl.surrogate.models.robot import PlannedRobot
from sofa_softctl.surrogate.planning.rounds import ACCURACY, displacement
from sofa_softctl.surrogate.scene.replay import lines_of
from sofa_softctl.surrogate.sparse.sparse import SparseGrid

EXCESS_RATIO_MAX = 0.3
"""Largest excess of coordinates below 0 and above the largest tension, relative to that [-]."""
COORDINATE_COUNT = 60
"""Number of coordinates of the reduced basis that carries inertia."""
FIRST_COUNT, GROWTH, COUNT_MAX = 64, 1.5, 1500
"""Number of equilibria of the first fit, its growth from fit to fit, and its maximum."""


class PointsEpisode(Episode):
    """Episode on a surrogate, in which only points can be read."""

    def __init__(self) -> None:
        super().__init__(None)
        self.values: dict[str, np.ndarray] = {}
        """Values by their paths."""
        self.now = 0.0
        """Simulated time [time]."""

    @property
    @override
    def time(self) -> float:
        return self.now

    def read(self, path: str) -> np.ndarray:
        """Return positions or velocities of points that SURROGATE names, see `Episode`."""
        if path not in self.values:
            raise SceneError(
                f"'{path}' is not known on a surrogate, which has {', '.join(self.values)}. Name "
                "the node in SURROGATE's 'points', or train in the scene."
            )
        return self.values[path].copy()


class Robots(NamedTuple):
    """Episodes of m robots as columns of a state."""

    a: np.ndarray
    """Coordinates [-], shape (m, d)."""
    a_before: np.ndarray
    """Coordinates a step earlier [-], shape (m, d)."""
    applied: np.ndarray
    """Tensions of the driven lines [force], shape (m, n_a)."""
    requested: np.ndarray
    """Requested tensions of the driven lines [force], shape (m, n_a)."""
    points: np.ndarray
    """Points that SURROGATE names [length], shape (m, 3 p)."""
    velocities: np.ndarray
    """Velocities of these points [length / time], shape (m, 3 p)."""
    decisions: np.ndarray
    """Number of decisions, shape (m, 1)."""
    reward: np.ndarray
    """Reward of the last decision, shape (m, 1)."""
    worst: np.ndarray
    """Minimum of 0 and the rewards of the episode, shape (m, 1)."""
    notes: np.ndarray
    """Goal and memory, see `EpisodeNotes`."""


class LineTask(BatchTask):
    """Learning task of a robot with cables that takes the projected steps of plans.

    It uses `LineDynamics` on polynomials that are fitted to equilibria in the range of the actions.
    Robots start at rest, and are lost if inertia carries them far out of that range. The task is
    the scene's own: its functions may read the points that SURROGATE names, as
    '/arm/beam/dofs.position' and '/arm/beam/dofs.velocity', and keep numbers and arrays in goal and
    memory, with the entries that `begin` sets.

    Args:
        scene: Scene file.
        task: A task of its LEARNING, whose actions are tensions of cables.
        surrogate: SURROGATE of the scene: arguments of `PlannedRobot`.
        parameters: Parameters of createScene in addition to the task's.
        store: File of equilibria for later runs, or None.

    Raises:
        SceneError: The scene cannot be loaded, or the task is not one for a surrogate.

    Attributes:
        interface: The same as of `SceneEnv`, so that policies fit both.
        decisions: Number of decisions of an episode.
        watched: Paths of SURROGATE's points, with their numbers of points.
    """

    def __init__(
        self,
        scene: str | Path,
        task: Task,
        surrogate: Mapping[str, Any],
        *,
        parameters: Mapping[str, Any] | None = None,
        store: str | Path | None = None,
    ) -> None:
        if task.randomize:
            raise SceneError(
                f"The task draws {', '.join(task.randomize)} again in each episode; a surrogate is "
                "of one robot. Train in the scene."
            )
        if "scale" not in surrogate:
            raise SceneError("SURROGATE needs 'scale', the tension of a control of 1.")
        values = {**task.parameters, **(parameters or {})}
        self.scene, self.decisions = scene, task.limits.decisions
        self.task = replace(task, parameters=values)
        self.scale = float(surrogate["scale"])
        self._read_scene(scene, surrogate.get("points", ()))
        u_max = float(self.interface.action.high.max()) / self.scale
        if not u_max > 0.0:
            raise SceneError("On a surrogate, lines are pulled: a 'high' must be above 0.")
        reach = EXCESS_RATIO_MAX * u_max
        options = dict(surrogate) | {"grid": "sparse", "u_max": u_max, "reach": reach}
        options |= {"coordinates": COORDINATE_COUNT, "dt": None}
        self.tolerance: float | None = options.pop("tolerance", None)
        self.robot = PlannedRobot(scene, **options, parameters=values, store=store)
        self._notes: EpisodeNotes | None = None

    def prepare(self, progress: Callable[[str], None] | None = None) -> None:
        """Compute the map if needed: add equilibria until its error is tolerable.

        Args:
            progress: Called with a line of text after each fit.

        Raises:
            MapError: The robot buckles or snaps nearly everywhere.
        """
        if self._notes is not None:
            return
        grid, limits = self.grid, self.robot.limits
        middle = np.full((1, grid.dimension), 0.5 * (limits.a_min + limits.a_max))
        width = 0.5 * (limits.a_max - limits.a_min) * np.sqrt(grid.dimension)  # up to the corners
        count_max, tolerance = float(FIRST_COUNT), np.inf
        while True:
            error = grid.cover(middle, float(width), tolerance, most=round(count_max))
            tolerance = self.tolerance or ACCURACY * displacement(grid)
            if progress is not None:
                progress(f"{len(grid.corners.data)} equilibria, error {error:.2g}")
            if error <= tolerance or count_max >= COUNT_MAX:
                break
            count_max *= GROWTH
        self._read_rest()

    @property
    def grid(self) -> SparseGrid:
        """Samples of the map, with the estimated error of positions [length]."""
        grid = self.robot.grid
        assert isinstance(grid, SparseGrid)  # as asked for
        return grid

    @property
    def rate(self) -> float:
        """Greatest change of a tension [force/time].

        Raises:
            SceneError: The actions have no rate.
        """
        rate = float(self._change_max.max() / self._dt)
        if not np.isfinite(rate):
            raise SceneError("The task's actions have no rate: name the rates to measure.")
        return rate

    def at_rate(self, rate: float) -> LineTask:
        """Return the task on the same map with another rate of tensions [force/time]."""
        task = copy(self)
        task.task = replace(self.task, action=[replace(a, rate=rate) for a in self.task.action])
        task._change_max = np.full_like(self._change_max, rate * self._dt)
        return task

    def begin(self, random: np.random.Generator, count: int) -> np.ndarray:
        """Return states at rest, see `BatchTask`."""
        self.prepare()
        rows = []
        for _ in range(count):
            self._begin_episode(random)
            rows.append(np.concatenate((*self._rest[:-1], self._notes_now.row(self._episode))))
        return np.array(rows)

    @override
    def with_goal(self, state: np.ndarray, goal: Mapping[str, ArrayLike]) -> np.ndarray:
        states = state.copy()
        for row in states:
            robot = Robots(*np.split(row, self._ends))
            self._place(robot)
            for name, value in goal.items():
                self._episode.goal[name] = np.array(value, dtype=float)
            robot.notes[:] = self._notes_now.row(self._episode)
        return states

    def advance(self, state: np.ndarray, action: np.ndarray) -> DecisionResult:
        """Advance robots by `limits.hold` steps, and compute rewards, see `BatchTask`."""
        now = self.robots(state)
        m, dynamics, limits = len(state), self.robot.dynamics, self.robot.limits
        pair = dynamics.embedding.at(np.vstack((now.a, now.a_before)))
        x, before = pair[:m], pair[m:]
        a, a_before, applied = now.a, now.a_before, now.applied
        valid = np.ones(m, bool)
        for _ in range(self.task.limits.hold):
            applied = applied + np.clip(action - applied, -self._change_max, self._change_max)
            u = np.zeros_like(a)
            u[:, self._lines] = applied / self.scale
            after, x_next, solved = step_many(dynamics, a, x, before, u)
            within = (after >= limits.a_min) & (after <= limits.a_max)
            valid &= solved & within.all(axis=1)
            a, a_before, x, before = after, a, x_next, x
        points = x.value[:, self._points]
        velocities = (points - before.value[:, self._points]) / dynamics.dt
        further = (now.decisions + 1.0, np.zeros((m, 1)), now.worst.copy(), now.notes.copy())
        result = Robots(a, a_before, applied, action, points, velocities, *further)
        for i in np.flatnonzero(valid).tolist():
            self._judge(result, i)
        return DecisionResult(np.hstack(result), valid)

    @override
    def observe(self, state: np.ndarray) -> np.ndarray:
        robots = self.robots(state)
        rows = []
        for i in range(len(state)):
            self._place(_row(robots, i))
            rows.append(self._observer())
        return np.array(rows)

    def reward(self, before: np.ndarray, action: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Return the rewards from `advance`."""
        del before, action
        return self.robots(after).reward[:, 0]

    @override
    def done(self, state: np.ndarray) -> np.ndarray:
        return self._evaluate("done", state)

    @override
    def success(self, state: np.ndarray) -> np.ndarray | None:
        return None if self.task.success is None else self._evaluate("success", state)

    def lost_reward(self, state: np.ndarray) -> np.ndarray:
        """Return the worst reward of the episode for each remaining decision, see `BatchTask`."""
        robots = self.robots(state)
        remaining: np.ndarray = self.decisions - robots.decisions[:, 0]
        return remaining * robots.worst[:, 0]

    def robots(self, state: np.ndarray) -> Robots:
        """Return the columns of a state."""
        return Robots(*np.split(state, self._ends, axis=1))

    def _read_scene(self, scene: str | Path, points: Any) -> None:
        """Read observations, actions, cables and points from the scene."""
        unsettled = replace(self.task, limits=replace(self.task.limits, settle=0))
        env = SceneEnv.of_task(scene, unsettled)
        try:
            root, actuation = env.session.root, env.actuation
            self.interface, self._units = env.interface, env.units
            self._dt = env.session.dt
            self._change_max, self._first = actuation.rate * self._dt, actuation.applied.copy()
            lines = [line.getPathName() for line in lines_of(root)]
            unknown = [name for name in self.interface.action.names if name not in lines]
            if unknown:
                raise SceneError(
                    f"On a surrogate, actions are tensions of cables. Got: {unknown[0]}"
                )
            self._lines = [lines.index(name) for name in self.interface.action.names]
            states = [state_at(root, path) for path in points]
            self.watched = [(state.getPathName(), len(state.position.value)) for state in states]
        finally:
            env.close()

    def _read_rest(self) -> None:
        """Compute the start of episodes, and the entries of their notes."""
        dynamics = self.robot.dynamics
        self._points = slice(dynamics.layout.length.stop, dynamics.layout.size)
        a = np.zeros(self.grid.dimension)
        a[self._lines] = self._first / self.scale
        points = dynamics.embedding.at(a[None]).value[0, self._points]
        still, zero, first = np.zeros_like(points), np.zeros(1), self._first
        self._rest = Robots(a, a, first, first, points, still, zero, zero, zero, np.empty(0))
        self._ends = np.cumsum([len(columns) for columns in self._rest[:-1]])
        self._episode = PointsEpisode()
        self._begin_episode(np.random.default_rng(0))
        self._notes = EpisodeNotes(self._episode)
        self._observer = Observer(self.task.observation, self._episode, self._units)

    def _begin_episode(self, random: np.random.Generator) -> None:
        self._episode.begin(random)
        self._show(self._rest)
        begin(self.task, self._episode)

    @property
    def _notes_now(self) -> EpisodeNotes:
        assert self._notes is not None  # prepared
        return self._notes

    def _place(self, robot: Robots) -> None:
        """Set the episode to a robot, a row of columns."""
        self._show(robot)
        self._notes_now.write(robot.notes, self._episode)

    def _show(self, robot: Robots) -> None:
        """Set time, action and points of the episode to a robot's."""
        episode, limits = self._episode, self.task.limits
        episode.decisions = int(robot.decisions[0])
        episode.now = (limits.settle + episode.decisions * limits.hold) * self._dt
        episode.action = robot.requested.copy()
        start = 0
        for path, number in self.watched:
            rows = slice(start, start + 3 * number)
            episode.values[f"{path}.position"] = robot.points[rows].reshape(number, 3)
            episode.values[f"{path}.velocity"] = robot.velocities[rows].reshape(number, 3)
            start = rows.stop

    def _judge(self, robots: Robots, i: int) -> None:
        """Compute the reward of robot i, which may change its memory."""
        self._place(_row(robots, i))
        robots.reward[i] = reward_of(self.task, self._episode)
        robots.worst[i] = min(robots.worst[i, 0], robots.reward[i, 0])
        robots.notes[i] = self._notes_now.row(self._episode)

    def _evaluate(self, name: str, state: np.ndarray) -> np.ndarray:
        """Return values of the task's function of that name for each robot, False without one."""
        answers, question = np.zeros(len(state), bool), getattr(self.task, name)
        if question is None:
            return answers
        robots = self.robots(state)
        for i in range(len(state)):
            self._place(_row(robots, i))
            answers[i] = flag_of(name, question, self._episode)
        return answers


def _row(robots: Robots, i: int) -> Robots:
    return Robots(*(column[i] for column in robots))
