"""Geometry of contacts: gaps, constraint rows and the rows' derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.runtime.behavior.solvers import MechanicalSystem
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.derivatives.carried import carried_points

if TYPE_CHECKING:
    from sofa_softctl.runtime.behavior.roles import ContactDetection

CORNERS_MAX = 3
"""Largest number of corners of an element."""
SIZE = 2 * CORNERS_MAX * 3
"""Number of coordinates of both elements."""
SIGN = np.array([-1.0, 1.0])
"""Signs of the first and the second body in rows."""


class Contacts:
    """Contacts as distances d between closest points of two elements, at most one of them fixed.

    The points are sums of corners, q = w_k s_k with s = B x, B constant. A contact has a row along
    its normal, and with friction rows along two tangents, which depend on the normal. Since
    the points are the closest ones, the normal row is dd/dx. Derivatives are for constant elements,
    and corners, edges or faces on which the points lie: where these change, d has a kink.

    Args:
        system: System of the states that move.
        pipelines: Contact detections, at the positions at the start of a step.
    """

    def __init__(self, system: MechanicalSystem, pipelines: Sequence[ContactDetection]) -> None:
        self.system, self.pipelines = system, list(pipelines)
        self._weights: dict[int, sparse.csr_array | None] = {}
        self._set_contacts([])

    def __len__(self) -> int:
        """Number of rows at the position of `measure`."""
        return len(self.contact)

    def measure(self) -> None:
        """Detect the contacts at the positions of the states of the scene.

        Raises:
            SceneError: The derivative of a contact is not known.
        """
        if not self.pipelines:
            return
        self.system.propagate()
        data = []
        for pipeline in self.pipelines:
            pipeline.detect()
            data += [self._contact_data(contact) for contact in pipeline.contacts]
        self._set_contacts(data)

    def _contact_data(self, contact: Any) -> _ContactData:
        """Return the data of the contacts of two models."""
        contact.check_differentiable()
        sides = [self._side(contact, side) for side in (0, 1)]
        block, position, weight = zip(*sides, strict=True)
        return _ContactData(
            sparse.vstack(block, format="csr"),
            np.stack(position, axis=1),
            np.stack(weight, axis=1),
            contact.frames,
            contact.distance,
            contact.distance - contact.contact_distance,
            np.full(contact.contact_count, contact.mu.get()),
        )

    def _side(self, contact: Any, side: int) -> tuple[sparse.csr_array, np.ndarray, np.ndarray]:
        """Return B of the corners, (3 p, n), positions, (p, 3, 3), and weights, (p, 3), padded."""
        model = contact.models[side]
        nodes = model.elements[contact.near.element[:, side]]
        count, corners = nodes.shape
        padded = np.repeat(nodes[:, :1], CORNERS_MAX, axis=1)
        padded[:, :corners] = nodes
        weight = np.zeros((count, CORNERS_MAX))
        weight[:, :corners] = contact.near.weight[:, side, :corners]
        carried = self._weights_of(contact, model.state)
        if carried is None:
            block = sparse.csr_array((padded.size, self.system.size))
        else:
            block = sparse.csr_array(carried[padded.ravel()])
        return block, model.state.position.get()[padded], weight

    def _weights_of(self, contact: Any, state: MechanicalState) -> sparse.csr_array | None:
        """Return the weights of the system's nodes in points of a state, or None if unmoved."""
        if id(state) not in self._weights:
            system = self.system
            moves = id(state) in system.offset or id(state) in system.mapping_of
            self._weights[id(state)] = carried_points(contact, system, state) if moves else None
        return self._weights[id(state)]

    def _set_contacts(self, data: list[_ContactData]) -> None:
        merged = _concatenate([_NONE, *data])
        empty = sparse.csr_array((0, self.system.size))
        stacked = sparse.vstack([empty, *(item.block for item in data)], format="csr")
        self.B = sparse.csr_array(stacked[_interleave([len(item.gap) for item in data])])
        self.BT = self.B.T.tocsr()
        self.weight, self.mu = merged.weight, merged.mu
        """Weights of corners, shape (c, 2, 3), and coefficients of friction, shape (c,)."""
        counts = np.where(self.mu > 0.0, 3, 1)
        self.first = np.cumsum([0, *counts])[:-1]
        """First row of each contact, shape (c,)."""
        self.contact = np.repeat(np.arange(len(counts)), counts)
        """Contact of each row, shape (k,)."""
        self.axis = np.arange(len(self.contact)) - self.first[self.contact]
        """0 along the normal, 1 and 2 along the tangents, shape (k,)."""
        self.gap = np.where(self.axis == 0, merged.gap[self.contact], 0.0)
        """Gap of rows along normals [length], 0 of others, shape (k,)."""
        self._set_rows(merged)

    def _set_rows(self, data: _ContactData) -> None:
        """Compute the rows by the corners, with their derivatives."""
        frame = data.frame[self.contact, self.axis]
        weight = (data.weight * SIGN[:, None])[self.contact]
        self._rows = np.einsum("ksc,ka->ksca", weight, frame).reshape(-1, SIZE)
        free = abs(self.B) @ (~self.system.fixed).astype(float)
        free = free.reshape(len(self.mu), SIZE)[self.contact]
        self.moves = (free * self._rows != 0.0).any(axis=1)
        """True for rows along which something moves, shape (k,)."""
        slopes = _corner_derivatives(data.position, data.weight, data.frame[:, 0], data.distance)
        frame_change = _frame_derivatives(data.frame, slopes.normal)[self.contact, self.axis]
        weight_change = (slopes.weight * SIGN[:, None])[self.contact]
        row_change = np.einsum("kjsc,ka->kscaj", weight_change, frame)
        row_change += np.einsum("ksc,kja->kscaj", weight, frame_change)
        self._row_change = row_change.reshape(-1, SIZE, SIZE)
        """Derivative of each row by all corners, shape (k, 18, 18)."""

    def push(self, lam: np.ndarray) -> np.ndarray:
        """Return H^T lam, 0 at fixed nodes, shape (n, 3)."""
        return self._onto_nodes(lam[:, None] * self._rows)

    def rows(self, v: np.ndarray) -> np.ndarray:
        """Return H v, shape (k,); v must be 0 at fixed nodes."""
        return np.asarray(np.einsum("kj,kj->k", self._rows, self._corner_motion(v)))

    def gap_change(self, dx: np.ndarray) -> np.ndarray:
        """Return the change of gaps for changes dx of positions, 0 for tangents, shape (k,)."""
        return np.where(self.axis == 0, self.rows(dx), 0.0)

    def gap_change_transposed(self, mu: np.ndarray) -> np.ndarray:
        """Return d(mu . gap)/dx, 0 at fixed nodes, shape (n, 3)."""
        return self.push(np.where(self.axis == 0, mu, 0.0))

    def push_change(self, lam: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """Return d(H^T lam) for changes dx of positions, shapes (n, 3)."""
        change = np.einsum("kij,kj->ki", self._row_change, self._corner_motion(dx))
        return self._onto_nodes(lam[:, None] * change)

    def push_change_transposed(self, lam: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return d(y . H^T lam)/dx, shapes (n, 3)."""
        change = np.einsum("kij,ki->kj", self._row_change, self._corner_motion(y))
        return self._onto_nodes(lam[:, None] * change)

    def rows_change(self, dx: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return dH w for changes dx of positions, shapes (n, 3) and (k,)."""
        change, motion = self._corner_motion(dx), self._corner_motion(w)
        return np.asarray(np.einsum("ki,kij,kj->k", motion, self._row_change, change))

    def point_path_length(self, v: np.ndarray) -> np.ndarray:
        """Return the summed paths of both points of each contact by v (n, 3), shape (c,)."""
        corners = np.asarray(self.B @ v).reshape(len(self.mu), 2, CORNERS_MAX, 3)
        motion = np.einsum("csk,cska->csa", self.weight, corners)
        return np.asarray(np.linalg.norm(motion, axis=2).sum(axis=1))

    def _corner_motion(self, v: np.ndarray) -> np.ndarray:
        """Return the motion of the corners of each row's contact, shape (k, 18)."""
        if not len(self):
            return np.zeros((0, SIZE))
        return np.asarray(self.B @ v).reshape(len(self.mu), SIZE)[self.contact]

    def _onto_nodes(self, force: np.ndarray) -> np.ndarray:
        """Return forces on nodes from forces of rows (k, 18), 0 at fixed nodes, shape (n, 3)."""
        total = np.zeros((len(self.mu), SIZE))
        np.add.at(total, self.contact, force)
        node_force: np.ndarray = self.BT @ total.reshape(-1, 3)
        self.system.project(node_force)
        return node_force


class _ContactData(NamedTuple):
    """Contacts of two models."""

    block: Any
    """B of the corners of all first sides, then of all second sides, shape (6 p, n)."""
    position: np.ndarray
    """Positions of the corners, shape (p, 2, 3, 3)."""
    weight: np.ndarray
    """Weights of the corners, shape (p, 2, 3)."""
    frame: np.ndarray
    """Normal and tangents, shape (p, 3, 3)."""
    distance: np.ndarray
    """d, shape (p,)."""
    gap: np.ndarray
    """d minus the contact distance, shape (p,)."""
    mu: np.ndarray
    """Coefficient of friction, shape (p,)."""


_SHAPES = ((2, CORNERS_MAX, 3), (2, CORNERS_MAX), (3, 3), (), (), ())
_NONE = _ContactData(None, *(np.empty((0, *shape)) for shape in _SHAPES))


def _concatenate(data: list[_ContactData]) -> _ContactData:
    """Concatenate all fields except for `block`."""
    fields = zip(*(item[1:] for item in data), strict=True)
    return _ContactData(None, *(np.concatenate(arrays) for arrays in fields))


def _interleave(counts: list[int]) -> np.ndarray:
    """Return the order of rows (contact, side, corner) in blocks of first, then second sides."""
    order, start = [np.empty(0, dtype=int)], 0
    for count in counts:
        rows = np.arange(2 * CORNERS_MAX * count).reshape(2, count, CORNERS_MAX) + start
        order.append(rows.transpose(1, 0, 2).ravel())
        start += 2 * CORNERS_MAX * count
    return np.concatenate(order)


class _CornerDerivatives(NamedTuple):
    """Derivatives of contacts by the coordinates of their six corners."""

    weight: np.ndarray
    """Derivatives of the corners' weights, shape (c, 18, 2, 3)."""
    normal: np.ndarray
    """Derivatives of the normal, shape (c, 18, 3)."""


def _corner_derivatives(
    position: np.ndarray, weight: np.ndarray, normal: np.ndarray, distance: np.ndarray
) -> _CornerDerivatives:
    """Return the derivatives of closest points and normals.

    With r = q_1 - q_0 the shortest path and E the edges along which its ends can slide, E^T r = 0.
    So for changes dr_0 of r at constant weights and dE of E, the weights change by
    g = -(E^T E)^-1 (E^T dr_0 + dE^T r), and n by (I - n n^T) (dr_0 + E g) / d.

    Args:
        position: Positions of the corners, shape (c, 2, 3, 3).
        weight: Weights of the corners, shape (c, 2, 3); 0 for unused corners.
        normal: n, shape (c, 3).
        distance: d, negative for overlapping surfaces, shape (c,).
    """
    k = len(normal)
    if not k:
        return _CornerDerivatives(np.empty((0, SIZE, 2, CORNERS_MAX)), np.empty((0, SIZE, 3)))
    # Edges from the corner of the largest weight to the others of a side, 0 for padding.
    first = weight.argmax(axis=2)  # (k, 2)
    index = np.arange(k)[:, None], np.arange(2)[None]
    slides = weight > 0.0
    slides[index[0], index[1], first] = False
    base = position[index[0], index[1], first]
    edges = np.where(slides[..., None], position - base[:, :, None], 0.0) * SIGN[:, None, None]
    E = edges.reshape(k, 2 * CORNERS_MAX, 3)
    inverse = np.linalg.pinv(E @ E.transpose(0, 2, 1), hermitian=True)  # (k, 6, 6)
    unit = np.eye(SIZE).reshape(SIZE, 2, CORNERS_MAX, 3)
    dr = np.einsum("s,ksc,jsca->kja", SIGN, weight, unit)  # at constant weights
    chosen = np.take_along_axis(unit[None], first[:, None, :, None, None], axis=3)
    dE = np.where(slides[:, None, ..., None], unit[None] - chosen, 0.0) * SIGN[:, None, None]
    r = distance[:, None] * normal
    slide_change = np.einsum("kea,kja->kje", E, dr)
    slide_change += np.einsum("kjsca,ka->kjsc", dE, r).reshape(k, SIZE, 2 * CORNERS_MAX)
    g = -np.einsum("kef,kjf->kje", inverse, slide_change)
    dr_total = dr + np.einsum("kje,kea->kja", g, E)
    dr_normal = dr_total - np.einsum("kja,ka->kj", dr_total, normal)[..., None] * normal[:, None]
    dn = dr_normal / np.where(distance == 0.0, np.inf, distance)[:, None, None]
    dw = g.reshape(k, SIZE, 2, CORNERS_MAX)
    np.put_along_axis(dw, first[:, None, :, None], -dw.sum(axis=3, keepdims=True), axis=3)
    return _CornerDerivatives(dw, dn)


def _frame_derivatives(frame: np.ndarray, dn: np.ndarray) -> np.ndarray:
    """Return derivatives of normals and tangents by corners, (c, 3, 18, 3); see `frames`."""
    n, s = frame[:, None, 0], frame[:, None, 2]
    is_parallel = np.linalg.norm(np.cross(n, n[..., [2, 0, 1]]), axis=2, keepdims=True) < 1e-9
    axis = np.where(is_parallel, [1.0, 0.0, 0.0], n[..., [2, 0, 1]])
    axis_change = np.where(is_parallel, 0.0, dn[..., [2, 0, 1]])
    size = np.linalg.norm(np.cross(n, axis), axis=2, keepdims=True)
    ds = (np.cross(dn, axis) + np.cross(n, axis_change)) / size
    ds -= np.einsum("kja,kja->kj", ds, np.broadcast_to(s, ds.shape))[..., None] * s
    dt = -np.cross(dn, s) - np.cross(n, ds)
    return np.stack([dn, dt, ds], axis=1)
