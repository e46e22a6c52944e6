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

CORNERS = 3
"""Most corners of an element."""
SIZE = 2 * CORNERS * 3
"""Coordinates of both elements."""
SIGN = np.array([-1.0, 1.0])
"""Of the first and of the second body in rows."""


class Contacts:
    """Contacts as distances d between closest points of two elements; at most one side is fixed.

    The points are sums of corners, q = w_k s_k with s = B x, B constant. A contact has a row along
    its normal, and with friction one along each of two tangents, which follow from the normal. As
    the points are the closest ones, the first is dd/dx. A contact keeps its elements, and the
    corners, edges or faces on which the points lie: where these change, d has a kink.

    Args:
        system: That of the states that move.
        pipelines: What finds contacts, in the positions at the start of a step.
    """

    def __init__(self, system: MechanicalSystem, pipelines: Sequence[ContactDetection]) -> None:
        self.system, self.pipelines = system, list(pipelines)
        self._weights: dict[int, sparse.csr_array | None] = {}
        self._take([])

    def __len__(self) -> int:
        """Number of rows at the position of `measure`."""
        return len(self.contact)

    def measure(self) -> None:
        """Find the contacts at the positions that the states of the scene have.

        Raises:
            SceneError: The derivative of a contact is not known.
        """
        if not self.pipelines:
            return
        self.system.propagate()
        found = []
        for pipeline in self.pipelines:
            pipeline.detect()
            found += [self._touching(contact) for contact in pipeline.contacts]
        self._take(found)

    def _touching(self, contact: Any) -> _Touching:
        """What is needed of the contacts of two models."""
        contact.check_differentiable()
        sides = [self._side(contact, side) for side in (0, 1)]
        block, place, weight = zip(*sides, strict=True)
        return _Touching(
            sparse.vstack(block, format="csr"),
            np.stack(place, axis=1),
            np.stack(weight, axis=1),
            contact.frames,
            contact.distance,
            contact.distance - contact.contact_distance,
            np.full(contact.contact_count, contact.mu.get()),
        )

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
        return block, model.state.position.get()[padded], weight

    def _carried(self, contact: Any, state: MechanicalState) -> sparse.csr_array | None:
        """Weights of the system's nodes in the points of a state; None: nothing moves it."""
        if id(state) not in self._weights:
            system = self.system
            moves = id(state) in system.offset or id(state) in system.mapping_of
            self._weights[id(state)] = carried_points(contact, system, state) if moves else None
        return self._weights[id(state)]

    def _take(self, found: list[_Touching]) -> None:
        joined = _joined([_NONE, *found])
        empty = sparse.csr_array((0, self.system.size))
        stacked = sparse.vstack([empty, *(each.block for each in found)], format="csr")
        self.B = sparse.csr_array(stacked[_interleaved([len(each.gap) for each in found])])
        self.BT = self.B.T.tocsr()
        self.weight, self.mu = joined.weight, joined.mu
        """Weights of corners, shape (c, 2, 3), and coefficients of friction, shape (c,)."""
        each = np.where(self.mu > 0.0, 3, 1)
        self.first = np.cumsum([0, *each])[:-1]
        """First row of each contact, shape (c,)."""
        self.contact = np.repeat(np.arange(len(each)), each)
        """Contact of each row, shape (k,)."""
        self.axis = np.arange(len(self.contact)) - self.first[self.contact]
        """0 along the normal, 1 and 2 along the tangents, shape (k,)."""
        self.gap = np.where(self.axis == 0, joined.gap[self.contact], 0.0)
        """Gap of rows along normals [length], 0 of others, shape (k,)."""
        self._direct(joined)

    def _direct(self, joined: _Touching) -> None:
        """Rows by the corners, with their derivatives."""
        frame = joined.frame[self.contact, self.axis]
        weight = (joined.weight * SIGN[:, None])[self.contact]
        self._rows = np.einsum("ksc,ka->ksca", weight, frame).reshape(-1, SIZE)
        free = abs(self.B) @ (~self.system.fixed).astype(float)
        free = free.reshape(len(self.mu), SIZE)[self.contact]
        self.moves = (free * self._rows != 0.0).any(axis=1)
        """Whether anything moves along each row, bool, shape (k,)."""
        slopes = _slopes(joined.place, joined.weight, joined.frame[:, 0], joined.distance)
        turned = _frames_turned(joined.frame, slopes.normal)[self.contact, self.axis]
        slid = (slopes.weight * SIGN[:, None])[self.contact]
        changed = np.einsum("kjsc,ka->kscaj", slid, frame)
        changed += np.einsum("ksc,kja->kscaj", weight, turned)
        self._curved = changed.reshape(-1, SIZE, SIZE)
        """Derivative of each row by all corners, shape (k, 18, 18)."""

    def push(self, lam: np.ndarray) -> np.ndarray:
        """H^T lam, 0 where nodes are held, shape (n, 3)."""
        return self._onto_nodes(lam[:, None] * self._rows)

    def rows(self, v: np.ndarray) -> np.ndarray:
        """H v, shape (k,); v must be 0 where nodes are held."""
        found: np.ndarray = np.einsum("kj,kj->k", self._rows, self._of_corners(v))
        return found

    def widened(self, dx: np.ndarray) -> np.ndarray:
        """How gaps change with the positions by dx, 0 of rows along tangents, shape (k,)."""
        return np.where(self.axis == 0, self.rows(dx), 0.0)

    def widened_transposed(self, mu: np.ndarray) -> np.ndarray:
        """d(mu . gap)/dx, 0 where nodes are held, shape (n, 3)."""
        return self.push(np.where(self.axis == 0, mu, 0.0))

    def turned(self, lam: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """d(H^T lam) when the positions change by dx, both of shape (n, 3)."""
        changed = np.einsum("kij,kj->ki", self._curved, self._of_corners(dx))
        return self._onto_nodes(lam[:, None] * changed)

    def turned_transposed(self, lam: np.ndarray, y: np.ndarray) -> np.ndarray:
        """d(y . H^T lam)/dx, both of shape (n, 3)."""
        changed = np.einsum("kij,ki->kj", self._curved, self._of_corners(y))
        return self._onto_nodes(lam[:, None] * changed)

    def rows_turned(self, dx: np.ndarray, w: np.ndarray) -> np.ndarray:
        """dH w when the positions change by dx, both of shape (n, 3); shape (k,)."""
        one, other = self._of_corners(dx), self._of_corners(w)
        found: np.ndarray = np.einsum("ki,kij,kj->k", other, self._curved, one)
        return found

    def travelled(self, v: np.ndarray) -> np.ndarray:
        """How far both points of each contact move by v, shape (n, 3), together; shape (c,)."""
        corners = np.asarray(self.B @ v).reshape(len(self.mu), 2, CORNERS, 3)
        moved = np.einsum("csk,cska->csa", self.weight, corners)
        found: np.ndarray = np.linalg.norm(moved, axis=2).sum(axis=1)
        return found

    def _of_corners(self, v: np.ndarray) -> np.ndarray:
        """Motion of the corners of each row's contact, shape (k, 18)."""
        if not len(self):
            return np.zeros((0, SIZE))
        return np.asarray(self.B @ v).reshape(len(self.mu), SIZE)[self.contact]

    def _onto_nodes(self, force: np.ndarray) -> np.ndarray:
        """Forces on the nodes from those of rows, (k, 18), 0 where nodes are held, (n, 3)."""
        total = np.zeros((len(self.mu), SIZE))
        np.add.at(total, self.contact, force)
        found: np.ndarray = self.BT @ total.reshape(-1, 3)
        self.system.project(found)
        return found


class _Touching(NamedTuple):
    """Contacts of two models."""

    block: Any
    """B of the corners of all first sides, then of all second ones, shape (6 p, n)."""
    place: np.ndarray
    """Positions of the corners, shape (p, 2, 3, 3)."""
    weight: np.ndarray
    """Their weights, shape (p, 2, 3)."""
    frame: np.ndarray
    """Normal and tangents, shape (p, 3, 3)."""
    distance: np.ndarray
    """d, shape (p,)."""
    gap: np.ndarray
    """d less what contacts keep, shape (p,)."""
    mu: np.ndarray
    """Coefficient of friction, shape (p,)."""


_SHAPES = ((2, CORNERS, 3), (2, CORNERS), (3, 3), (), (), ())
_NONE = _Touching(None, *(np.empty((0, *shape)) for shape in _SHAPES))


def _joined(found: list[_Touching]) -> _Touching:
    """All but their blocks."""
    fields = zip(*(each[1:] for each in found), strict=True)
    return _Touching(None, *(np.concatenate(each) for each in fields))


def _interleaved(counts: list[int]) -> np.ndarray:
    """Order of rows (contact, side, corner) in blocks of all first sides, then all second ones."""
    found, start = [np.empty(0, dtype=int)], 0
    for count in counts:
        rows = np.arange(2 * CORNERS * count).reshape(2, count, CORNERS) + start
        found.append(rows.transpose(1, 0, 2).ravel())
        start += 2 * CORNERS * count
    return np.concatenate(found)


class _Slopes(NamedTuple):
    """Derivatives of contacts by the coordinates of their six corners."""

    weight: np.ndarray
    """Of the corners' weights, shape (c, 18, 2, 3)."""
    normal: np.ndarray
    """Of the normal, shape (c, 18, 3)."""


def _slopes(
    place: np.ndarray, weight: np.ndarray, normal: np.ndarray, distance: np.ndarray
) -> _Slopes:
    """How closest points slide and normals turn.

    With r = q_1 - q_0 the shortest way and E the edges along which its ends can slide, E^T r = 0.
    So for changes dr_0 of r at constant weights and dE of E, the weights change by
    g = -(E^T E)^-1 (E^T dr_0 + dE^T r), and n by (I - n n^T) (dr_0 + E g) / d.

    Args:
        place: Positions of the corners, shape (c, 2, 3, 3).
        weight: Their weights, shape (c, 2, 3); 0: the point does not depend on the corner.
        normal: n, shape (c, 3).
        distance: d, negative where surfaces overlap, shape (c,).
    """
    k = len(normal)
    if not k:
        return _Slopes(np.empty((0, SIZE, 2, CORNERS)), np.empty((0, SIZE, 3)))
    # Edges from the corner of the largest weight to each of the others of a side, 0 for padding.
    first = weight.argmax(axis=2)  # (k, 2)
    at = np.arange(k)[:, None], np.arange(2)[None]
    slides = weight > 0.0
    slides[at[0], at[1], first] = False
    base = place[at[0], at[1], first]
    edges = np.where(slides[..., None], place - base[:, :, None], 0.0) * SIGN[:, None, None]
    E = edges.reshape(k, 2 * CORNERS, 3)
    inverse = np.linalg.pinv(E @ E.transpose(0, 2, 1), hermitian=True)  # (k, 6, 6)
    unit = np.eye(SIZE).reshape(SIZE, 2, CORNERS, 3)
    dr = np.einsum("s,ksc,jsca->kja", SIGN, weight, unit)  # at constant weights
    chosen = np.take_along_axis(unit[None], first[:, None, :, None, None], axis=3)
    dE = np.where(slides[:, None, ..., None], unit[None] - chosen, 0.0) * SIGN[:, None, None]
    r = distance[:, None] * normal
    slid = np.einsum("kea,kja->kje", E, dr)
    slid += np.einsum("kjsca,ka->kjsc", dE, r).reshape(k, SIZE, 2 * CORNERS)
    g = -np.einsum("kef,kjf->kje", inverse, slid)
    whole = dr + np.einsum("kje,kea->kja", g, E)
    flat = whole - np.einsum("kja,ka->kj", whole, normal)[..., None] * normal[:, None]
    dn = flat / np.where(distance == 0.0, np.inf, distance)[:, None, None]
    dw = g.reshape(k, SIZE, 2, CORNERS)
    np.put_along_axis(dw, first[:, None, :, None], -dw.sum(axis=3, keepdims=True), axis=3)
    return _Slopes(dw, dn)


def _frames_turned(frame: np.ndarray, dn: np.ndarray) -> np.ndarray:
    """Derivatives of normals and tangents by the corners, shape (c, 3, 18, 3); see `frames`."""
    n, s = frame[:, None, 0], frame[:, None, 2]
    along = np.linalg.norm(np.cross(n, n[..., [2, 0, 1]]), axis=2, keepdims=True) < 1e-9
    other = np.where(along, [1.0, 0.0, 0.0], n[..., [2, 0, 1]])
    turned = np.where(along, 0.0, dn[..., [2, 0, 1]])
    size = np.linalg.norm(np.cross(n, other), axis=2, keepdims=True)
    ds = (np.cross(dn, other) + np.cross(n, turned)) / size
    ds -= np.einsum("kja,kja->kj", ds, np.broadcast_to(s, ds.shape))[..., None] * s
    dt = -np.cross(dn, s) - np.cross(n, ds)
    return np.stack([dn, dt, ds], axis=1)
