"""Branches of maps with several solutions: cells stay on one branch by continuation."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from sofa_softctl.surrogate.grid.corners import Corners, Key

AGREE = 0.25
"""Largest part of a change between two points that gradients do not explain [-]."""
ROUNDING = 1e-8
"""Changes below this share of the values are ignored [-]."""
HALVINGS = 6
"""Maximum number of bisections on the way to a corner before its branch counts as ended."""


class Branches:
    """Groups samples at the corners of a cell by branch.

    A robot that buckles can rest in several shapes under the same tensions. Newton's method finds
    one of them, depending on its start. So samples of neighbouring corners are compared: where a
    change differs from the trapezoid rule with both gradients (by C h^3 on one branch, by the
    distance of branches otherwise), the second corner is solved again by continuation from the
    first, in steps on each of which samples agree. That is the corner's sample on the branch, which
    may be a new one.

    Args:
        corners: The corners.
    """

    def __init__(self, corners: Corners) -> None:
        self.corners = corners
        self._reached: dict[tuple[int, Key], int | None] = {}

    def agree(self, first: int, second: Sequence[int]) -> np.ndarray:
        """Whether samples can be on the branch of the first, by rows of `corners.data`: (m,)."""
        data, points = self.corners.data, self.corners.points
        here, there = data[first], data[list(second)]
        way = points[list(second)] - points[first]  # (m, d)
        change = there[:, 0] - here[0]
        slopes = np.stack((way @ here[1:], np.einsum("md,mdn->mn", way, there[:, 1:])))
        unexplained = np.linalg.norm(change - slopes.mean(axis=0), axis=1)
        moved = np.linalg.norm(change, axis=1) + np.linalg.norm(slopes, axis=2).mean(axis=0)
        size = ROUNDING * np.linalg.norm(here[0])
        found: np.ndarray = unexplained <= np.maximum(AGREE * moved, size)
        return found

    def fits(self, rows: Sequence[int], edges: np.ndarray) -> bool:
        """Whether the samples of a cell agree along all its edges (e, 2)."""
        return all(
            self.agree(rows[k], [rows[j] for j in edges[edges[:, 0] == k, 1]]).all()
            for k in np.unique(edges[:, 0])
        )

    def follow(self, keys: Sequence[Key], edges: np.ndarray) -> list[int] | None:
        """Rows of a cell's corners on the branch of the one nearest to zero.

        None if the branch ends in the cell, or if two ways to a corner end on different branches.
        """
        start = int(np.argmin([np.linalg.norm(self.corners.place(key)) for key in keys]))
        first = self.corners.number(keys[start])
        assert first is not None
        rows: dict[int, int] = {start: first}
        waiting, seen = deque([start]), {start}
        both = np.concatenate((edges, edges[:, ::-1]))
        while waiting:
            k = waiting.popleft()
            for j in both[both[:, 0] == k, 1].tolist():
                row = self._follow(keys[k], rows[k], keys[j], HALVINGS)
                if row is None or rows.setdefault(j, row) != row:
                    return None
                if j not in seen:
                    seen.add(j)
                    waiting.append(j)
        return [rows[k] for k in range(len(keys))]

    def _follow(self, key: Key, row: int, to: Key, halvings: int) -> int | None:
        found = self._reach(row, to)
        if found is not None or halvings == 0:
            return found
        middle = _between(key, to)
        half = self._follow(key, row, middle, halvings - 1)
        return None if half is None else self._follow(middle, half, to, halvings - 1)

    def _reach(self, row: int, to: Key) -> int | None:
        """The row of a sample at a corner that agrees with another one's, or None."""
        if (row, to) not in self._reached:
            known = self.corners.rows(to)
            fitting = [k for k, good in zip(known, self.agree(row, known), strict=True) if good]
            if not fitting:
                found = self.corners.ask_again(to, row)
                fitting = [found] if found is not None and self.agree(row, [found])[0] else []
            self._reached[row, to] = fitting[0] if fitting else None
        return self._reached[row, to]


def _between(a: Key, b: Key) -> Key:
    """The corner in the middle of two, on the next level."""
    level = max(a[0], b[0])
    first, second = ([i << (level - key[0]) for i in key[1:]] for key in (a, b))
    return (level + 1, *(i + j for i, j in zip(first, second, strict=True)))
