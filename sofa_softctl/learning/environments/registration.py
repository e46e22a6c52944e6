"""Our environments in Gymnasium's registry.

    import gymnasium
    import sofa_softctl.learning

    env = gymnasium.make("softctl/Trunk-v0")

or, in one, `gymnasium.make("sofa_softctl.learning:softctl/Trunk-v0")`.
"""

from __future__ import annotations

import sysconfig
from pathlib import Path
from typing import Any, NamedTuple

import sofa_softctl
from sofa_softctl.errors import SceneError


class RegisteredTask(NamedTuple):
    """A task of one of our scenes."""

    scene: str
    """File name."""
    task: str
    """Key of its LEARNING."""
    surrogate: bool = False
    """Whether it uses the map of equilibria, with the scene as its exact model."""


ENVIRONMENTS = {
    "Finger-v0": RegisteredTask("finger.py", "bend"),
    "Gripper-v0": RegisteredTask("gripper.py", "grip"),
    "LaserArm-v0": RegisteredTask("laser_arm.py", "spot", surrogate=True),
    "RollingRing-v0": RegisteredTask("rolling_ring.py", "roll"),
    "Trunk-v0": RegisteredTask("trunk.py", "reach"),
}
"""Tasks of our scenes by their ids in the namespace `softctl`."""


def register() -> None:
    """Register `ENVIRONMENTS` if Gymnasium is installed, at the import of `learning`."""
    try:
        import gymnasium
    except ImportError:  # a scene with a trained policy does without
        return
    home = "sofa_softctl.learning.environments.registration"
    for name, (scene, task, surrogate) in ENVIRONMENTS.items():
        arguments: dict[str, Any] = {"entry_point": f"{home}:make_env", "kwargs": {}}
        if surrogate:
            arguments = {
                "entry_point": f"{home}:make_surrogate",
                "vector_entry_point": f"{home}:make_surrogates",
                "kwargs": {"exact": False},
            }
        arguments["kwargs"] |= {"scene": scene, "task": task}
        gymnasium.register(f"softctl/{name}", **arguments)


def make_env(
    scene: str, task: str, *, scaled: bool = True, render_mode: str | None = None, **options: Any
) -> Any:
    """Make an environment of one of our scenes.

    Args:
        scene: File name.
        task: Key of its LEARNING.
        scaled: Option of `SceneEnv`.
        render_mode: None or 'rgb_array'.
    options: `parameters` of createScene, and `task_parameters`.
    """
    return _maker(scene, task, **options).make_env(scaled=scaled, render_mode=render_mode)


def make_surrogate(
    scene: str,
    task: str,
    *,
    exact: bool = False,
    scaled: bool = True,
    render_mode: str | None = None,
    **options: Any,
) -> Any:
    """Make an environment on the map of a scene's equilibria, or with `exact` of the scene.

    Arguments as for `make`; `store`: file of equilibria, for later runs.
    """
    maker = _maker(scene, task, surrogate=not exact, **options)
    return maker.make_env(scaled=scaled, render_mode=render_mode)


def make_surrogates(
    num_envs: int = 1,
    *,
    scene: str,
    task: str,
    exact: bool = False,
    autoreset_mode: Any = None,
    **options: Any,
) -> Any:
    """Make many environments in one process; arguments as for `make_surrogate`.

    `autoreset_mode`: option of `SurrogateVectorEnv`; by default the next step.
    """
    from sofa_softctl.learning.environments.named import NEXT_STEP

    maker = _maker(scene, task, surrogate=not exact, **options)
    return maker.vector(num_envs, 0, autoreset_mode or NEXT_STEP)


_MADE: dict[str, Any] = {}
"""Last maker by its arguments; it keeps the map of a surrogate."""


def _maker(
    scene: str,
    task: str,
    *,
    surrogate: bool = False,
    store: str | Path | None = None,
    parameters: dict[str, Any] | None = None,
    task_parameters: dict[str, Any] | None = None,
) -> Any:
    from sofa_softctl.learning.environments.named import SceneMaker

    values = dict(parameters or {}), dict(task_parameters or {})
    store_path = None if store is None else Path(store)
    key = repr((scene, task, *values, surrogate, store_path))
    if key not in _MADE:
        _MADE.clear()
        _MADE[key] = SceneMaker(scenes_folder() / scene, task, *values, surrogate, store_path)
    return _MADE[key]


def scenes_folder() -> Path:
    """Return the folder of our scenes: next to the package in the repository, or installed.

    Raises:
        SceneError: They are in neither folder.
    """
    checked_out = Path(sofa_softctl.__file__).parents[1] / "scenes"
    installed = Path(sysconfig.get_path("data"), "share", "sofa_softctl", "scenes")
    for folder in (checked_out, installed):
        if (folder / "finger.py").is_file():
            return folder
    raise SceneError(f"The scenes of this package are not at '{installed}': reinstall it.")
