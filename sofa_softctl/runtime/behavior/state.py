"""Role of mechanical states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from sofa_softctl.base.source_line import Line, describe
from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.behavior.dofs import KINDS, DofType
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.box import box_of
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.handling import Handling
from sofa_softctl.runtime.core.data.types import Coords, Derivs
from sofa_softctl.runtime.helper import message

_BY_NODE = frozenset(
    "position velocity force externalForce free_position free_velocity rest_position "
    "reset_position reset_velocity".split()
)
"""Data with a row for each node."""
_NOT_FOLLOWED = ("velocity", "free_position", "rest_position")
"""Data that do not move a state without an integrator."""
_OVERWRITTEN = {
    "force": "Give a ConstantForceField, or set externalForce",
    "free_position": "Set 'position'",
    "free_velocity": "Set 'velocity'",
}
"""Advice by Data that an integrator overwrites."""
_UNIT_TOLERANCE = 1e-2
"""Difference of a quaternion's length from 1 that rounding can explain [-]."""
_FAST_TURN = 15.0
"""Rotation in a step that suggests an angle in degrees instead of radians [degree]."""
_FAST_STEPS_MAX = 5


class MechanicalState(Component):
    """Positions, velocities and forces of nodes."""

    category: ClassVar[str] = "state"

    position = Coords([], "Position of each node.", unit="length")
    velocity = Derivs([], "Velocity of each node.", unit="length/time")
    force = Derivs([], "Force on each node in the last step.", unit="force")
    externalForce = Derivs(
        [], "Force from outside; it acts in one step, after which it is cleared.", unit="force"
    )
    free_position = Coords([], "Position without constraints.", unit="length")
    free_velocity = Derivs([], "Velocity without constraints.", unit="length/time")
    rest_position = Coords(
        [], "Position in which there is no elastic force.", unit="length", optional_link=True
    )

    find_rows: Callable[[MechanicalState], Any] | None = None
    """Function for the directions of its constraint rows, or None without constraints."""
    lam: np.ndarray
    """J^T lambda of the last step, shape (count, deriv_size)."""

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        self.lam = np.zeros((0, 3))

    @property
    def kind(self) -> DofType:
        """Type of its degrees of freedom.

        Raises:
            SceneError: The template is unknown.
        """
        template = self.template.get()
        if template not in KINDS:
            raise self.fault(
                f"has template '{template}'; the embedded runtime knows "
                f"{', '.join(repr(name) for name in KINDS if name)}."
            )
        return KINDS[template]

    @property
    def coord_size(self) -> int:
        """Number of scalars of a node's position."""
        return self.kind.coord_size

    @property
    def deriv_size(self) -> int:
        """Number of scalars of a node's velocity or force."""
        return self.kind.deriv_size

    def find_box(self) -> np.ndarray:
        """Return the smallest and largest corner of its points, once they are placed."""
        has_points = self._initialised and self.coord_size >= 3
        return box_of(self.position.get()[:, :3]) if has_points else super().find_box()

    @property
    def block_count(self) -> int:
        """Number of rows of three scalars of its velocity in the vectors of a system.

        A point has one, a body two (linear, angular); three joints share one.
        """
        return -(-self.count * self.deriv_size // 3)

    def getTemplateName(self) -> str:
        """Return the kind of degrees of freedom."""
        return f"{self.kind.name}d"

    @property
    def count(self) -> int:
        """Number of nodes."""
        return len(self.position.get())

    _known: int | None = None
    """Number of nodes before a mapping adds its nodes, or None if all are known."""

    @property
    def known_count(self) -> int:
        """Number of nodes without nodes that a later mapping adds."""
        return self.count if self._known is None else self._known

    def take_mapped_nodes(self) -> None:
        """Add the nodes of a mapping that is initialised later.

        Components before the mapping read beyond the state's memory in SOFA at init, in most cases
        a 0, and find the nodes in a step. So the nodes are at zero until then.
        """
        for mapping in () if self._context is None else self._context.of("mapping"):
            if self._known is None and not mapping._initialised and mapping._follower() is self:
                for data in mapping._data.values():
                    data.follow_link(must=True)
                x = self.position.get()
                mapping.give_nodes()
                count = self.count
                if count != len(x):
                    self._known = len(x)
                    missing = np.tile(self.kind.identity, (max(count - len(x), 0), 1))
                    self.position.set(np.concatenate([x[:count], missing]))

    def getSize(self) -> int:
        """Return the number of nodes."""
        return self.count

    def advance(
        self, v: np.ndarray, h: float, out: np.ndarray, start: np.ndarray | None = None
    ) -> None:
        """Move the position (or `start`) by h v to out, which may be the position."""
        self.kind.advance(self.position.get() if start is None else start, v, h, out)

    _fast_turns = 0
    """Number of steps in which a controller rotated it by more than `_FAST_TURN`."""
    _has_mapping_warning = False
    """Whether a warning has said that a mapping computes its positions."""

    def check_change(self, data: Data, value: Any, line: Line | None) -> None:
        """Check that the number of rows stays, and warn of changes without effect."""
        if self._initialised and value is not None and data.type.name in _BY_NODE:
            is_partial = data.name == "externalForce" and len(value) <= self.count
            if len(value) != self.count and not is_partial:
                raise SceneError(
                    f"{describe(line)}: {data.getName()} of '{self.getPathName()}' has "
                    f"{self.count} nodes, got {len(value)}."
                )
        if self._initialised and data.type.name in ("position", "velocity"):
            self._warn_if_mapped(data, line)
        if self._initialised and data.type.name in _OVERWRITTEN:
            self._warn_if_overwritten(data, line)
        if self._initialised and value is not None and Handling.controller is not None:
            is_scripted = data.type.name in ("position", *_NOT_FOLLOWED) and self._is_scripted()
            new = np.asarray(value, dtype=float)
            if is_scripted and data.name != "position" and not np.array_equal(new, data.get()):
                changes: Any = self._context.getRoot().late_changes  # type: ignore[union-attr]
                changes.note_unfollowed(data, line)
            elif data.name == ("position" if is_scripted else "rest_position"):
                self._check_turn(data, new, line)
        super().check_change(data, value, line)

    def _is_scripted(self) -> bool:
        """Return True if neither an integrator nor a mapping moves it."""
        node = self._context
        if node is None or node.find_upward("ode solver") is not None:
            return False
        return not any(getattr(mapping, "child", None) is self for mapping in node.of("mapping"))

    def _check_turn(self, data: Data, value: np.ndarray, line: Line | None) -> None:
        """Warn, once, of positions from a controller that rotate a body wrongly."""
        changes: Any = self._context.getRoot().late_changes  # type: ignore[union-attr]
        if self.kind.name != "Rigid3" or data in changes.told or value.shape[1:] != (7,):
            return
        lengths = np.linalg.norm(value[:, 3:], axis=1)
        cosines = np.abs((value[:, 3:] * data.get()[:, 3:]).sum(axis=1))
        turn = np.degrees(2.0 * np.arccos(min(1.0, cosines.min(initial=1.0))))
        self._fast_turns += turn > _FAST_TURN
        node = int(np.argmax(np.abs(lengths - 1.0)))
        if abs(lengths[node] - 1.0) > _UNIT_TOLERANCE:
            problem = f"has a quaternion of length {lengths[node]:.4g} instead of 1"
        elif turn > 90.0 or self._fast_turns > _FAST_STEPS_MAX:
            node = int(np.argmin(cosines))
            problem = f"turns by {turn:.3g} degrees in a step, which nothing attached to it follows"
        else:
            return
        changes.told.add(data)
        message.warning(
            self,
            f"{describe(line)}: {data.getName()} of '{self.getPathName()}' {problem} (node "
            f"{node}). Its last four numbers are x y z w: the axis times the sine of half the "
            "angle in radians, and the cosine.",
        )

    def _warn_if_mapped(self, data: Data, line: Line | None) -> None:
        """Warn, once, that a mapping computes positions that a script sets."""
        mappings = [] if self._context is None else self._context.of("mapping")
        mappings = [m for m in mappings if getattr(m, "child", None) is self]
        if mappings and not self._has_mapping_warning:
            self._has_mapping_warning = True
            message.warning(
                self,
                f"{describe(line)}: {data.getName()} of '{self.getPathName()}' is computed by "
                f"{mappings[0].describe()} in every step: what is set moves nothing, and until "
                "then misleads what reads it. Move the body that it is mapped from.",
            )

    def _warn_if_overwritten(self, data: Data, line: Line | None) -> None:
        """Warn, once, that each step overwrites Data that a controller sets at its start."""
        node = self._context
        if node is None or Handling.event != "onAnimateBeginEvent":
            return
        warned = node.getRoot().late_changes.told
        if data not in warned and node.find_upward("ode solver") is not None:
            warned.add(data)
            message.warning(
                self,
                f"{describe(line)}: {data.getName()} of '{self.getPathName()}' is computed anew "
                f"in every step: setting it changes nothing. {_OVERWRITTEN[data.type.name]}.",
            )

    def follows(self, data: Data) -> str:
        """Return when a change counts; force fields may read rest positions only at the start."""
        if data.name == "rest_position" and self._context is not None:
            times = {getattr(type(item), "reads_rest", "") for item in self._context.objects}
            if times == {"", "start"}:
                return "start"
        return super().follows(data)

    def outer_force(self) -> np.ndarray:
        """Return externalForce with a row for each node, for additions."""
        data = self.externalForce
        force = data.get()
        if len(force) != self.count:
            rows = np.zeros((self.count, self.deriv_size))
            rows[: len(force)] = force[: self.count]
            data.set(rows)
        return data.get()

    def clear_outer_force(self) -> None:
        """Clear the external force after a step."""
        data = self.externalForce
        if len(data.get()):
            data.set(np.empty((0, self.deriv_size)))

    def resize(self, position: np.ndarray) -> None:
        """Reset it to these positions of a mapping, if their number changes."""
        raise NotImplementedError

    def remember_reset(self) -> None:
        """Make the present state the one to which `reset` returns."""
        raise NotImplementedError
