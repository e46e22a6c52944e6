"""Environments by name: ids of Gymnasium, and tasks of scene files."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sofa_softctl.base.suggestions import did_you_mean
from sofa_softctl.errors import SceneError, UsageError
from sofa_softctl.learning.environments.vector import CopiesVectorEnv, VectorEnv
from sofa_softctl.learning.surrogates.line_task import LineTask
from sofa_softctl.learning.surrogates.surrogate_env import SurrogateEnv, SurrogateVectorEnv
from sofa_softctl.learning.task.quantities import Interface, Quantities
from sofa_softctl.learning.task.scene_env import SceneEnv
from sofa_softctl.learning.task.spaces import gymnasium
from sofa_softctl.learning.task.task import Task
from sofa_softctl.scene.session.loader import arguments_of, load_scene
from sofa_softctl.surrogate.scene.scene_task import read_surrogate

SAME_STEP = gymnasium.vector.AutoresetMode.SAME_STEP
NEXT_STEP = gymnasium.vector.AutoresetMode.NEXT_STEP


@dataclass(frozen=True)
class SceneMaker:
    """Maker of environments for a task of a scene file's LEARNING. Picklable."""

    scene: Path
    """Scene file."""
    task: str
    """Key of its LEARNING."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of createScene."""
    task_parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the task's function."""
    surrogate: bool = False
    """Whether the map of equilibria replaces the scene, see `LineTask`."""
    store: Path | None = None
    """File of the equilibria, for later runs."""

    @property
    def name(self) -> str:
        """Name in messages and files."""
        return f"{self.scene}:{self.task}"

    @property
    def identity(self) -> str:
        """Text that must be the same for a training to be resumed."""
        values = {**self.parameters, **self.task_parameters}
        parts = [f"{self.scene.name}:{self.task}", *(f"{k}={v}" for k, v in sorted(values.items()))]
        return " ".join([*parts, *(["on its surrogate"] if self.surrogate else [])])

    @property
    def is_vectorized(self) -> bool:
        """True if many environments take their steps in one call."""
        return self.surrogate

    @property
    def exact(self) -> SceneMaker | None:
        """Maker for the scene itself, or None if this is not a surrogate."""
        return replace(self, surrogate=False, store=None) if self.surrogate else None

    def prepare(self, progress: Callable[[str], None] | None = None) -> None:
        """Compute the map of a surrogate, which may take minutes; later calls do nothing.

        Args:
            progress: Called with lines of text.
        """
        if self.surrogate:
            self.line_task.prepare(progress)

    def make_env(
        self, *, scaled: bool = True, render_mode: str | None = None
    ) -> SceneEnv | SurrogateEnv:
        """Make an environment; options as of `SceneEnv`."""
        if self.surrogate:
            return SurrogateEnv(self.line_task, scaled=scaled, render_mode=render_mode)
        return SceneEnv.of_task(self.scene, self._task, scaled=scaled, render_mode=render_mode)

    def vector(
        self, count: int, workers: int, mode: gymnasium.vector.AutoresetMode = SAME_STEP
    ) -> VectorEnv:
        """Make several environments: surrogates in one object, scenes in workers, if any."""
        if self.surrogate:
            return SurrogateVectorEnv(self.line_task, count, autoreset_mode=mode)
        return CopiesVectorEnv(self.make_env, count, workers, autoreset_mode=mode)

    @property
    def _task(self) -> Task:
        task = task_of(self.scene, self.task, self.task_parameters)
        return replace(task, parameters={**task.parameters, **self.parameters})

    @cached_property
    def line_task(self) -> LineTask:
        """The task on the map of the scene's equilibria."""
        surrogate = read_surrogate(self.scene)
        return LineTask(self.scene, self._task, surrogate, store=self.store)


@dataclass(frozen=True)
class GymMaker:
    """Maker of environments that are registered with Gymnasium. Picklable."""

    id: str
    """Id such as 'softctl/Trunk-v0', or with a module to import first 'my_robots:Claw-v0'."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the constructor."""

    @property
    def name(self) -> str:
        """Name in messages and files."""
        return self.id

    @property
    def identity(self) -> str:
        """Text that must be the same for a training to be resumed."""
        return " ".join([self.id, *(f"{k}={v}" for k, v in sorted(self.options.items()))])

    @property
    def is_vectorized(self) -> bool:
        """True if many environments take their steps in one call."""
        return self.spec().vector_entry_point is not None

    @property
    def exact(self) -> GymMaker | None:
        """Maker for the exact model, or None without an option `exact`."""
        if "exact" not in self.spec().kwargs or self.options.get("exact"):
            return None
        return replace(self, options={**self.options, "exact": True})

    def make_env(self, *, render_mode: str | None = None) -> Any:
        """Make an environment without wrappers."""
        options = dict(self.options)
        if render_mode is not None:
            options["render_mode"] = render_mode
        return gymnasium.make(self.spec(), disable_env_checker=True, **options).unwrapped

    def vector(self, count: int, workers: int) -> VectorEnv:
        """Make several environments: in one object if possible, otherwise as scenes."""
        if not self.is_vectorized:
            return CopiesVectorEnv(self.make_env, count, workers)
        return gymnasium.make_vec(
            self.spec(),
            num_envs=count,
            vectorization_mode="vector_entry_point",
            autoreset_mode=SAME_STEP,
            **self.options,
        )

    def spec(self) -> Any:
        """Return the registered specification of the id.

        Raises:
            UsageError: The id is not registered.
        """
        try:
            module, _, name = self.id.rpartition(":")
            if module:
                importlib.import_module(module)
            return gymnasium.spec(name)
        except (gymnasium.error.Error, ImportError) as error:
            ids = [env_id for env_id in gymnasium.registry if "softctl" in env_id]
            raise UsageError(
                f"There is no environment '{self.id}'.{did_you_mean(self.id, ids)} Ours: "
                f"{', '.join(sorted(ids))}. Or give a scene file that has LEARNING. ({error})"
            ) from error


Maker = SceneMaker | GymMaker


def maker_of(
    environment: str,
    *,
    task: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    task_parameters: Mapping[str, Any] | None = None,
    surrogate: bool = False,
    store: Path | None = None,
) -> Maker:
    """Return the maker of an environment that a user named.

    Args:
        environment: Scene file, or id of Gymnasium.
        task: Task of a scene file. Default: its only one.
        parameters: Parameters of createScene, or of the constructor of an id.
        task_parameters: Parameters of the task of a scene file.
        surrogate: Whether the map of equilibria replaces a scene file's scene.
        store: File of these equilibria, for later runs.

    Raises:
        SceneError: The file has no such task, or several.
        UsageError: The id is unknown, or takes no task.
    """
    path = Path(environment)
    if path.suffix == ".py" or path.is_file():
        names = tasks_of(path)
        if task is None and len(names) != 1:
            raise SceneError(f"'{path}' has the tasks {', '.join(names)}: choose one, --task.")
        name = task if task is not None else next(iter(names))
        arguments = dict(parameters or {}), dict(task_parameters or {})
        scene_maker = SceneMaker(path, name, *arguments, surrogate, store)
        task_of(path, name, scene_maker.task_parameters)
        return scene_maker
    if task is not None or task_parameters or surrogate or store:
        options = "--task, --task-set, --surrogate and --store are"
        raise UsageError(f"{options} for scene files; '{environment}' is an id of Gymnasium.")
    maker = GymMaker(environment, dict(parameters or {}))
    maker.spec()  # it is there
    return maker


def tasks_of(scene: str | Path) -> dict[str, Callable[..., Task]]:
    """Return LEARNING of a scene file.

    Raises:
        SceneError: The file has no LEARNING.
    """
    tasks = getattr(load_scene(scene).module, "LEARNING", None)
    if not isinstance(tasks, Mapping) or not tasks:
        raise SceneError(
            f"'{scene}' has nothing to learn: a scene file for that has a dictionary LEARNING of "
            "functions that return a sofa_softctl.learning.Task, see scenes/finger.py."
        )
    return dict(tasks)


def task_of(scene: str | Path, name: str, parameters: Mapping[str, Any] | None = None) -> Task:
    """Return a task of a scene file's LEARNING.

    Raises:
        SceneError: No task has that name, or its function returns no Task.
        ParameterError: The task does not take a parameter.
    """
    tasks = tasks_of(scene)
    if name not in tasks:
        raise SceneError(
            f"'{scene}' has no task '{name}' to learn.{did_you_mean(name, tasks)} It has: "
            f"{', '.join(tasks)}."
        )
    task = tasks[name](**_task_arguments(tasks[name], parameters or {}))
    if not isinstance(task, Task):
        raise SceneError(f"'{scene}': LEARNING['{name}'] returned no Task, but {task!r}.")
    return task


def _task_arguments(make: Callable[..., Task], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a task's function, converted like createScene's parameters."""
    signature = inspect.signature(make)
    root = inspect.Parameter("root", inspect.Parameter.POSITIONAL_ONLY)

    def like_a_scene(root: Any, /) -> None:
        """Take the function's parameters after a root."""

    like_a_scene.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[root, *signature.parameters.values()]
    )
    return arguments_of(like_a_scene, parameters, who="The task", option="--task-set")


def interface_of(maker: Maker) -> Interface:
    """Return the interface of policies for an environment.

    Raises:
        UsageError: The environment's spaces are not boxes with finite bounds.
    """
    env = maker.make_env()
    try:
        interface = getattr(env, "interface", None)
        if isinstance(interface, Interface):
            return interface
        observation, action = (_of_box(maker.name, env, side) for side in ("observation", "action"))
        return Interface(observation, action, 1.0 / float(env.metadata.get("render_fps", 1.0)))
    finally:
        env.close()


def _of_box(name: str, env: Any, side: str) -> Quantities:
    """Return the quantities of an ordinary space, with its bounds."""
    space = getattr(env, f"{side}_space")
    shape: tuple[int, ...] = getattr(space, "shape", None) or ()
    if not isinstance(space, gymnasium.spaces.Box) or len(shape) != 1 or not space.is_bounded():
        raise UsageError(
            f"'{name}' has the {side} space {space}; policies need a Box of one dimension with "
            "finite bounds."
        )
    names = tuple(f"{side} {i}" for i in range(shape[0]))
    return Quantities(names, ("",) * shape[0], space.low, space.high)
