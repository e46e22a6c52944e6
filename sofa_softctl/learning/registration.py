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


class Registered(NamedTuple):
    """A task of one of our scenes."""

    scene: str
    """File name."""
    task: str
    """Key of its LEARNING."""


ENVIRONMENTS = {
    "Finger-v0": Registered("finger.py", "bend"),
    "Gripper-v0": Registered("gripper.py", "grip"),
    "RollingRing-v0": Registered("rolling_ring.py", "roll"),
    "Trunk-v0": Registered("trunk.py", "reach"),
}
"""By their ids in the namespace `softctl`."""


def register() -> None:
    """Register them, where Gymnasium is installed; `import sofa_softctl.learning` does it."""
    try:
        import gymnasium
    except ImportError:  # a scene with a trained policy does without
        return
    for name, (scene, task) in ENVIRONMENTS.items():
        gymnasium.register(
            f"softctl/{name}",
            entry_point="sofa_softctl.learning.registration:make",
            kwargs={"scene": scene, "task": task},
        )


def make(
    scene: str,
    task: str,
    *,
    parameters: dict[str, Any] | None = None,
    task_parameters: dict[str, Any] | None = None,
    render_mode: str | None = None,
) -> Any:
    """An environment of one of our scenes.

    Args:
        scene: File name.
        task: Key of its LEARNING.
        parameters: Of createScene.
        task_parameters: Of the task.
        render_mode: None or 'rgb_array'.
    """
    from sofa_softctl.learning.environments import SceneMaker

    path = scenes_folder() / scene
    maker = SceneMaker(path, task, dict(parameters or {}), dict(task_parameters or {}))
    return maker.make(render_mode=render_mode)


def scenes_folder() -> Path:
    """Where our scenes are: beside the package in the repository, or as they were installed.

    Raises:
        SceneError: They are in neither place.
    """
    beside = Path(sofa_softctl.__file__).parents[1] / "scenes"
    installed = Path(sysconfig.get_path("data"), "share", "sofa_softctl", "scenes")
    for folder in (beside, installed):
        if (folder / "finger.py").is_file():
            return folder
    raise SceneError(f"The scenes of this package are not at '{installed}': reinstall it.")
