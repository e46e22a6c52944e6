"""Swimmers of the study: the paper's fish, a slender eel, and a tadpole with a heavy head."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sofa_softctl.errors import SceneError
from softctl_swimmer.body import Hinge, Link, Swimmer, fish


@dataclass(frozen=True)
class Body:
    """A swimmer with the strength of its hinges."""

    make: Callable[[], Swimmer]
    """Function that creates it."""
    torque: float
    """Largest torque of each hinge [N m]."""


def eel() -> Swimmer:
    """Return a swimmer of four slender links, as high as they are wide."""
    return fish(semi_axes=(0.1, 0.025, 0.025), gap=0.02)


def tadpole() -> Swimmer:
    """Return a swimmer with a thick head and a tail of three links that become smaller."""
    links = [(0.12, 0.06, 0.06), (0.08, 0.025, 0.04), (0.07, 0.02, 0.035), (0.06, 0.015, 0.03)]
    gap = 0.02
    hinges = [
        Hinge(j, (-links[j][0] - 0.5 * gap, 0.0, 0.0), (links[j + 1][0] + 0.5 * gap, 0.0, 0.0))
        for j in range(3)
    ]
    return Swimmer(tuple(map(Link, links)), tuple(hinges))


def body(name: str) -> Swimmer:
    """Return a swimmer by its name.

    Raises:
        SceneError: The name is unknown.
    """
    if name not in BODIES:
        raise SceneError(f"There is no body '{name}'. There are: {', '.join(BODIES)}.")
    return BODIES[name].make()


BODIES: Mapping[str, Body] = MappingProxyType(
    {"fish": Body(fish, 0.3), "eel": Body(eel, 0.08), "tadpole": Body(tadpole, 0.15)}
)
"""Swimmers by name."""
