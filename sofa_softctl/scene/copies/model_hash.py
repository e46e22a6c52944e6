"""Content hash of a model: two maps with one hash have the same equilibria."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sofa_softctl.base.fingerprint import Fingerprint, rounded
from sofa_softctl.runtime.core.base import Base
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.equilibrium.map import EquilibriumMap

VERSION = 2
"""Counts changes of the hash, and of how equilibria are found."""
PROBES = 2
"""Number of shapes at which the equations are compared."""
BEND = 0.01
"""Displacement in these shapes, relative to the robot's size [-]: strains of a few percent."""
_SUMS = 16
"""Weighted sums by which forces are compared."""
_LEAST = 2.0**-12
"""Share of the largest number of an array below which digits count absolutely [-]."""

_WORDS = frozenset("name tags printLog listening src".split())
"""Data of all components that change no equilibrium."""
_MOVING = frozenset(
    "position velocity force externalForce free_position free_velocity reset_position "
    "reset_velocity rest_position size".split()
)
"""Data of states that change as the robot moves; rest positions are compared by themselves."""
_RUNTIME = frozenset("_where _data _links _context _initialised _outputs _pattern state".split())
"""Attributes of components that the runtime sets."""


def model_hash(found: EquilibriumMap) -> str:
    """Digest of all that enters the equilibria of a map, and their outputs.

    - Data of states, masses, mappings, force fields and projective constraints, and what of them
      is no Data: attributes and code of those in Python;
    - lines: points, pull points and the scale of tensions;
    - watched points, and nodes that are held;
    - the equations themselves: forces, lines' lengths and their forces, and watched points, at a
      few shapes near the rest. That finds what has no Data: weights of mappings, meshes, linked
      objects.

    Names, files, the time step, and where the robot is change nothing. Numbers count to nine
    digits, forces at these shapes to seven, so that it is the same on other computers.

    Raises:
        SceneError: An attribute of a component in Python has no content that could be compared.
    """
    content, system = Fingerprint(_plain), found.system
    states = [*system.states, *system.mapped]
    number = {id(state): k for k, state in enumerate(states)}
    roles = (states, system.masses, system.mappings, system.force_fields, system.projective)
    parts = [[_checked(content, part) for part in role] for role in roles]
    gravity = [mass._context._data["gravity"].get() for mass in system.masses]  # type: ignore[union-attr]
    lines = [(number[id(line.state)], *_path(line.cable)) for line in found.lines]
    watched = [number.get(id(state)) for state in found.watched]
    rest = [_positions(state._data["rest_position"].get()) for state in states]
    start, equations = _positions(found.rest), list(_equations(found))
    model = (parts, gravity, system.fixed, lines, found.scale, watched, rest, start, equations)
    return content.of(("equilibrium", VERSION, model))


def _path(cable: Any) -> tuple[Any, ...]:
    return cable.indices.get(), cable.pullPoint.get(), cable.hasPullPoint.get()


def _checked(content: Fingerprint, part: Component) -> str:
    """Digest of a component.

    Raises:
        SceneError: It has an attribute without content, which the message names.
    """
    try:
        return content.of(part)
    except TypeError as error:
        names = [name for name, value in _attributes(part).items() if not _has_digest(value)]
        what = f"the attribute '{names[0]}'" if names else "code"
        raise part.fault(
            f"has {what} by which models cannot be told apart ({error}), so that equilibria "
            "cannot be kept. Give it numbers, arrays or texts, or plan without a store."
        ) from error


def _has_digest(value: Any) -> bool:
    try:
        Fingerprint(_plain).of(value)
    except TypeError:
        return False
    return True


def _plain(value: Any) -> Any:
    """What stands for objects of scenes."""
    if isinstance(value, Data):
        return ("Data", value.get())
    if isinstance(value, Component):
        data = {name: value._data[name].get() for name in _names(value)}
        return (type(value), data, _attributes(value))
    if isinstance(value, Base):  # a node; its objects take part by themselves, or do not
        return ("node",)
    return value


def _names(part: Component) -> list[str]:
    left_out = _WORDS | _MOVING if part.category == "state" else _WORDS
    return [
        name for name in part._data if name not in left_out and not part._data[name].type.computed
    ]


def _attributes(part: Component) -> dict[str, Any]:
    """Attributes of a component that is written in Python."""
    if not part._scripted:
        return {}
    return {name: value for name, value in vars(part).items() if name not in _RUNTIME}


def _equations(found: EquilibriumMap) -> Iterator[Any]:
    """What the balance of forces and the outputs are at some shapes; the map is left as it was."""
    x, tensions = found.positions(), [line.tension for line in found.lines]
    rng = np.random.default_rng(0)
    weights = rng.integers(-1000, 1000, (_SUMS, found.rest.size))
    try:
        found.pull(np.zeros(found.dimension))
        for _ in range(PROBES):
            found.place(found.rest + _bend(found, rng))
            forces = [found.residual(), *map(found.line_force, found.lines)]
            yield [_sums(weights, force) for force in forces]
            yield [line.measure() for line in found.lines]
            yield [_positions(state._data["position"].get()) for state in found.watched]
    finally:
        for line, tension in zip(found.lines, tensions, strict=True):
            line.tension = tension
        found.place(x)


def _bend(found: EquilibriumMap, rng: np.random.Generator) -> np.ndarray:
    """A smooth displacement, quadratic in the place [length], shape (n, 3)."""
    place = (found.rest - found.rest.min(axis=0)) / found.size
    linear, quadratic = rng.integers(-100, 100, (2, 3, 3)) / 100.0
    bent: np.ndarray = BEND * found.size * (place @ linear + place**2 @ quadratic)
    return bent


def _sums(weights: np.ndarray, force: np.ndarray) -> tuple[int, bytes]:
    """Weighted sums of forces, to seven digits of the whole force."""
    _, size = np.frexp(1.2360679775 * float(np.linalg.norm(np.nan_to_num(force))))
    sums = np.ldexp(weights @ np.nan_to_num(force).ravel(), 15 - int(size))
    return int(size), np.floor(sums + 0.236).astype("<i8").tobytes()


def _positions(x: np.ndarray) -> list[bytes]:
    return rounded(x, least=_LEAST * float(np.abs(x).max(initial=0.0)))
