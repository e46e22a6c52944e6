"""Interface of maps from few coordinates to all outputs of a robot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np


@dataclass(frozen=True, eq=False)
class Jet:
    """Outputs and their first derivatives at m points."""

    value: np.ndarray
    """Outputs y(a) [length], shape (m, n)."""
    gradient: np.ndarray
    """dy/da [length / unit of a], shape (m, n, d)."""

    def __getitem__(self, points: slice) -> Jet:
        """Return the jet at some of the points; shares memory."""
        return Jet(self.value[points], self.gradient[points])


class Embedding(Protocol):
    """Map a -> y(a) from d coordinates to n outputs in the order of a `Layout`.

    For a robot pulled by d cables, a are the tensions over a stated force, and y(a) is the
    equilibrium under them (Jia, Pan, Manocha, section IV-A: f, and alpha for a). The map must be
    continuous; its gradient may jump between the cells of a grid.
    """

    @property
    def dimension(self) -> int:
        """Number d of coordinates."""
        ...

    @property
    def size(self) -> int:
        """Number n of outputs."""
        ...

    def at(self, points: np.ndarray) -> Jet:
        """Outputs and gradients at the points, shape (m, d)."""
        ...

    def curvature(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return sum_i weights_i d^2 y_i / da^2 at the points.

        Args:
            points: Points, shape (m, d).
            weights: Weights of the outputs, shape (m, n).

        Returns:
            Symmetric matrices, shape (m, d, d).
        """
        ...


@dataclass(frozen=True)
class Layout:
    """Layout of outputs: y = [3 nodes coordinates, lengths of the cables, further points]."""

    nodes: int
    """Number N of nodes; their coordinates x0, y0, z0, x1, … come first [length]."""
    lines: int
    """Number d of cables; their lengths come second [length]."""
    points: tuple[str, ...] = ()
    """Names of further points, whose three coordinates each come last [length]."""
    reduced: bool = False
    """Whether coordinates of a reduced basis replace nodes [mass^1/2 length]."""

    @property
    def size(self) -> int:
        """Number n of outputs."""
        return 3 * self.nodes + self.lines + 3 * len(self.points)

    @property
    def position(self) -> slice:
        """Rows of the coordinates of all nodes."""
        return slice(0, 3 * self.nodes)

    @property
    def length(self) -> slice:
        """Rows of the lengths of the cables."""
        return slice(3 * self.nodes, 3 * self.nodes + self.lines)

    def node(self, index: int) -> tuple[int, int, int]:
        """Return the rows of the coordinates of a node.

        Raises:
            ValueError: The node does not exist, or nodes have no rows, as on a grid.
        """
        if self.reduced:
            raise ValueError(
                f"layout.node({index}): planning on a grid has no rows for single nodes. Add the "
                'path of the body\'s node to "points" of SURROGATE, such as "points": '
                f'["/arm"], and use layout.point("/arm.{index}"), which works with --exact too.'
            )
        if not 0 <= index < self.nodes:
            raise ValueError(f"node must be from 0 to {self.nodes - 1}. Got: {index}")
        return (3 * index, 3 * index + 1, 3 * index + 2)

    def point(self, name: str) -> tuple[int, int, int]:
        """Return the rows of a further point.

        Raises:
            ValueError: No point has this name.
        """
        if name not in self.points:
            names = ", ".join(self.points) or "none"
            raise ValueError(f"There is no point '{name}'. Points: {names}.")
        first = 3 * self.nodes + self.lines + 3 * self.points.index(name)
        return (first, first + 1, first + 2)
