"""Pull the lines of a scene with given tensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sofa_softctl.scene.constraints.system import effort_factor
from sofa_softctl.scene.line_stiffness import LineStiffness, add_line_stiffness


class LinePull:
    """Sets the tensions of a scene's lines step by step.

    Args:
        root: Root of the scene.
        lines: CableConstraints with valueType="force".
        stiffness: Whether steps have the stiffness that tensions give to the lines; the force
            fields for that are added here, so before the scene is initialised.
    """

    def __init__(self, root: Any, lines: Sequence[Any], *, stiffness: bool) -> None:
        self.root, self.lines = root, list(lines)
        self._fields: list[LineStiffness] = []
        if stiffness:
            self._fields = [add_line_stiffness(root, line) for line in self.lines]
        self._factor: list[float] = []

    def pull(self, tension: np.ndarray) -> None:
        """Tensions of the coming step [force], shape (d,); they stay until the next call."""
        if not self._factor:
            self._factor = [effort_factor(self.root, line) for line in self.lines]
        for line, force, factor in zip(self.lines, tension, self._factor, strict=False):
            line.value.value = [float(force * factor)]
        for field, force in zip(self._fields, tension, strict=False):
            field.tension = float(force)
