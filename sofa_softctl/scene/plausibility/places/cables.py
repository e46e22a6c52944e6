"""Cables that run back over themselves or along another one, and distant pull points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sofa_softctl.scene.graph.nodes import body_size
from sofa_softctl.scene.plausibility.bodies import StartWarning, at, point

PULL_DISTANCE_MAX = 5.0
"""Distance of a pull point from its cable by the size of the body, above which it is warned of."""
REVERSED_COSINE_MAX = -0.8
"""Cosine of the angle between two pieces of a cable below which it turns back on itself [-]."""
FOLD_OFFSET_MAX = 0.1
"""Offset of a piece of a cable from the piece before, by its length, up to which it lies on it."""
FOLD_LENGTH_RATIO_MAX = 0.9
"""Length of a piece that runs back over the one before, by that one's; a tendon that returns
next to itself has points next to each other, and 1 [-]."""
ON_LINE_COSINE_MIN = 0.5
"""Cosine of the angle between two pieces of a line above which the line continues [-]."""
USERS_OF_POINTS = ("indices", "points", "triangles", "edges")
"""Data by which components use points."""
SAME_LINE_DISTANCE_MAX = 0.02
"""Distance of two cables, by the size of one, below which they are on one line [-]."""


def cable_warnings(cables: Sequence[tuple[Any, np.ndarray]]) -> list[StartWarning]:
    """Warn of cables whose points, pull points or lines are not as they must be meant.

    Args:
        cables: Each with the points of its node [length], shape (n, 3).
    """
    warnings: list[StartWarning] = []
    for cable, x in cables:
        warnings += [*_pulled_from_afar(cable, x), *(_to_and_fro(cable, x) or _folds(cable, x))]
        warnings += _ends_early(cable, x)
    lines = [(cable, line) for cable, x in cables if (line := _line_of(cable, x)) is not None]
    return [*warnings, *_same_lines(lines)]


def _to_and_fro(cable: Any, x: np.ndarray) -> list[StartWarning]:
    """Warn of a cable that turns back repeatedly, or has coincident points."""
    indices = np.asarray(cable.indices.value, dtype=int)
    if len(indices) < 2 or indices.max() >= len(x):
        return []
    lengths, cosines = _pieces(x[indices])
    if (lengths == 0.0).any():
        k = int(np.argmin(lengths))
        fault = (
            f"entries {k} and {k + 1} of its 'indices' are points at the same place, "
            f"{point(x[indices[k]])}. Leave one of them out."
        )
        return [StartWarning(cable, f"{at(cable)}: {fault}")]
    turns = int((cosines < REVERSED_COSINE_MAX).sum())
    if turns <= max(2, len(indices) // 4):
        return []
    fault = (
        f"it turns back on itself at {turns} of its {len(indices)} points. Are its 'indices' in "
        "the order along the cable?"
    )
    return [StartWarning(cable, f"{at(cable)}: {fault}")]


def _folds(cable: Any, x: np.ndarray) -> list[StartWarning]:
    """Warn of a cable that runs back over itself, also from its pull point."""
    line = _line_of(cable, x)
    if line is None:
        return []
    lengths, cosines = _pieces(line)
    shorter, longer = np.minimum(lengths[1:], lengths[:-1]), np.maximum(lengths[1:], lengths[:-1])
    is_on_line = np.sqrt(np.maximum(1.0 - cosines**2, 0.0)) < FOLD_OFFSET_MAX
    is_fold = (cosines < 0.0) & is_on_line & (shorter < FOLD_LENGTH_RATIO_MAX * longer)
    if not is_fold.any():
        return []
    k = int(np.argmax(is_fold))
    return [
        StartWarning(
            cable,
            f"{at(cable)}: at {point(line[k + 1])} it turns and runs back over itself for "
            f"{shorter[k]:.3g}. Are its 'indices' in the order along the cable, from the pull "
            "point on?",
        )
    ]


def _ends_early(cable: Any, x: np.ndarray) -> Iterator[StartWarning]:
    """Warn of a cable whose line continues in points of its node that nothing uses."""
    components = cable.getContext().objects
    count = len(cable.indices.value)
    if not 1 < count <= len(x) // 2 or list(cable.indices.value) != list(range(count)):
        return
    users = [e for e in components for name in USERS_OF_POINTS if e.findData(name) is not None]
    is_alone = len(users) <= 1 and not len(cable.getContext().children)
    if is_alone and (_pieces(x)[1] > ON_LINE_COSINE_MIN).all():
        yield StartWarning(
            cable,
            f"{at(cable)}: its 'indices' are the first {count} of {len(x)} points of its node, "
            f"which go on along the line to {point(x[-1])}, and nothing uses these. Give the "
            "indices of all, or leave out the points.",
        )


def _pieces(line: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return lengths of the pieces of a line, and cosines of the angles between them."""
    pieces = np.diff(line, axis=0)
    lengths = np.linalg.norm(pieces, axis=1)
    along = pieces / np.maximum(lengths, 1e-300)[:, None]
    return lengths, np.einsum("ki,ki->k", along[1:], along[:-1])


def _same_lines(cables: Sequence[tuple[Any, np.ndarray]]) -> Iterator[StartWarning]:
    """Warn of cables of a body along the same line, from end to end: their forces add up.

    Args:
        cables: Each with its points, the pull point first, shape (n, 3).
    """
    ends = np.array([line[[0, -1]] for _, line in cables]).reshape(len(cables), 6)
    limits = [SAME_LINE_DISTANCE_MAX * np.ptp(line, axis=0).max() for _, line in cables]
    gaps = np.abs(ends[:, None] - ends).max(axis=2, initial=0.0)
    # Most pairs end elsewhere; the distance between two lines takes longer.
    for i, j in np.argwhere(np.triu(gaps <= np.array(limits)[:, None], 1)):
        (first, line), (second, points) = cables[i], cables[j]
        if max(_line_distance(line, points), _line_distance(points, line)) < limits[i]:
            yield StartWarning(
                second,
                f"{at(second)} runs along the same line as {first.getClassName()} "
                f"'{first.getPathName()}', from end to end: the two do the same. Leave one out, "
                "or correct the positions of one.",
            )


def _line_distance(line: np.ndarray, x: np.ndarray) -> float:
    """Return the largest distance of points from a line of straight pieces."""
    begin, piece = line[:-1], np.diff(line, axis=0)
    square = np.maximum((piece**2).sum(axis=1), 1e-300)
    fraction = np.clip(((x[:, None] - begin) * piece).sum(axis=2) / square, 0.0, 1.0)
    nearest = begin + fraction[:, :, None] * piece
    return float(np.linalg.norm(x[:, None] - nearest, axis=2).min(axis=1).max())


def _line_of(cable: Any, x: np.ndarray) -> np.ndarray | None:
    """Return the points of a cable, its pull point first, or None if it has no line."""
    indices = np.asarray(cable.indices.value, dtype=int)
    if not len(indices) or indices.min() < 0 or indices.max() >= len(x):
        return None
    pull = [np.ravel(cable.pullPoint.value)[:3]] if cable.hasPullPoint.value else []
    points = np.array([*pull, *x[indices]])
    return points if len(points) > 1 else None


def _pulled_from_afar(user: Any, x: np.ndarray) -> list[StartWarning]:
    if not user.hasPullPoint.value:
        return []
    pull = np.ravel(user.pullPoint.value)
    size, distance = body_size(user.getContext()), float(np.linalg.norm(pull - x[0]))
    if not distance > PULL_DISTANCE_MAX * size > 0.0:
        return []
    return [
        StartWarning(
            user,
            f"{at(user)}: its pullPoint {point(pull)} is {distance:.4g} from the cable's first "
            f"point, and the body is {size:.4g} long. Is it in other units?",
        )
    ]
