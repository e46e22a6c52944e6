"""How a scene was made: which createScene, with which parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Recipe:
    """What makes the same scene again."""

    create: Callable[..., Any]
    """Its createScene."""
    values: Mapping[str, Any]
    """The parameters that were given."""


def remember_recipe(root: Any, recipe: Recipe) -> None:
    """Keep with a root how it was made."""
    root.__dict__[_KEY] = recipe


def recipe_of(root: Any) -> Recipe | None:
    """How a scene was made; None if nobody knows."""
    found = getattr(root, "__dict__", {}).get(_KEY)
    return found if isinstance(found, Recipe) else None


_KEY = "_softctl_recipe"
