"""Mechanisms: a tree of joints with masses, springs, dampers, friction and closed loops.

    pendulum = Mechanism(
        joints=(Joint("swing", axis=(0, 1, 0)),),
        bodies=(Body("swing", mass="m", center=(0, 0, -0.5)),),
        dampers=(Damper("swing", damping="c"),),
        parameters=(Parameter("m", 1.0, "kg"), Parameter("c", 0.1, "N m s/rad")),
    )

Units: m, kg, s, rad. Any number may be replaced by the name of a parameter, or `Scaled`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sofa_softctl.base.suggestions import did_you_mean
from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.mechanism.kernels.arrays import (
    DIRECTION,
    DISTANCE,
    POINT,
    Readings,
    Tree,
    Values,
)
from sofa_softctl.identification.mechanism.parts import (
    EARTH,
    WORLD,
    Armature,
    Body,
    Clamp,
    Damper,
    Distance,
    Friction,
    Joint,
    Number,
    Pin,
    Point,
    Rod,
    Scaled,
    Spring,
)
from sofa_softctl.identification.model.parameter import Parameter


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A tree of joints with bodies, springs, dampers, friction and constraints.

    Raises:
        IdentificationError: A name is unknown or duplicate, or a parent comes after its child.
    """

    joints: Sequence[Joint]
    """Joints, each after its parent."""
    bodies: Sequence[Body] = ()
    """Masses."""
    springs: Sequence[Spring] = ()
    """Springs along coordinates."""
    dampers: Sequence[Damper] = ()
    """Dampers along coordinates."""
    constraints: Sequence[Pin | Clamp | Rod] = ()
    """Closed loops: h(q, rho) = 0."""
    parameters: tuple[Parameter, ...] = ()
    """Unknown parameters, in the order of rho."""
    gravity: Sequence[float] = EARTH
    """Gravity [m / s^2]."""
    frictions: Sequence[Friction] = ()
    """Coulomb friction along coordinates."""
    armatures: Sequence[Armature] = ()
    """Inertias along coordinates."""

    def __post_init__(self) -> None:
        names = [parameter.name for parameter in self.parameters]
        for name in names:
            if names.count(name) > 1:
                raise IdentificationError(
                    f"There are two parameters '{name}': give each a name of its own."
                )
        for friction in self.frictions:
            if not friction.speed > 0.0:
                raise IdentificationError(
                    f"Friction of joint '{friction.joint}': its speed is {friction.speed:g}. "
                    "Expected a "
                    "positive one, below which friction is viscous."
                )
        assert self.tree is not None  # looks up every name now, not during a run

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the entries of q."""
        return tuple(joint.name for joint in self.joints if joint.rigid is None)

    def coordinate(self, joint: str) -> int:
        """Index of a joint in q.

        Raises:
            IdentificationError: The joint does not exist, or does not move.
        """
        return _find(joint, self.coordinates, "moving joint")

    def frame(self, joint: str) -> int:
        """Index of a joint among all; -1 for the world."""
        if joint == WORLD:
            return -1
        return _find(joint, [joint.name for joint in self.joints], "joint")

    @cached_property
    def tree(self) -> Tree:
        """The mechanism as arrays."""
        self._check_joints()
        return Tree(
            **self._joint_arrays(),
            **self._force_arrays(),
            body=_integers(self.frame(body.joint) for body in self.bodies),
            mass=self._values(body.mass for body in self.bodies),
            center=_stack([body.center for body in self.bodies], (3,)),
            gyration=_stack([_gyration(body.gyration) for body in self.bodies], (3, 3)),
            closed=self._table(
                [row for constraint in self.constraints for row in _rows(constraint)]
            ),
            gravity=np.asarray(self.gravity, dtype=float),
        )

    def _check_joints(self) -> None:
        """Refuse joints of one name, and parents that do not come before their children."""
        names = [joint.name for joint in self.joints]
        for k, joint in enumerate(self.joints):
            if joint.name in names[:k] or joint.name == WORLD:
                raise IdentificationError(f"Joint '{joint.name}': each needs a name of its own.")
            if joint.parent != WORLD:
                _find(joint.parent, names[:k], f"joint before '{joint.name}'")

    def _joint_arrays(self) -> dict[str, Any]:
        moving = [k for k, joint in enumerate(self.joints) if joint.rigid is None]
        number = {k: c for c, k in enumerate(moving)}
        return {
            "parent": _integers(self.frame(joint.parent) for joint in self.joints),
            "coordinate": _integers(number.get(k, -1) for k in range(len(self.joints))),
            "joint": _integers(moving),
            "sliding": np.array([joint.sliding for joint in self.joints], dtype=np.bool_),
            "axis": _stack([_unit(joint.axis, joint.name) for joint in self.joints], (3,)),
            "turned": _stack([_axes(joint.turned) for joint in self.joints], (3, 3)),
            "moved": _stack([joint.moved for joint in self.joints], (3,)),
            "rigid": self._values(joint.rigid or 0.0 for joint in self.joints),
        }

    def _force_arrays(self) -> dict[str, Any]:
        return {
            "spring": _integers(self.coordinate(spring.joint) for spring in self.springs),
            "stiffness": self._values(spring.stiffness for spring in self.springs),
            "rest": self._values(spring.rest for spring in self.springs),
            "damper": _integers(self.coordinate(damper.joint) for damper in self.dampers),
            "damping": self._values(damper.damping for damper in self.dampers),
            "rubbing": _integers(self.coordinate(friction.joint) for friction in self.frictions),
            "friction": self._values(friction.friction for friction in self.frictions),
            "creep": np.array([friction.speed for friction in self.frictions], dtype=float),
            "rotor": _integers(self.coordinate(armature.joint) for armature in self.armatures),
            "armature": self._values(armature.inertia for armature in self.armatures),
        }

    def rows(self, readings: Sequence[Point | Distance]) -> Readings:
        """Readings as arrays: three rows for each point, one for each distance."""
        return self._table([row for reading in readings for row in _rows(reading)])

    def _table(self, rows: list[_Row]) -> Readings:
        return Readings(
            kind=_integers(row.kind for row in rows),
            one=_integers(self.frame(row.one) for row in rows),
            other=_integers(self.frame(row.other) for row in rows),
            at_one=_stack([row.at_one for row in rows], (3,)),
            at_other=_stack([row.at_other for row in rows], (3,)),
            along=_stack([row.along for row in rows], (3,)),
            target=self._values(row.target for row in rows),
        )

    def values(self, numbers: Iterable[Number], rho: np.ndarray) -> np.ndarray:
        """Values of numbers at parameters rho, shape (n,)."""
        constant, factor, parameter = self._values(numbers)
        return constant + factor * np.append(rho, 0.0)[parameter]

    def by_rho(self, numbers: Iterable[Number]) -> np.ndarray:
        """Return derivatives of numbers by the parameters, shape (n, n_rho)."""
        _, factor, parameter = self._values(numbers)
        derivatives = np.zeros((len(parameter), len(self.parameters) + 1))
        derivatives[np.arange(len(parameter)), parameter] = factor
        return derivatives[:, :-1]

    def _values(self, numbers: Iterable[Number]) -> Values:
        names = [parameter.name for parameter in self.parameters]
        rows = []
        for number in numbers:
            if isinstance(number, str):
                number = Scaled(number, 1.0)
            if isinstance(number, Scaled):
                at = _find(number.parameter, names, "parameter")
                rows.append((float(number.constant), float(number.factor), at))
            else:
                rows.append((float(number), 0.0, -1))
        constant, factor, parameter = zip(*rows, strict=True) if rows else ((), (), ())
        return Values(np.array(constant), np.array(factor), _integers(parameter))


@dataclass(frozen=True)
class _Row:
    """Equation of a constraint, or a reading."""

    kind: int
    one: str
    at_one: Any
    other: str
    at_other: Any
    along: Any = (0.0, 0.0, 0.0)
    target: Number = 0.0


def _rows(of: Pin | Clamp | Rod | Point | Distance) -> list[_Row]:
    """Return the rows of a constraint, or of a reading."""
    if isinstance(of, Point):
        return [_Row(POINT, of.joint, of.at, WORLD, np.zeros(3), axis) for axis in np.eye(3)]
    first_joint, second_joint = of.one, of.other
    ends = (first_joint, of.at_one, second_joint, of.at_other)
    if isinstance(of, Rod | Distance):
        return [_Row(DISTANCE, *ends, target=of.length if isinstance(of, Rod) else 0.0)]
    rows = [_Row(POINT, *ends, along=axis) for axis in np.eye(3)]
    if isinstance(of, Clamp):
        axes, unit = _axes(of.turned), np.eye(3)
        pairs = ((0, 1), (1, 2), (2, 0))
        rows += [_Row(DIRECTION, first_joint, unit[a], second_joint, axes[:, b]) for a, b in pairs]
    return rows


def _find(name: str, valid_names: Sequence[str], label: str) -> int:
    if name in valid_names:
        return valid_names.index(name)
    hint = did_you_mean(name, valid_names)
    raise IdentificationError(
        f"There is no {label} '{name}'.{hint} Known: {', '.join(valid_names) or 'none'}."
    )


def _integers(values: Iterable[int]) -> np.ndarray:
    return np.array(list(values), dtype=np.int64)


def _stack(rows: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
    return np.array(rows, dtype=float).reshape(len(rows), *shape)


def _unit(axis: Sequence[float], name: str) -> np.ndarray:
    direction = np.asarray(axis, dtype=float)
    length = float(np.linalg.norm(direction))
    if direction.shape != (3,) or not length > 0.0:
        raise IdentificationError(f"Joint '{name}': its axis is {axis}, not three numbers.")
    return direction / length


def _axes(turned: Any) -> np.ndarray:
    return np.eye(3) if turned is None else np.asarray(turned, dtype=float)


def _gyration(tensor: Any) -> np.ndarray:
    matrix = np.asarray(tensor, dtype=float)
    return matrix if matrix.shape == (3, 3) else np.diag(np.broadcast_to(matrix, 3))
