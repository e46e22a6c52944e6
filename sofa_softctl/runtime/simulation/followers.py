"""Followers of a system's mappings, placed by a kernel for runs of points with constant weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sofa_softctl.runtime.behavior.mapping import Mapping, Weights
from sofa_softctl.runtime.behavior.state_vectors import StateVectors
from sofa_softctl.runtime.kernels.mapping import jacobian as kernel


class WeightedRun:
    """Successive mappings whose followers are weighted sums of points in rows further up."""

    def __init__(self, mappings: Sequence[Mapping], vectors: StateVectors) -> None:
        self._vectors, self.mappings = vectors, mappings
        self._data = [m.child._data[name] for m in mappings for name in ("position", "velocity")]
        self._first = vectors.first[id(mappings[0].child)]
        self._sources = [(mapping, mapping.point_weights()) for mapping in mappings]
        counts, nodes, weights = zip(*(_rows_of(m, vectors) for m in mappings), strict=True)
        self._starts = np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64)
        self._nodes, self._weights = np.concatenate(nodes), np.concatenate(weights)

    @property
    def count(self) -> int:
        """Number of points."""
        return len(self._starts) - 1

    def is_current(self) -> bool:
        """Return True unless a mapping has found other weights."""
        return all(mapping.point_weights() is weights for mapping, weights in self._sources)

    def place(self) -> None:
        """Compute positions and velocities of the followers."""
        vectors = self._vectors
        weights = (self._starts, self._nodes, self._weights, self._first)
        kernel.follow(*weights, vectors.position, vectors.velocity)
        for data in self._data:
            data.touch()

    def place_free(self, h: float) -> None:
        """Compute the free velocities of the followers, and free positions x + h v_free."""
        vectors = self._vectors
        weights = (self._starts, self._nodes, self._weights, self._first)
        free = (vectors.free_velocity, vectors.free_position)
        kernel.follow_freely(*weights, vectors.position, h, *free)


class SingleFollower:
    """Follower of a mapping of another kind, placed by the mapping."""

    def __init__(self, mapping: Mapping) -> None:
        self._mapping, self.mappings = mapping, [mapping]

    @property
    def count(self) -> int:
        """Number of nodes."""
        return self._mapping.child.count

    def is_current(self) -> bool:
        """Return True: its mapping is asked in every step."""
        return True

    def place(self) -> None:
        """Compute position and velocity."""
        place_follower(self._mapping)

    def place_free(self, h: float) -> None:
        """Compute the free velocity, and the free position x + h v_free."""
        mapping, child = self._mapping, self._mapping.child
        velocity = child.free_velocity.get()
        mapping.apply_j_from(driver_arrays(mapping, "free_velocity"), velocity)
        child.advance(velocity, h, child.free_position.get())


def group_followers(
    mappings: Sequence[Mapping], vectors: StateVectors
) -> list[WeightedRun | SingleFollower]:
    """Return the followers in the order of their mappings, in runs as long as possible."""
    groups: list[WeightedRun | SingleFollower] = []
    run: list[Mapping] = []
    for mapping in mappings:
        if not _is_weighted(mapping, vectors):
            groups += [WeightedRun(run, vectors)] if run else []
            groups.append(SingleFollower(mapping))
            run = []
            continue
        if run and not _is_next(mapping, run[-1], vectors):
            groups.append(WeightedRun(run, vectors))
            run = []
        run.append(mapping)
    return [*groups, WeightedRun(run, vectors)] if run else groups


def place_follower(mapping: Mapping) -> None:
    """Compute position and velocity of a follower from its drivers."""
    child = mapping.child
    mapping.apply_from(driver_arrays(mapping, "position"), child.position.get())
    mapping.apply_j_from(driver_arrays(mapping, "velocity"), child.velocity.get())
    child.position.touch()
    child.velocity.touch()


def driver_arrays(mapping: Mapping, name: str) -> list[np.ndarray]:
    """Return the arrays of a Data of the states that drive a mapping."""
    return [driver._data[name].get() for driver in mapping.drivers]


def _is_weighted(mapping: Mapping, vectors: StateVectors) -> bool:
    states = [mapping.child, *mapping.drivers]
    return mapping.point_weights() is not None and all(
        id(state) in vectors.first and vectors.has_points(state) for state in states
    )


def _is_next(mapping: Mapping, previous: Mapping, vectors: StateVectors) -> bool:
    """Return True if the rows of a follower come after those of another one."""
    end = vectors.first[id(previous.child)] + previous.child.block_count
    return vectors.first[id(mapping.child)] == end


def _rows_of(mapping: Mapping, vectors: StateVectors) -> Weights:
    """Return the number of entries of each row of a follower, their rows and their weights."""
    rows, nodes, factors = [], [], []
    for driver, (starts, driving, weights) in zip(
        mapping.drivers, mapping.point_weights() or [], strict=True
    ):
        rows.append(np.repeat(np.arange(mapping.child.count), np.diff(starts)))
        nodes.append(np.asarray(driving, dtype=np.int64) + vectors.first[id(driver)])
        factors.append(np.asarray(weights, dtype=float))
    row = np.concatenate(rows)
    order = np.argsort(row, kind="stable")
    counts = np.bincount(row, minlength=mapping.child.count)
    return counts, np.concatenate(nodes)[order], np.concatenate(factors)[order]
