"""Geometry of frictionless contacts: gaps, constraint rows and the rows' derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.runtime.behavior.solvers import MechanicalSystem
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.derivatives.carried import carried_points

if TYPE_CHECKING:
    from sofa_softctl.runtime.behavior.collision import ContactDetection

CORNERS = 3
"""Most corners of an element."""
SIZE = 2 * CORNERS * 3
"""Coordinates of both elements."""


class Contacts:
    """Contacts as distances d between closest points of two elements; at most one side is fixed.

    The points are sums of corners, q = w_k s_k with s = B x, B constant. As they are the closest
    ones, H = dd/dx has constant weights and normal, while d^2d/dx^2 has their changes. A contact
    keeps its elements, and the corners, edges or faces on which the points lie: where these change,
    d has a kink.

    Args:
        system: That of the states that move.
        pipelines: What finds contacts, in the positions at the start of a step.
    """

    def __init__(self, system: MechanicalSystem, pipelines: Sequence[ContactDetection]) -> None:
        self.system, self.pipelines = system, list(pipelines)
        self._weights: dict[int, sparse.csr_array | None] = {}
        self._take([], [], [], [], [])

    def __len__(self) -> int:
        """Number of contacts at the position of `measure`."""
        return len(self.gap)

    def measure(self, x: np.ndarray) -> None:
        """Find the contacts at x, shape (n, 3), to which the states of the scene were set.

        Raises:
            SceneError: A contact has friction, or its derivative is not known.
        """
        del x
        if not self.pipelines:
            return
        self.system.propagate()
        blocks, places, weights, ways, gaps = [], [], [], [], []
        for pipeline in self.pipelines:
            pipeline.detect()
            for contact in pipeline.contacts:
                found: Any = contact
                found.check_differentiable()
                sides = [self._side(found, side) for side in (0, 1)]
                blocks += [sides[0][0], sides[1][0]]
                places.append(np.stack([sides[0][1], sides[1][1]], axis=1))
                weights.append(np.stack([sides[0][2], sides[1][2]], axis=1))
                ways.append(found.near.normal)
                gaps.append(np.vstack([found.distance, found.contact_distance]))
        self._take(blocks, places, weights, ways, gaps)

    def _side(self, contact: Any, side: int) -> tuple[sparse.csr_array, np.ndarray, np.ndarray]:
        """B of the corners, (3 p, n), their positions, (p, 3, 3), and weights, (p, 3), padded."""
        model = contact.models[side]
        nodes = model.elements[contact.near.element[:, side]]
        count, corners = nodes.shape
        padded = np.repeat(nodes[:, :1], CORNERS, axis=1)
        padded[:, :corners] = nodes
        weight = np.zeros((count, CORNERS))
        weight[:, :corners] = contact.near.weight[:, side, :corners]
        carried = self._carried(contact, model.state)
        if carried is None:
            block = sparse.csr_array((padded.size, self.system.size))
        else:
            block = sparse.csr_array(carried[padded.ravel()])
        return block, model.state._data["position"].get()[padded], weight

    def _carried(self, contact: Any, state: MechanicalState) -> sparse.csr_array | None:
        """Weights of the system's nodes in the points of a state; None: nothing moves it."""
        if id(state) not in self._weights:
            system = self.system
            moves = id(state) in system.offset or id(state) in system.mapping_of
            self._weights[id(state)] = carried_points(contact, system, state) if moves else None
        return self._weights[id(state)]

    def _take(self, blocks: Any, places: Any, weights: Any, ways: Any, gaps: Any) -> None:
        n = self.system.size
        empty = np.empty((0, 2, CORNERS))
        place = np.concatenate([np.empty((0, 2, CORNERS, 3)), *places])
        weight = np.concatenate([empty, *weights])
        normal = np.concatenate([np.empty((0, 3)), *ways])
        distance, kept = np.hstack([np.empty((2, 0)), *gaps])
        order = _interleaved([len(each) for each in places])
        stacked = sparse.vstack([sparse.csr_array((0, n)), *blocks], format="csr")
        self.B = sparse.csr_array(stacked[order])
        self.BT = self.B.T.tocsr()
        self.gap = distance - kept
        signed = weight * np.array([-1.0, 1.0])[:, None]
        self._rows = (signed[..., None] * normal[:, None, None]).reshape(len(normal), SIZE)
        free = abs(self.B) @ (~self.system.fixed).astype(float)
        self.moves = (free.reshape(self._rows.shape) * self._rows != 0.0).any(axis=1)
        """Whether anything moves at each contact, bool, shape (k,)."""
        self._curved = _second_derivatives(place, weight, normal, distance)

    def push(self, lam: np.ndarray) -> np.ndarray:
        """H^T lam, 0 where nodes are held, shape (n, 3)."""
        return self._onto_nodes(lam[:, None] * self._rows)

    def rows(self, v: np.ndarray) -> np.ndarray:
        """H v, shape (k,); v must be 0 where nodes are held."""
        found: np.ndarray = np.einsum("kj,kj->k", self._rows, self._of_corners(v))
        return found

    def turned(self, lam: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """d(H^T lam) when the positions change by dx, both of shape (n, 3); symmetric in dx."""
        changed = np.einsum("kij,kj->ki", self._curved, self._of_corners(dx))
        return self._onto_nodes(lam[:, None] * changed)

    def rows_turned(self, dx: np.ndarray, w: np.ndarray) -> np.ndarray:
        """dH w when the positions change by dx, both of shape (n, 3); shape (k,)."""
        one, other = self._of_corners(dx), self._of_corners(w)
        found: np.ndarray = np.einsum("ki,kij,kj->k", one, self._curved, other)
        return found

    def _of_corners(self, v: np.ndarray) -> np.ndarray:
        """Motion of the corners of each contact, shape (k, 18)."""
        return np.asarray(self.B @ v).reshape(len(self), SIZE)

    def _onto_nodes(self, force: np.ndarray) -> np.ndarray:
        """Forces on the nodes from those on the corners, 0 where nodes are held, shape (n, 3)."""
        found: np.ndarray = self.BT @ force.reshape(-1, 3)
        self.system.project(found)
        return found


def _interleaved(counts: list[int]) -> np.ndarray:
    """Order of rows (contact, side, corner) in blocks of all first sides, then all second ones."""
    found, start = [np.empty(0, dtype=int)], 0
    for count in counts:
        rows = np.arange(2 * CORNERS * count).reshape(2, count, CORNERS) + start
        found.append(rows.transpose(1, 0, 2).ravel())
        start += 2 * CORNERS * count
    return np.concatenate(found)


def _second_derivatives(
    place: np.ndarray, weight: np.ndarray, normal: np.ndarray, distance: np.ndarray
) -> np.ndarray:
    """d^2d/ds^2 of each contact by its six corners, shape (k, 18, 18).

    With r = q_1 - q_0 the shortest way and E the edges along which its ends can slide, E^T r = 0.
    So for changes dr_0 of r at constant weights and dE of E, the weights change by
    g = -(E^T E)^-1 (E^T dr_0 + dE^T r), and n by (I - n n^T) (dr_0 + E g) / d.

    Args:
        place: Positions of the corners, shape (k, 2, 3, 3).
        weight: Their weights, shape (k, 2, 3); 0: the point does not depend on the corner.
        normal: n, shape (k, 3).
        distance: d, negative where surfaces overlap, shape (k,).
    """
    k = len(normal)
    sign = np.array([-1.0, 1.0])
    # Edges from the corner of the largest weight to each of the others of a side, 0 for padding.
    first = weight.argmax(axis=2)  # (k, 2)
    at = np.arange(k)[:, None], np.arange(2)[None]
    slides = weight > 0.0
    slides[at[0], at[1], first] = False
    base = place[at[0], at[1], first]
    edges = np.where(slides[..., None], place - base[:, :, None], 0.0) * sign[:, None, None]
    E = edges.reshape(k, 2 * CORNERS, 3)
    inverse = np.linalg.pinv(E @ E.transpose(0, 2, 1), hermitian=True)  # (k, 6, 6)
    unit = np.eye(SIZE).reshape(SIZE, 2, CORNERS, 3)
    dr = np.einsum("s,ksc,jsca->kja", sign, weight, unit)  # at constant weights
    chosen = np.take_along_axis(
        unit[None], first[:, None, :, None, None], axis=3
    )  # (k, 18, 2, 1, 3)
    dE = np.where(slides[:, None, ..., None], unit[None] - chosen, 0.0) * sign[:, None, None]
    r = distance[:, None] * normal
    slid = np.einsum("kea,kja->kje", E, dr)
    slid += np.einsum("kjsca,ka->kjsc", dE, r).reshape(k, SIZE, 2 * CORNERS)
    g = -np.einsum("kef,kjf->kje", inverse, slid)
    whole = dr + np.einsum("kje,kea->kja", g, E)
    flat = whole - np.einsum("kja,ka->kj", whole, normal)[..., None] * normal[:, None]
    dn = flat / np.where(distance == 0.0, np.inf, distance)[:, None, None]
    dw = g.reshape(k, SIZE, 2, CORNERS)
    np.put_along_axis(dw, first[:, None, :, None], -dw.sum(axis=3, keepdims=True), axis=3)
    rows = (
        dw[..., None] * normal[:, None, None, None]
        + weight[:, None, ..., None] * dn[:, :, None, None]
    )
    rows *= sign[:, None, None]
    found = rows.reshape(k, SIZE, SIZE)
    return 0.5 * (found + found.transpose(0, 2, 1))
