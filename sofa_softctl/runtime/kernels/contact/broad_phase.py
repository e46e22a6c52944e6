"""Broad phase: bounding boxes, sorted and swept along one axis."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit


@njit
def element_boxes(x: np.ndarray, elements: np.ndarray, margin: np.ndarray) -> np.ndarray:
    """Return the box around each element, widened by its margin.

    Args:
        x: Positions, shape (n, >= 3).
        elements: Nodes of each element, shape (m, k).
        margin: Distance by which each box is widened [length], shape (m,).

    Returns:
        Lower corners, then upper corners, shape (m, 6).
    """
    m, k = elements.shape
    boxes = np.empty((m, 6))
    for e in range(m):
        for c in range(3):
            low = high = x[elements[e, 0], c]
            for i in range(1, k):
                value = x[elements[e, i], c]
                low = min(low, value)
                high = max(high, value)
            boxes[e, c] = low - margin[e]
            boxes[e, 3 + c] = high + margin[e]
    return boxes


@njit
def _overlap(a: np.ndarray, b: np.ndarray) -> bool:
    for c in range(3):
        if a[c] > b[3 + c] or b[c] > a[3 + c]:
            return False
    return True


@njit
def hull_of(boxes: np.ndarray) -> np.ndarray:
    """Return the box around all boxes, of which there is at least one, shape (6,)."""
    hull = boxes[0].copy()
    for e in range(1, boxes.shape[0]):
        for c in range(3):
            hull[c] = min(hull[c], boxes[e, c])
            hull[3 + c] = max(hull[3 + c], boxes[e, 3 + c])
    return hull


@njit
def _boxes_in(boxes: np.ndarray, region: np.ndarray) -> np.ndarray:
    """Return the indices of the boxes that touch a region."""
    indices = np.empty(boxes.shape[0], np.int64)
    count = 0
    for e in range(boxes.shape[0]):
        if _overlap(boxes[e], region):
            indices[count] = e
            count += 1
    return indices[:count]


@njit
def candidate_pairs(first: np.ndarray, second: np.ndarray, distance: float = 0.0) -> np.ndarray:
    """Return the pairs of boxes that overlap, in the order of their indices.

    Only boxes in the common region of both sets are sorted, so two large meshes that touch in a
    spot cost little.

    Args:
        first: Boxes, shape (m, 6).
        second: Boxes, shape (n, 6).
        distance: Distance by which the first boxes are widened on all sides [length]; a negative
            one widens by nothing, as in SOFA: boxes turned inside out would hide contacts.

    Returns:
        Indices in `first` and in `second`, shape (p, 2), sorted.

    Source: sort and sweep; Ericson, Real-Time Collision Detection, 2005, section 7.5.
    """
    first = _widen(first, max(distance, 0.0))
    axis, boxes1, boxes2 = _boxes_in_common(first, second)
    if not (len(boxes1) and len(boxes2)):
        return np.empty((0, 2), np.int64)
    order1 = boxes1[_sorted_order(first[:, axis][boxes1])]
    order2 = boxes2[_sorted_order(second[:, axis][boxes2])]
    pairs = _sweep(first, second, order1, order2, axis)
    return _sort_by(0, len(first), _sort_by(1, len(second), pairs))


@njit
def _widen(boxes: np.ndarray, distance: float) -> np.ndarray:
    wide = np.empty_like(boxes)
    for e in range(len(boxes)):
        for c in range(3):
            wide[e, c] = boxes[e, c] - distance
            wide[e, 3 + c] = boxes[e, 3 + c] + distance
    return wide


@njit
def _sorted_order(values: np.ndarray) -> np.ndarray:
    """Return the order that sorts values, by merging runs: numba's argsort compiles slowly."""
    n = len(values)
    order, merged = np.arange(n), np.empty(n, np.int64)
    length = 1
    while length < n:
        for start in range(0, n, 2 * length):
            middle, end = min(start + length, n), min(start + 2 * length, n)
            i, j = start, middle
            for k in range(start, end):
                if j == end or (
                    i < middle
                    and (values[order[i]] <= values[order[j]] or np.isnan(values[order[j]]))
                ):
                    merged[k] = order[i]
                    i += 1
                else:
                    merged[k] = order[j]
                    j += 1
        order, merged = merged, order
        length *= 2
    return order


@njit
def _boxes_in_common(first: np.ndarray, second: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
    """Return the longest axis of the common region of both sets, and their boxes that touch it."""
    no_boxes = np.empty(0, np.int64)
    if first.shape[0] == 0 or second.shape[0] == 0:
        return 0, no_boxes, no_boxes
    region, hull = hull_of(first), hull_of(second)
    axis, extent = 0, -1.0
    for c in range(3):
        region[c] = max(region[c], hull[c])
        region[3 + c] = min(region[3 + c], hull[3 + c])
        if region[c] > region[3 + c]:
            return 0, no_boxes, no_boxes
        if region[3 + c] - region[c] > extent:
            axis, extent = c, region[3 + c] - region[c]
    return axis, _boxes_in(first, region), _boxes_in(second, region)


@njit
def _sort_by(column: int, count: int, pairs: np.ndarray) -> np.ndarray:
    """Return pairs sorted by a column of numbers below a count; equal ones keep their order."""
    start, ordered = np.zeros(count + 1, np.int64), np.empty_like(pairs)
    for k in range(len(pairs)):
        start[pairs[k, column] + 1] += 1
    start = np.cumsum(start)
    for k in range(len(pairs)):
        number = pairs[k, column]
        ordered[start[number], 0], ordered[start[number], 1] = pairs[k, 0], pairs[k, 1]
        start[number] += 1
    return ordered


@njit
def _sweep(
    first: np.ndarray, second: np.ndarray, order1: np.ndarray, order2: np.ndarray, axis: int
) -> np.ndarray:
    """Return overlapping pairs, not sorted, shape (p, 2); the orders are along the axis."""
    open1, open2 = np.empty_like(order1), np.empty_like(order2)
    partners = np.empty(max(len(order1), len(order2)), np.int64)
    pairs = np.empty((256, 2), np.int64)
    a = b = count = count1 = count2 = 0
    while a < len(order1) or b < len(order2):
        if len(pairs) < count + len(partners):
            longer = np.empty((2 * (count + len(partners)), 2), np.int64)
            longer[:count] = pairs[:count]
            pairs = longer
        if b == len(order2) or (
            a < len(order1) and first[order1[a], axis] <= second[order2[b], axis]
        ):
            i = order1[a]
            count2, met = _meet(first[i], second, open2[:count2], axis, partners)
            for k in range(met):
                pairs[count + k, 0], pairs[count + k, 1] = i, partners[k]
            open1[count1] = i
            count1 += 1
            a += 1
        else:
            j = order2[b]
            count1, met = _meet(second[j], first, open1[:count1], axis, partners)
            for k in range(met):
                pairs[count + k, 0], pairs[count + k, 1] = partners[k], j
            open2[count2] = j
            count2 += 1
            b += 1
        count += met
    return pairs[:count]


@njit
def _meet(
    box: np.ndarray, boxes: np.ndarray, opened: np.ndarray, axis: int, partners: np.ndarray
) -> tuple[int, int]:
    """Find the open boxes that overlap a box, and close those that end before it.

    Returns:
        Numbers of boxes still open, at the begin of `opened`, and of those in `partners`.
    """
    remaining = met = 0
    for j in opened:
        if boxes[j, 3 + axis] < box[axis]:
            continue
        opened[remaining] = j
        remaining += 1
        if _overlap(box, boxes[j]):
            partners[met] = j
            met += 1
    return remaining, met
