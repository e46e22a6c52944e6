"""Scene recipes: createScene with its parameters, to build the same scene again."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation.scene_file import import_scene


@dataclass(frozen=True)
class Recipe:
    """createScene and its parameters, to build the same scene again."""

    create: Callable[..., Any]
    """The scene file's createScene."""
    values: Mapping[str, Any]
    """The parameters that were given."""


@dataclass(frozen=True)
class SerializedRecipe:
    """A recipe that another process can read."""

    module: str
    """Module of createScene."""
    file: str
    """The module's file."""
    name: str
    """Qualified name in the module, such as 'createScene'."""
    values: Mapping[str, Any]
    """The parameters that were given."""

    def read(self) -> Recipe:
        """Return the recipe, in a process with the same sys.path.

        Raises:
            SceneError: the file is missing, or makes no scene.
            Exception: an error in the file.
        """
        module = import_module(self.module) if self._on_path() else import_scene(self.file)
        create: Any = module
        for name in self.name.split("."):
            create = getattr(create, name)
        return Recipe(create, self.values)

    def _on_path(self) -> bool:
        """Return True if importing the module by its name gives this file."""
        try:
            module_spec = find_spec(self.module)
        except (ImportError, ValueError):
            return False
        return (
            module_spec is not None
            and module_spec.origin is not None
            and _is_same_file(module_spec.origin, self.file)
        )


def remember_recipe(root: Any, recipe: Recipe) -> None:
    """Store the recipe of a scene in its root."""
    root.__dict__[_KEY] = recipe


def has_recipe(root: Any) -> bool:
    """Return True if the recipe of a scene is known."""
    return isinstance(getattr(root, "__dict__", {}).get(_KEY), Recipe)


def recipe_of(root: Any) -> Recipe:
    """Return the recipe of a scene.

    Raises:
        SceneError: the recipe is unknown.
    """
    if not has_recipe(root):
        raise SceneError("it is not known how the scene was made: run it with a Session")
    recipe: Recipe = root.__dict__[_KEY]
    return recipe


def serialize_recipe(recipe: Recipe) -> SerializedRecipe:
    """Return a recipe that another process can read.

    Raises:
        SceneError: its createScene cannot be imported there.
    """
    create: Any = recipe.create
    name, module = getattr(create, "__qualname__", "<unnamed>"), getattr(create, "__module__", None)
    if "<" in name or inspect.ismethod(create) or module in (None, "__main__"):
        raise SceneError(
            f"another process cannot import the scene's '{name}' of {module}: put createScene into "
            "a separate file"
        )
    home = sys.modules.get(str(module)) or inspect.unwrap(create)
    file = getattr(home, "__file__", None) or home.__globals__.get("__file__", "")
    return SerializedRecipe(str(module), str(file), name, dict(recipe.values))


def _is_same_file(first: str, second: str) -> bool:
    return Path(first).resolve() == Path(second).resolve()


_KEY = "_softctl_recipe"
