"""How to make a scene again: createScene and its parameters."""

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
    """How to make the same scene again."""

    create: Callable[..., Any]
    """Its createScene."""
    values: Mapping[str, Any]
    """The parameters that were given."""


@dataclass(frozen=True)
class Written:
    """A recipe in words that another process understands."""

    module: str
    """Module of createScene."""
    file: str
    """The module's file."""
    name: str
    """Its name in the module, such as 'createScene'."""
    values: Mapping[str, Any]
    """The parameters that were given."""

    def read(self) -> Recipe:
        """The recipe, in a process with the same sys.path.

        Raises:
            SceneError: the file is gone, or makes no scene.
            Exception: whatever the file raises.
        """
        module = import_module(self.module) if self._on_path() else import_scene(self.file)
        create: Any = module
        for name in self.name.split("."):
            create = getattr(create, name)
        return Recipe(create, self.values)

    def _on_path(self) -> bool:
        """Whether importing the module by its name gives this file: a scene file need not be."""
        try:
            found = find_spec(self.module)
        except (ImportError, ValueError):
            return False
        return found is not None and found.origin is not None and _same(found.origin, self.file)


def remember_recipe(root: Any, recipe: Recipe) -> None:
    """Keep with a root how it was made."""
    root.__dict__[_KEY] = recipe


def has_recipe(root: Any) -> bool:
    """Whether it is known how a root was made."""
    return isinstance(getattr(root, "__dict__", {}).get(_KEY), Recipe)


def recipe_of(root: Any) -> Recipe:
    """Recipe of a scene.

    Raises:
        SceneError: nobody knows.
    """
    if not has_recipe(root):
        raise SceneError("it is not known how the scene was made: run it with a Session")
    recipe: Recipe = root.__dict__[_KEY]
    return recipe


def written(recipe: Recipe) -> Written:
    """A recipe for another process.

    Raises:
        SceneError: its createScene cannot be imported there.
    """
    create: Any = recipe.create
    name, module = getattr(create, "__qualname__", "<unnamed>"), getattr(create, "__module__", None)
    if "<" in name or inspect.ismethod(create) or module in (None, "__main__"):
        raise SceneError(
            f"another process cannot import the scene's '{name}' of {module}: put createScene into "
            "a file of its own"
        )
    home = sys.modules.get(str(module)) or inspect.unwrap(create)
    file = getattr(home, "__file__", None) or home.__globals__.get("__file__", "")
    return Written(str(module), str(file), name, dict(recipe.values))


def _same(one: str, other: str) -> bool:
    return Path(one).resolve() == Path(other).resolve()


_KEY = "_softctl_recipe"
