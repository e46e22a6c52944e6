"""A second copy of a scene in the embedded runtime, to try out what the first one might do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.backend import find_backend
from sofa_softctl.scene.recipe import Recipe, recipe_of


class SceneCopy:
    """A copy of a running scene, made by the same createScene with the same parameters.

    Args:
        root: Root of the scene that runs.

    Raises:
        SceneError: No copy can be made; the message says why.
    """

    def __init__(self, root: Any) -> None:
        if find_backend().name != "embedded":
            raise SceneError("this process runs SOFA, whose scenes cannot be copied")
        recipe = recipe_of(root)
        if recipe is None:
            raise SceneError("it is not known how the scene was made: run it with a Session")
        self.original = root
        self.root = _built(recipe)

    def twin(self, owner: Any) -> Any:
        """What in the copy corresponds to an object of the scene."""
        path = owner.getPathName()
        for node in self.root.walk(everything=True):
            for entry in node.objects:
                if entry.getPathName() == path:
                    return entry
        raise SceneError(f"the copy of the scene has no '{path}'")

    def state(self) -> Any:
        """The present state of the scene that runs."""
        from sofa_softctl.runtime import snapshot

        return snapshot.take(self.original)

    def put(self, state: Any) -> None:
        """Bring the copy into a state of the scene."""
        from sofa_softctl.runtime import snapshot

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


def _built(recipe: Recipe) -> Any:
    from sofa_softctl.scene.loader import build_scene

    create: Callable[..., Any] = recipe.create
    values: Mapping[str, Any] = recipe.values
    root = build_scene(create, values)
    simulation: Any = find_backend().Sofa.Simulation
    simulation.init(root)
    return root
