"""Simulate candidates ahead on a copy of the scene."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.backend import find_backend
from sofa_softctl.scene.devices import keep_devices_closed
from sofa_softctl.scene.rollout.recipe import Recipe, recipe_of
from sofa_softctl.scene.scene_state import SceneState, put_motion


class Copy(Protocol):
    """A copy of a running scene, wherever it lives."""

    def state(self) -> Any:
        """The present state of the scene that runs."""

    def run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Result of work(copied, *arguments), where `copied` is the `CopiedScene`.

        Args:
            work: A function of a module.
            arguments: For the function.

        Raises:
            SceneError: It failed.
        """


def copy_of(root: Any) -> Copy:
    """A copy of a running scene, made by the same createScene with the same parameters.

    It is in this process where that runs the embedded runtime, and in one of its own beside SOFA.

    Args:
        root: Root of the scene that runs.

    Raises:
        SceneError: No copy can be made; the message says why.
    """
    if find_backend().name == "embedded":
        return SceneCopy(root)
    from sofa_softctl.scene.rollout.copy_process import CopyProcess

    return CopyProcess(root)


class CopiedScene:
    """A scene of the embedded runtime that takes the states of another one of the same recipe.

    Args:
        recipe: How to make it.
    """

    def __init__(self, recipe: Recipe) -> None:
        from sofa_softctl.runtime.simulation import snapshot
        from sofa_softctl.scene.loader import build_scene

        self.root = build_scene(recipe.create, recipe.values)
        keep_devices_closed(self.root)
        find_backend().Sofa.Simulation.init(self.root)  # type: ignore[attr-defined]
        self._start = snapshot.take(self.root)

    def twin(self, path: str) -> Any:
        """The object at a path of the scene."""
        for node in self.root.walk(everything=True):
            for entry in node.objects:
                if entry.getPathName() == path:
                    return entry
        raise SceneError(f"the copy of the scene has no '{path}'")

    def put(self, state: Any) -> None:
        """Bring the copy into a state of the scene: `SceneState`, or a snapshot of the runtime."""
        from sofa_softctl.runtime.simulation import snapshot

        if isinstance(state, SceneState):
            snapshot.put_back_known(self.root, self._start)
            put_motion(self.root, state)
            return
        try:
            snapshot.put_back(self.root, state)
        except SceneError:  # objects of contacts that only one of the two has met so far
            snapshot.put_back_known(self.root, state)
            self.step()
            snapshot.put_back_known(self.root, state)

    def step(self) -> None:
        """One step of the copy."""
        simulation: Any = find_backend().Sofa.Simulation
        simulation.animate(self.root, float(self.root.dt.value))


class SceneCopy(CopiedScene):
    """A copy in the same process: bit for bit what the scene itself does.

    Args:
        root: Root of the scene that runs.

    Raises:
        SceneError: No copy can be made; the message says why.
    """

    def __init__(self, root: Any) -> None:
        super().__init__(recipe_of(root))
        self.original = root

    def state(self) -> Any:
        """The present state of the scene that runs."""
        from sofa_softctl.runtime.simulation import snapshot

        return snapshot.take(self.original)

    def run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Result of work(copied, *arguments), where `copied` is the `CopiedScene`."""
        return work(self, *arguments)
