"""Content hash of a model: two maps with one hash have the same equilibria."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sofa_softctl.base.fingerprint import Fingerprint, quantize
from sofa_softctl.runtime.core.base import Base
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.equilibrium.map import EquilibriumMap

VERSION = 2
"""Version of the hash and of the solution of equilibria."""
PROBE_COUNT = 2
"""Number of shapes at which the equations are compared [-]."""
BEND_RATIO = 0.01
"""Displacement in these shapes, relative to the robot's size [-]: strains of a few percent."""
_SUM_COUNT = 16
"""Number of weighted sums by which forces are compared [-]."""
_DIGIT_FLOOR = 2.0**-12
"""Fraction of an array's largest number below which digits count absolutely [-]."""

_WORDS = frozenset("name tags printLog listening src".split())
"""Data of all components without effect on equilibria."""
_MOVING = frozenset(
    "position velocity force externalForce free_position free_velocity reset_position "
    "reset_velocity rest_position size".split()
)
"""Data of states that change as the robot moves; rest positions are compared separately."""
_RUNTIME = frozenset("_where _data _links _context _initialised _outputs _pattern state".split())
"""Attributes of components that the runtime sets."""


def model_hash(equilibria: EquilibriumMap) -> str:
    """Return a digest of the equations and outputs of an equilibrium map.

    It covers

    - Data of states, masses, mappings, force fields and projective constraints, and attributes and
      code of those in Python;
    - lines: points, pull points and the scale of tensions;
    - output points, and fixed nodes;
    - the equations themselves: forces, lines' lengths and their forces, and output points, at a
      few shapes near the rest, which covers weights of mappings, meshes, linked objects.

    Names, files, the time step, and the present shape change nothing. Numbers count to nine
    digits, forces at these shapes to seven, so that all computers give the same digest.

    Raises:
        SceneError: An attribute of a component in Python has no comparable content.
    """
    content, system = Fingerprint(_as_plain), equilibria.system
    states = [*system.states, *system.mapped]
    number = {id(state): k for k, state in enumerate(states)}
    roles = (states, system.masses, system.mappings, system.force_fields, system.projective)
    parts = [[_component_digest(content, part) for part in role] for role in roles]
    gravity = [mass._context.gravity.get() for mass in system.masses]  # type: ignore[union-attr]
    lines = [(number[id(line.state)], *_path(line.cable)) for line in equilibria.lines]
    watched = [number.get(id(state)) for state in equilibria.watched]
    rest = [_positions(state.rest_position.get()) for state in states]
    start, equations = _positions(equilibria.rest), list(_equations(equilibria))
    model = (parts, gravity, system.fixed, lines, equilibria.scale, watched, rest, start, equations)
    return content.of(("equilibrium", VERSION, model))


def _path(cable: Any) -> tuple[Any, ...]:
    return cable.indices.get(), cable.pullPoint.get(), cable.hasPullPoint.get()


def _component_digest(content: Fingerprint, part: Component) -> str:
    """Return the digest of a component; SceneError for an attribute without content."""
    try:
        return content.of(part)
    except TypeError as error:
        names = [name for name, value in _attributes(part).items() if not _has_digest(value)]
        subject = f"the attribute '{names[0]}'" if names else "code"
        raise part.fault(
            f"has {subject} by which models cannot be told apart ({error}), so that equilibria "
            "cannot be kept. Give it numbers, arrays or texts, or plan without a store."
        ) from error


def _has_digest(value: Any) -> bool:
    try:
        Fingerprint(_as_plain).of(value)
    except TypeError:
        return False
    return True


def _as_plain(value: Any) -> Any:
    """Return plain content for an object of a scene."""
    if isinstance(value, Data):
        return ("Data", value.get())
    if isinstance(value, Component):
        data = {name: value._data[name].get() for name in _names(value)}
        return (type(value), data, _attributes(value))
    if isinstance(value, Base):  # a node; its objects are hashed separately
        return ("node",)
    return value


def _names(part: Component) -> list[str]:
    left_out = _WORDS | _MOVING if part.category == "state" else _WORDS
    return [
        name for name in part._data if name not in left_out and not part._data[name].type.computed
    ]


def _attributes(part: Component) -> dict[str, Any]:
    """Return the attributes of a component that is written in Python."""
    if not part._scripted:
        return {}
    return {
        name: value
        for name, value in vars(part).items()
        if name not in _RUNTIME | part.data_types.keys()
    }


def _equations(equilibria: EquilibriumMap) -> Iterator[Any]:
    """Yield digests of forces and outputs at some shapes; the map's state is restored."""
    x, tensions = equilibria.positions(), [line.tension for line in equilibria.lines]
    rng = np.random.default_rng(0)
    weights = rng.integers(-1000, 1000, (_SUM_COUNT, equilibria.rest.size))
    try:
        equilibria.pull(np.zeros(equilibria.dimension))
        for _ in range(PROBE_COUNT):
            equilibria.place(equilibria.rest + _bend(equilibria, rng))
            forces = [equilibria.residual(), *map(equilibria.line_force, equilibria.lines)]
            yield [_force_digest(weights, force) for force in forces]
            yield [line.measure() for line in equilibria.lines]
            yield [_positions(state.position.get()) for state in equilibria.watched]
    finally:
        for line, tension in zip(equilibria.lines, tensions, strict=True):
            line.tension = tension
        equilibria.place(x)


def _bend(equilibria: EquilibriumMap, rng: np.random.Generator) -> np.ndarray:
    """Return a smooth displacement, quadratic in the position [length], shape (n, 3)."""
    x = (equilibria.rest - equilibria.rest.min(axis=0)) / equilibria.size
    linear, quadratic = rng.integers(-100, 100, (2, 3, 3)) / 100.0
    displacement: np.ndarray = BEND_RATIO * equilibria.size * (x @ linear + x**2 @ quadratic)
    return displacement


def _force_digest(weights: np.ndarray, force: np.ndarray) -> tuple[int, bytes]:
    """Return weighted sums of forces, to seven digits of the norm."""
    _, size = np.frexp(1.2360679775 * float(np.linalg.norm(np.nan_to_num(force))))
    sums = np.ldexp(weights @ np.nan_to_num(force).ravel(), 15 - int(size))
    return int(size), np.floor(sums + 0.236).astype("<i8").tobytes()


def _positions(x: np.ndarray) -> list[bytes]:
    return quantize(x, magnitude_min=_DIGIT_FLOOR * float(np.abs(x).max(initial=0.0)))
