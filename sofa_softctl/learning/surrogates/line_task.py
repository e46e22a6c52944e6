"""A scene's task on the map of its equilibria, many robots at once."""

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
from sofa_softctl.learning.surrogates.batch_task import Advanced, BatchTask
from sofa_softctl.learning.surrogates.episode_notes import EpisodeNotes
from sofa_softctl.learning.task.episode import Episode
from sofa_softctl.learning.task.observation import Observer
from sofa_softctl.learning.task.scene_env import SceneEnv
from sofa_softctl.learning.task.task import Task, answer_of, begin, reward_of
from sofa_softctl.scene.graph.nodes import state_at
from sofa_softctl.surrogate.costs.step import step_many
from sofa_softctl.surrogate.models.robot import PlannedRobot
from sofa_softctl.surrogate.planning.rounds import ACCURACY, displacement
from sofa_softctl.surrogate.scene.replay import lines_of
from sofa_softctl.surrogate.sparse.sparse import SparseGrid

REACH = 0.3
"""Excess of coordinates below 0 and above the largest tension, relative to the largest [-]."""
COORDINATES = 60
"""Size of the reduced basis that carries inertia."""
FIRST, GROWTH, MOST = 64, 1.5, 1500
"""Number of equilibria of the first fit, its growth from fit to fit, and its maximum."""


class PointsEpisode(Episode):
    """An episode on a surrogate, in which only points can be read."""

    def __init__(self) -> None:
        super().__init__(None)
        self.seen: dict[str, np.ndarray] = {}
        """Values by their paths."""
        self.now = 0.0
        """Simulated time [time]."""

    @property
    @override
    def time(self) -> float:
        return self.now

    def read(self, path: str) -> np.ndarray:
        """See `Episode`: positions and velocities of the points that SURROGATE names."""
        if path not in self.seen:
            raise SceneError(
                f"'{path}' is not known on a surrogate, which has {', '.join(self.seen)}. Name the "
                "node in SURROGATE's 'points', or train in the scene."
            )
        return self.seen[path].copy()


class Robots(NamedTuple):
    """m robots in their episodes, as columns of a state."""

    a: np.ndarray
    """Coordinates [-], shape (m, d)."""
    a_before: np.ndarray
    """Coordinates a step earlier [-], shape (m, d)."""
    applied: np.ndarray
    """Tensions of the driven lines [force], shape (m, n_a)."""
    asked: np.ndarray
    """Requested tensions of the driven lines [force], shape (m, n_a)."""
    points: np.ndarray
    """Points that SURROGATE names [length], shape (m, 3 p)."""
    velocities: np.ndarray
    """Velocities of these points [length / time], shape (m, 3 p)."""
    decisions: np.ndarray
    """Decisions so far, shape (m, 1)."""
    reward: np.ndarray
    """Reward of the last decision, shape (m, 1)."""
    worst: np.ndarray
    """Least reward of the episode so far, 0 at most, shape (m, 1)."""
    notes: np.ndarray
    """Goal and memory, see `EpisodeNotes`."""


class LineTask(BatchTask):
    """A robot pulled by lines that takes the projected steps of plans in place of its scene's.

    `LineDynamics` on polynomials that are fitted to equilibria under tensions all over the range
    of the actions. Robots start at rest, and are lost where inertia carries their coordinates far
    beyond that range. The task is the scene's own: its functions may read the points that
    SURROGATE names, as '/arm/beam/dofs.position' and '/arm/beam/dofs.velocity', and keep numbers
    and arrays in goal and memory, with the entries that `begin` sets.

    Args:
        scene: Scene file.
        task: A task of its LEARNING, whose actions are tensions of cables.
        surrogate: SURROGATE of the scene: arguments of `PlannedRobot`.
        parameters: Parameters of createScene in addition to the task's.
        store: File of equilibria, for later runs; None: memory alone.

    Raises:
        SceneError: The scene cannot be loaded, or the task is not one for a surrogate.

    Attributes:
        interface: As of `SceneEnv`: policies fit both.
        decisions: Of an episode.
        watched: Paths of SURROGATE's points, and how many points each has.
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
                f"The task draws {', '.join(task.randomize)} anew in each episode; a surrogate is "
                "of one robot. Train in the scene."
            )
        if "scale" not in surrogate:
            raise SceneError("SURROGATE needs 'scale', the tension of a control of 1.")
        values = {**task.parameters, **(parameters or {})}
        self.scene, self.decisions = scene, task.limits.decisions
        self.task = replace(task, parameters=values)
        self.scale = float(surrogate["scale"])
        self._read_scene(scene, surrogate.get("points", ()))
        most = float(self.interface.action.high.max()) / self.scale
        if not most > 0.0:
            raise SceneError("On a surrogate, lines are pulled: a 'high' must be above 0.")
        given = dict(surrogate) | {"grid": "sparse", "u_max": most, "reach": REACH * most}
        given |= {"coordinates": COORDINATES, "dt": None}
        self.tolerance: float | None = given.pop("tolerance", None)
        self.robot = PlannedRobot(scene, **given, parameters=values, store=store)
        self._notes: EpisodeNotes | None = None

    def prepare(self, progress: Callable[[str], None] | None = None) -> None:
        """Make the map, if it is not made: equilibria until its error is tolerated.

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
        most, tolerance = float(FIRST), np.inf
        while True:
            error = grid.cover(middle, float(width), tolerance, most=round(most))
            tolerance = self.tolerance or ACCURACY * displacement(grid)
            if progress is not None:
                progress(f"{len(grid.corners.data)} equilibria, error {error:.2g}")
            if error <= tolerance or most >= MOST:
                break
            most *= GROWTH
        self._read_rest()

    @property
    def grid(self) -> SparseGrid:
        """The map's samples, with the estimated error of positions [length]."""
        found = self.robot.grid
        assert isinstance(found, SparseGrid)  # as asked for
        return found

    @property
    def rate(self) -> float:
        """Greatest change of a tension [force/time].

        Raises:
            SceneError: It has no limit.
        """
        found = float(self._most.max() / self._dt)
        if not np.isfinite(found):
            raise SceneError("The task's actions have no rate: name the rates to measure.")
        return found

    def at_rate(self, rate: float) -> LineTask:
        """The same task, on the same map, with another greatest change of tensions [force/time]."""
        found = copy(self)
        found.task = replace(self.task, action=[replace(a, rate=rate) for a in self.task.action])
        found._most = np.full_like(self._most, rate * self._dt)
        return found

    def begin(self, random: np.random.Generator, count: int) -> np.ndarray:
        """See `BatchTask`: at rest."""
        self.prepare()
        rows = []
        for _ in range(count):
            self._begin_episode(random)
            rows.append(np.concatenate((*self._rest[:-1], self._notes_now.row(self._episode))))
        return np.array(rows)

    @override
    def with_goal(self, state: np.ndarray, goal: Mapping[str, ArrayLike]) -> np.ndarray:
        found = state.copy()
        for row in found:
            robot = Robots(*np.split(row, self._ends))
            self._place(robot)
            for name, value in goal.items():
                self._episode.goal[name] = np.array(value, dtype=float)
            robot.notes[:] = self._notes_now.row(self._episode)
        return found

    def advance(self, state: np.ndarray, action: np.ndarray) -> Advanced:
        """See `BatchTask`: `limits.hold` steps, and the reward."""
        now = self.robots(state)
        m, dynamics, limits = len(state), self.robot.dynamics, self.robot.limits
        both = dynamics.embedding.at(np.vstack((now.a, now.a_before)))
        here, before = both[:m], both[m:]
        a, a_before, applied = now.a, now.a_before, now.applied
        valid = np.ones(m, bool)
        for _ in range(self.task.limits.hold):
            applied = applied + np.clip(action - applied, -self._most, self._most)
            u = np.zeros_like(a)
            u[:, self._lines] = applied / self.scale
            after, ahead, solved = step_many(dynamics, a, here, before, u)
            within = (after >= limits.a_min) & (after <= limits.a_max)
            valid &= solved & within.all(axis=1)
            a, a_before, here, before = after, a, ahead, here
        points = here.value[:, self._points]
        velocities = (points - before.value[:, self._points]) / dynamics.dt
        known = (now.decisions + 1.0, np.zeros((m, 1)), now.worst.copy(), now.notes.copy())
        found = Robots(a, a_before, applied, action, points, velocities, *known)
        for i in np.flatnonzero(valid).tolist():
            self._judge(found, i)
        return Advanced(np.hstack(found), valid)

    @override
    def observe(self, state: np.ndarray) -> np.ndarray:
        robots = self.robots(state)
        rows = []
        for i in range(len(state)):
            self._place(_row(robots, i))
            rows.append(self._observer())
        return np.array(rows)

    def reward(self, before: np.ndarray, action: np.ndarray, after: np.ndarray) -> np.ndarray:
        """See `BatchTask`: as `advance` found it."""
        del before, action
        return self.robots(after).reward[:, 0]

    @override
    def done(self, state: np.ndarray) -> np.ndarray:
        return self._asked("done", state)

    @override
    def success(self, state: np.ndarray) -> np.ndarray | None:
        return None if self.task.success is None else self._asked("success", state)

    def lost(self, state: np.ndarray) -> np.ndarray:
        """See `BatchTask`: as if what is left of the episode were as bad as its worst so far."""
        robots = self.robots(state)
        left: np.ndarray = self.decisions - robots.decisions[:, 0]
        return left * robots.worst[:, 0]

    def robots(self, state: np.ndarray) -> Robots:
        """The columns of a state."""
        return Robots(*np.split(state, self._ends, axis=1))

    def _read_scene(self, scene: str | Path, points: Any) -> None:
        """What the scene says of observations, actions, lines and points."""
        at_once = replace(self.task, limits=replace(self.task.limits, settle=0))
        env = SceneEnv.of_task(scene, at_once)
        try:
            root, actuation = env.session.root, env.actuation
            self.interface, self._units = env.interface, env.units
            self._dt = env.session.dt
            self._most, self._first = actuation.rate * self._dt, actuation.applied.copy()
            lines = [line.getPathName() for line in lines_of(root)]
            other = [name for name in self.interface.action.names if name not in lines]
            if other:
                raise SceneError(f"On a surrogate, actions are tensions of cables. Got: {other[0]}")
            self._lines = [lines.index(name) for name in self.interface.action.names]
            states = [state_at(root, path) for path in points]
            self.watched = [(one.getPathName(), len(one.position.value)) for one in states]
        finally:
            env.close()

    def _read_rest(self) -> None:
        """Where episodes begin, and what they keep."""
        dynamics = self.robot.dynamics
        self._points = slice(dynamics.layout.length.stop, dynamics.layout.size)
        a = np.zeros(self.grid.dimension)
        a[self._lines] = self._first / self.scale
        points = dynamics.embedding.at(a[None]).value[0, self._points]
        still, zero, first = np.zeros_like(points), np.zeros(1), self._first
        self._rest = Robots(a, a, first, first, points, still, zero, zero, zero, np.empty(0))
        self._ends = np.cumsum([len(each) for each in self._rest[:-1]])
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
        """Let the episode be that of a robot, a row of columns."""
        self._show(robot)
        self._notes_now.write(robot.notes, self._episode)

    def _show(self, robot: Robots) -> None:
        """Let the episode's robot be where another one is."""
        episode, limits = self._episode, self.task.limits
        episode.decisions = int(robot.decisions[0])
        episode.now = (limits.settle + episode.decisions * limits.hold) * self._dt
        episode.action = robot.asked.copy()
        start = 0
        for path, number in self.watched:
            rows = slice(start, start + 3 * number)
            episode.seen[f"{path}.position"] = robot.points[rows].reshape(number, 3)
            episode.seen[f"{path}.velocity"] = robot.velocities[rows].reshape(number, 3)
            start = rows.stop

    def _judge(self, robots: Robots, i: int) -> None:
        """Reward of robot i, which may change what it keeps in memory."""
        self._place(_row(robots, i))
        robots.reward[i] = reward_of(self.task, self._episode)
        robots.worst[i] = min(robots.worst[i, 0], robots.reward[i, 0])
        robots.notes[i] = self._notes_now.row(self._episode)

    def _asked(self, what: str, state: np.ndarray) -> np.ndarray:
        """Answers of the task's function of that name for each robot; no where it has none."""
        found, question = np.zeros(len(state), bool), getattr(self.task, what)
        if question is None:
            return found
        robots = self.robots(state)
        for i in range(len(state)):
            self._place(_row(robots, i))
            found[i] = answer_of(what, question, self._episode)
        return found


def _row(robots: Robots, i: int) -> Robots:
    return Robots(*(each[i] for each in robots))
