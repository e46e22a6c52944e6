"""Branches of maps with several solutions: cells stay on one branch by continuation."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sofa_softctl.surrogate.grid.corners import Corners, Key


@dataclass(frozen=True)
class BranchSettings:
    """Numbers of the comparison of samples."""

    unexplained_change_max: float = 0.25
    """Largest part of a change between two points that gradients do not explain [-]."""
    rounding_tolerance: float = 1e-8
    """Changes below this fraction of the values are ignored [-]."""
    bisections_max: int = 6
    """Maximum number of bisections on the way to a corner before its branch counts as ended."""


SETTINGS = BranchSettings()


class Branches:
    """Grouping of samples at the corners of a cell by branch.

    A robot that buckles can rest in several shapes under the same tensions. Newton's method finds
    one of them, depending on its start. So samples of neighbouring corners are compared: on one
    branch a change differs from the trapezoid rule with both gradients by C h^3, otherwise by the
    distance of the branches. Then the second corner is solved again by continuation from the first,
    in steps on which samples agree. The result, which may be new, is the corner's sample on the
    branch.

    Args:
        corners: Corners of the grid.
    """

    def __init__(self, corners: Corners) -> None:
        self.corners = corners
        self._reached: dict[tuple[int, Key], int | None] = {}

    def is_same_branch(self, first: int, second: Sequence[int]) -> np.ndarray:
        """Return a mask of samples that can be on the branch of the first; arguments are rows."""
        data, points = self.corners.data, self.corners.points
        first_data, other_data = data[first], data[list(second)]
        steps = points[list(second)] - points[first]  # (m, d)
        change = other_data[:, 0] - first_data[0]
        slopes = np.stack(
            (steps @ first_data[1:], np.einsum("md,mdn->mn", steps, other_data[:, 1:]))
        )
        unexplained = np.linalg.norm(change - slopes.mean(axis=0), axis=1)
        change_size = np.linalg.norm(change, axis=1) + np.linalg.norm(slopes, axis=2).mean(axis=0)
        tolerance = SETTINGS.rounding_tolerance * np.linalg.norm(first_data[0])
        is_same_branch: np.ndarray = unexplained <= np.maximum(
            SETTINGS.unexplained_change_max * change_size, tolerance
        )
        return is_same_branch

    def is_one_branch(self, rows: Sequence[int], edges: np.ndarray) -> bool:
        """Return True if the samples of a cell agree along all its edges (e, 2)."""
        return all(
            self.is_same_branch(rows[k], [rows[j] for j in edges[edges[:, 0] == k, 1]]).all()
            for k in np.unique(edges[:, 0])
        )

    def find_rows(self, keys: Sequence[Key], edges: np.ndarray) -> list[int] | None:
        """Return the rows of a cell's corners on the branch of the corner nearest to zero.

        None if the branch ends in the cell, or if two paths to a corner end on different branches.
        """
        start = int(np.argmin([np.linalg.norm(self.corners.place(key)) for key in keys]))
        first = self.corners.number(keys[start])
        assert first is not None
        rows: dict[int, int] = {start: first}
        waiting, visited = deque([start]), {start}
        neighbours = np.concatenate((edges, edges[:, ::-1]))
        while waiting:
            k = waiting.popleft()
            for j in neighbours[neighbours[:, 0] == k, 1].tolist():
                row = self._follow_branch(keys[k], rows[k], keys[j], SETTINGS.bisections_max)
                if row is None or rows.setdefault(j, row) != row:
                    return None
                if j not in visited:
                    visited.add(j)
                    waiting.append(j)
        return [rows[k] for k in range(len(keys))]

    def _follow_branch(self, key: Key, row: int, to: Key, halvings: int) -> int | None:
        neighbour_row = self._reach(row, to)
        if neighbour_row is not None or halvings == 0:
            return neighbour_row
        middle = _middle_key(key, to)
        middle_row = self._follow_branch(key, row, middle, halvings - 1)
        return (
            None
            if middle_row is None
            else self._follow_branch(middle, middle_row, to, halvings - 1)
        )

    def _reach(self, row: int, to: Key) -> int | None:
        """Return the row of a corner's sample on the branch of another row, or None."""
        if (row, to) not in self._reached:
            candidates = self.corners.rows(to)
            matching = [
                k
                for k, matches in zip(candidates, self.is_same_branch(row, candidates), strict=True)
                if matches
            ]
            if not matching:
                new_row = self.corners.continue_from(to, row)
                matching = (
                    [new_row]
                    if new_row is not None and self.is_same_branch(row, [new_row])[0]
                    else []
                )
            self._reached[row, to] = matching[0] if matching else None
        return self._reached[row, to]


def _middle_key(a: Key, b: Key) -> Key:
    """Return the key of the corner in the middle of two, on the next level."""
    level = max(a[0], b[0])
    first, second = ([i << (level - key[0]) for i in key[1:]] for key in (a, b))
    return (level + 1, *(i + j for i, j in zip(first, second, strict=True)))
